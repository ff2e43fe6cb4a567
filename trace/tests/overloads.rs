//! Can methods of one class with the same name be told apart in every output?
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sample;

use std::path::Path;

use sample::{START, method, options};
use serde_json::Value;
use trace::analysis::{Comparison, Measure};
use trace::export::{self, CollapsedOptions, Weight};
use trace::report::{self, TerminalOptions, View};
use trace::{Analysis, AnalysisOptions, MethodInfo, Recording, TraceReader};

const MILLISECOND: u64 = 1_000_000;

/// Methods `price` of these descriptors, and one `total` that calls them; later ones take longer.
fn write(file: &Path, descriptors: &[&str]) {
    let mut recording = Recording::create(file, options()).unwrap();
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    recording.define_method(1, method("com/acme/Shop", "total", true));
    for (probe, descriptor) in (2..).zip(descriptors) {
        let price = method("com/acme/Shop", "price", true);
        recording.define_method(probe, MethodInfo { descriptor: descriptor.as_bytes(), ..price });
        recording.call(probe, START + u64::from(probe) * 100 * MILLISECOND, u64::from(probe) * 20 * MILLISECOND);
    }
    recording.call(1, START, 900 * MILLISECOND);
    recording.finish().unwrap();
}

fn analysed(descriptors: &[&str]) -> (Analysis, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.jfr");
    write(&file, descriptors);
    let mut out = Vec::new();
    let collapsed = CollapsedOptions { weight: Weight::Calls, ..CollapsedOptions::default() };
    export::collapsed(&mut TraceReader::open(&file).unwrap(), &collapsed, &mut out).unwrap();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    (analysis, String::from_utf8(out).unwrap())
}

#[test]
fn overloaded_methods_are_shown_with_their_parameters() {
    let (analysis, collapsed) = analysed(&["(ILjava/util/List;)V", "([J)V"]);
    let names = ["com.acme.Shop.price(int, List)", "com.acme.Shop.price(long[])"];
    let options = TerminalOptions::default();
    let outputs = [
        report::terminal(&analysis, &options),
        report::view(&analysis, View::Tree, &options),
        report::view(&analysis, View::Method, &options),
        report::method(&analysis, "Shop.price(", &options),
        collapsed,
    ];
    for output in &outputs {
        assert!(names.iter().all(|name| output.contains(name)), "{output}");
        assert!(!output.contains("Shop.total("), "the only one of its name: {output}");
    }
    let stacks = report::view(&analysis, View::Stack, &options);
    assert!(stacks.contains("Shop.price(long[]) ← Shop.total"), "{stacks}");
    let json: Value = serde_json::from_str(&report::json(&analysis)).unwrap();
    let parameters = json["frames"].as_array().unwrap().iter().map(|frame| frame["parameters"].as_str());
    assert_eq!(parameters.flatten().count(), 2);
}

#[test]
fn a_method_that_is_overloaded_on_one_side_only_is_compared_with_itself() {
    let [(before, _), (after, _)] = [analysed(&["(I)V"]), analysed(&["(I)V", "(J)V"])];
    let changes = Comparison::of(&before, &after);
    let text = report::comparison(&changes, Measure::Own, &TerminalOptions::default());
    let names = ["com.acme.Shop.price(int)", "com.acme.Shop.price(long)", "com.acme.Shop.total"];
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
    let both = changes.methods.iter().filter(|method| method.before.is_some() && method.after.is_some());
    assert_eq!(both.count(), 2, "{:?}", changes.methods);
}

/// What was recorded inside a context only is another row than all calls, in reports, exports and comparisons.
#[test]
fn calls_inside_a_context_are_a_row_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contexts.jfr");
    let mut recording = Recording::create(&file, options()).unwrap();
    recording.define_thread(1, "main", 1, false);
    recording.set_thread(1);
    let find = method("com/acme/Dao", "find", true);
    recording.define_method(1, find);
    recording.define_method(2, MethodInfo { template: "timed inside com.acme.Shop.pay", ..find });
    recording.call(2, START, 20 * MILLISECOND);
    recording.call(1, START + 50 * MILLISECOND, 30 * MILLISECOND);
    recording.finish().unwrap();
    let analysis = Analysis::of_file(&file, AnalysisOptions::default()).unwrap();
    let text = report::terminal(&analysis, &TerminalOptions::default());
    assert!(text.contains("com.acme.Dao.find inside com.acme.Shop.pay"), "{text}");
    let changes = Comparison::of(&analysis, &analysis);
    assert_eq!(changes.methods.len(), 2, "{:?}", changes.methods);
}
