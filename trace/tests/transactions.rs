//! Transactions that begin within other calls.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sample;

use sample::{method, options, record};
use trace::analysis::{Frame, Transactions};
use trace::report::{TerminalOptions, transactions, transactions_json};
use trace::{AnalysisOptions, Recording, TraceReader};

/// `main` calls `order` twice, the first calls `order` again; each of them calls `pay`.
fn found(begins: &dyn Fn(&Frame) -> bool) -> Transactions {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("orders.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    for (probe, name) in (1..).zip(["main", "order", "pay"]) {
        recording.define_method(probe, method("com/acme/Shop", name, true));
    }
    recording.define_thread(5, "main", 1, false);
    recording.set_thread(5);
    let calls = [(3, 12, 14), (3, 21, 22), (2, 20, 25), (2, 10, 40), (3, 55, 60), (2, 50, 80), (1, 0, 100)];
    recording.calls(&calls.map(|(probe, start, end)| record(probe, start, end - start)));
    recording.finish().unwrap();
    let mut reader = TraceReader::open(&file).unwrap();
    Transactions::of_reader(&mut reader, AnalysisOptions::default(), begins)
}

/// Method, total and own time of each node.
fn rows(found: &Transactions) -> Vec<(&str, u64, u64)> {
    let row = |node| Some((found.frame(node)?.method.as_str(), node.total, node.own));
    let mut rows: Vec<_> = found.nodes.iter().filter_map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn a_transaction_within_a_call_counts_once() {
    let by_order = found(&|frame| frame.method == "order");
    // 100 in all: 60 of the orders, the inner one apart from the outer one, and what is left of `main`.
    assert_eq!(rows(&by_order), [("main", 40, 40), ("order", 60, 52), ("pay", 8, 8)]);
    let text = transactions(&by_order, &TerminalOptions { width: 200, ..TerminalOptions::default() });
    assert!(text.lines().any(|line| line.contains("60.0") && line.contains("order")), "{text}");
    assert!(transactions_json(&by_order).contains("\"own_estimated\":false"));
    let outermost = found(&|_| false);
    assert_eq!(rows(&outermost), [("main", 100, 40), ("order", 5, 4), ("order", 60, 48), ("pay", 1, 1), ("pay", 7, 7)]);
}
