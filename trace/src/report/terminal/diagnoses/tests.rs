//! What a diagnosis looks like; `cargo xtask bless trace` writes the expected texts anew.

use std::path::Path;

use expect_test::expect_file;

use super::*;
use crate::{DiagnosisCost, DiagnosisOrder};

const MILLI: u64 = 1_000_000;

fn measured(parent: Option<usize>, level: usize, method: &str, share: f64) -> DiagnosisNode {
    DiagnosisNode {
        parent,
        level,
        method: method.to_owned(),
        kind: "method".to_owned(),
        calls: Some(14_210),
        slow_calls: Some(14),
        total_nanos: Some(9_000 * MILLI),
        slow_nanos: Some((7_500.0 * share) as u64 * MILLI),
        share: Some(share),
        ..DiagnosisNode::default()
    }
}

fn sample() -> Diagnosis {
    let followed = |node| DiagnosisNode { followed: true, ..node };
    let ends = |reason: &str, node| DiagnosisNode { reason: Some(reason.to_owned()), ..node };
    let kind = |kind: &str, node| DiagnosisNode { kind: kind.to_owned(), ..node };
    let unmeasured = DiagnosisNode {
        parent: Some(1),
        level: 2,
        method: "com.acme.shop.audit.trail.AuditTrail.append(com.acme.shop.Order, String)".to_owned(),
        kind: "call-site".to_owned(),
        ..DiagnosisNode::default()
    };
    let read = measured(Some(4), 3, "com.acme.shop.payment.gateway.CardGateway.readAnswer(Socket)", 0.823);
    let nodes = vec![
        followed(measured(None, 0, "com.acme.shop.Checkout.pay(Order)", 1.0)),
        followed(measured(Some(0), 1, "com.acme.shop.payment.PaymentService.charge(Order, Card)", 0.9)),
        kind("own-code", measured(Some(0), 1, "com.acme.shop.Checkout.pay(Order)", 0.001)),
        unmeasured,
        followed(measured(Some(1), 2, "com.acme.shop.payment.gateway.CardGateway.send(Request)", 0.86)),
        DiagnosisNode {
            running: Some(0.0),
            waiting: Some(1.0),
            lines: vec![77, 81],
            ..ends("socket read", followed(read))
        },
        ends("lock", kind("waiting", measured(Some(1), 2, "com.acme.shop.payment.Limits.check(Card)", 0.04))),
    ];
    Diagnosis {
        claim: 4,
        method: "com.acme.shop.Checkout.pay(Order)".to_owned(),
        context: Some("payment=card".to_owned()),
        state: "done".to_owned(),
        slower_than_nanos: Some(480 * MILLI),
        learnt: true,
        calls: 14_210,
        slow: 14,
        explained: Some(0.823),
        sentence: Some("82 % of the slow calls of Checkout.pay under payment=card is PaymentService.charge -> CardGateway.send -> CardGateway.readAnswer -> socket read".to_owned()),
        nodes,
        cost: DiagnosisCost { classes: 3, retransforms: 5, longest_stop_nanos: 12 * MILLI, cpu_nanos: 40 * MILLI },
        notices: vec!["1 call was still running when the figures were taken".to_owned()],
        ..Diagnosis::default()
    }
}

const PLAIN: DiagnosisOptions = DiagnosisOptions {
    width: 80,
    emphasis: false,
    colours: false,
    rows: 100,
    order: DiagnosisOrder::Share,
    result_first: false,
};

fn expect(name: &str, options: &DiagnosisOptions, diagnosed: &Diagnosis) {
    let text = diagnosis(diagnosed, options).join("\n") + "\n";
    expect_file![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name)].assert_eq(&text);
}

#[test]
fn the_tree_on_80_columns() {
    expect("diagnosis-80.txt", &PLAIN, &sample());
}

#[test]
fn the_tree_on_160_columns_with_its_emphasis() {
    expect("diagnosis-160.txt", &DiagnosisOptions { width: 160, emphasis: true, ..PLAIN }, &sample());
}

#[test]
fn no_line_is_wider_than_the_terminal_and_reasons_are_the_last_to_go() {
    for width in 40..200 {
        for line in diagnosis(&sample(), &DiagnosisOptions { width, ..PLAIN }) {
            assert!(super::width(&line) <= width, "{width}: {line}");
        }
        let text = diagnosis(&sample(), &DiagnosisOptions { width, ..PLAIN }).join("\n");
        assert!(width < 80 || text.contains("[socket read"), "{width}: {text}");
    }
}

#[test]
fn the_first_node_of_another_jvm_says_which_one_however_little_room_there_is() {
    let elsewhere =
        |parent, level, method| DiagnosisNode { jvm: Some(4711), ..measured(Some(parent), level, method, 0.8) };
    let nodes = vec![
        measured(None, 0, "com.acme.shop.Checkout.pay(Order)", 1.0),
        elsewhere(0, 1, "jakarta.servlet.http.HttpServlet.service(ServletRequest, ServletResponse)"),
        elsewhere(1, 2, "com.acme.stock.Stock.find(Item)"),
    ];
    let diagnosed = Diagnosis { nodes, ..sample() };
    for width in [70, 80, 160] {
        let text = diagnosis(&diagnosed, &DiagnosisOptions { width, ..PLAIN }).join("\n");
        assert!(text.contains("JVM 4711: ") && text.matches("JVM").count() == 1, "{width}: {text}");
    }
}

#[test]
fn what_is_not_known_is_blank_and_italic_and_not_0() {
    let waiting = Diagnosis {
        method: "a.B.c()".to_owned(),
        state: "waiting".to_owned(),
        reason: Some("3 of 10 slow calls".to_owned()),
        nodes: vec![DiagnosisNode { method: "a.B.c()".to_owned(), ..DiagnosisNode::default() }],
        ..Diagnosis::default()
    };
    let lines = diagnosis(&waiting, &DiagnosisOptions { emphasis: true, ..PLAIN });
    assert_eq!(lines[1], "0 calls; which of them are slow is not known yet");
    assert_eq!(lines[3].split_whitespace().collect::<Vec<_>>(), ["\u{1b}[3m", "0", "a.B.c()\u{1b}[0m"]);
    assert_eq!(lines.last().unwrap(), "waiting: 3 of 10 slow calls");
}

#[test]
fn where_all_calls_count_none_is_called_slow() {
    let sentence = Some("90 % of the time of A.a is B.b -> sleep (all calls: no limit was given)".to_owned());
    let all = Diagnosis { slower_than_nanos: Some(0), learnt: false, slow: 123, calls: 123, sentence, ..sample() };
    for width in [60, 80, 160] {
        let text = diagnosis(&all, &DiagnosisOptions { width, ..PLAIN }).join("\n");
        assert!(text.contains("all 123 calls count: no limit was given") && !text.contains("slow"), "{text}");
        let titles = text.lines().find(|line| line.ends_with("method")).unwrap();
        let titles: Vec<&str> = titles.split_whitespace().collect();
        assert_eq!(titles[1..3], ["calls", "time"], "{text}");
    }
}

#[test]
fn of_too_many_rows_those_that_explain_least_are_left_out() {
    let text = diagnosis(&sample(), &DiagnosisOptions { rows: 4, ..PLAIN }).join("\n");
    assert!(text.contains("readAnswer") && text.contains("... 3 more that explain less"), "{text}");
    assert!(!text.contains("append") && !text.contains("own code"), "{text}");
}

#[test]
fn the_slowest_calls_are_listed_with_where_their_time_went() {
    let step = |method: &str, calls, nanos| SlowCallStep { method: method.to_owned(), calls, nanos };
    let call = |millis: u64, path| SlowCall {
        thread: "http-1".to_owned(),
        duration_nanos: millis * 1_000_000,
        began_after_nanos: 12_300_000_000,
        path,
        ..SlowCall::default()
    };
    let path =
        vec![step("com.acme.Cart.total(Order)", 1, 400_000_000), step("com.acme.Dao.find(int)", 12, 398_000_000)];
    let slow_calls = vec![call(412, path), call(300, Vec::new()), call(200, Vec::new()), call(100, Vec::new())];
    let found = Diagnosis { slow_calls, recorded_slow_calls: 25, ..Diagnosis::default() };
    let lines = diagnosis(&found, &DiagnosisOptions { width: 200, ..PLAIN });
    let listed: Vec<&str> = lines.iter().skip_while(|line| !line.contains("one by one")).map(String::as_str).collect();
    let expected = [
        "25 slow calls recorded one by one, the slowest that show where their time went:",
        "412 ms after 12.3 s on http-1: Cart.total 400 ms > Dao.find 398 ms in 12 calls",
        "300 ms after 12.3 s on http-1: no call took a tenth of it",
        "200 ms after 12.3 s on http-1: no call took a tenth of it",
    ];
    assert_eq!(listed, expected);
}

#[test]
fn colours_are_only_used_where_they_are_wanted() {
    let last = |colours| diagnosis(&sample(), &DiagnosisOptions { emphasis: true, colours, ..PLAIN }).pop().unwrap();
    assert!(last(true).starts_with("\x1b[1;32m"));
    assert!(last(false).starts_with("\x1b[1m"));
}

#[test]
fn what_an_application_calls_its_methods_cannot_move_the_cursor() {
    let hostile =
        Diagnosis { method: "a\x1b[2J.b()".to_owned(), sentence: Some("c\x1b[H".to_owned()), ..Diagnosis::default() };
    assert!(!diagnosis(&hostile, &PLAIN).join("\n").contains('\x1b'));
}

#[test]
fn shares_are_whole_percents_and_small_ones_are_not_nothing() {
    let shown =
        [None, Some(0.0), Some(-0.001), Some(0.004), Some(0.005), Some(0.824), Some(1.0), Some(f64::NAN)].map(percent);
    assert_eq!(shown, ["", "0 %", "0 %", "<1 %", "1 %", "82 %", "100 %", ""]);
}

#[test]
fn packages_are_abbreviated_before_types_are_left_out() {
    let name = "com.acme.shop.Checkout.pay(Order, Card)";
    let short: Vec<String> = [39, 34, 31, 25, 18, 12].map(|limit| method_name(name, limit)).into();
    assert_eq!(
        short,
        [
            name,
            "c.a.shop.Checkout.pay(Order, Card)",
            "c.a.s.Checkout.pay(Order, Card)",
            "c.a.shop.Checkout.pay(…)",
            "c.a.s.Checkout.pay",
            "…heckout.pay"
        ]
    );
}

#[test]
fn methods_that_were_passed_over_are_counted_and_on_wide_terminals_the_ends_named() {
    let via = |methods: &[&str], is_wide| {
        let via = methods.iter().map(|method| (*method).to_owned()).collect();
        tail(&DiagnosisNode { via, ..DiagnosisNode::default() }, is_wide)
    };
    assert_eq!(via(&["x.P.a()"], true), " [via P.a]");
    assert_eq!(via(&["x.P.a()", "x.Q.b(A)", "y.R.c()"], true), " [via 3 methods: P.a ... R.c]");
    assert_eq!(via(&["x.P.a()", "x.Q.b(A)", "y.R.c()"], false), " [via 3 methods]");
}

#[test]
fn names_are_those_of_the_class_and_the_method() {
    assert_eq!(class_and_method("org.acme.Order$Line.total(int, java.util.List)"), "Order$Line.total");
    assert_eq!(class_and_method("Main.run()"), "Main.run");
}

#[test]
fn by_calls_what_is_called_most_often_comes_first_also_where_it_explains_nothing() {
    let called = |method: &str, per_call, share| DiagnosisNode { per_call, ..measured(Some(0), 1, method, share) };
    let nodes = vec![
        measured(None, 0, "a.A.dispatch()", 1.0),
        called("a.Rare.handle()", Some(0.25), 0.9),
        called("a.Short.get()", None, 0.0),
        called("a.Often.handle()", Some(2_000.4), 0.0),
        called("a.Some.handle()", Some(1.5), 0.1),
        called("a.Never.handle()", Some(0.0), 0.0),
    ];
    let found = Diagnosis { nodes, ..sample() };
    let lines = diagnosis(&found, &DiagnosisOptions { width: 160, order: DiagnosisOrder::Calls, ..PLAIN });
    let title = lines.iter().position(|line| line.contains("per call")).unwrap();
    let rows: Vec<Vec<&str>> = lines[title + 2..][..5].iter().map(|line| line.split_whitespace().collect()).collect();
    let figures: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(figures[..4], ["2,000", "1.5", "0.25", "0"]);
    assert!(rows[0].last().unwrap().contains("Often") && rows[4].last().unwrap().contains("Short"), "{rows:?}");
}
