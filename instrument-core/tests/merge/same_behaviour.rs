//! Does a JVM see methods of every odd shape do what they did before, under every template?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use instrument_core::{EngineOptions, Layout, Outcome, SentinelForm, SlotScheme};

use crate::fixtures::{classes, compiled, library, merged_everywhere_with, with_every_site};
use crate::jvm::{TARGETS, folder, lines, run};
use crate::odd_shapes;

/// What `targets.CallAll` prints for each folder.
fn called(folders: &[PathBuf]) -> BTreeMap<String, Vec<String>> {
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let arguments: Vec<_> = std::iter::once("targets.CallAll").chain(folders.iter().map(String::as_str)).collect();
    let mut printed = BTreeMap::<String, Vec<String>>::new();
    let mut name = String::new();
    for line in run(&[&classes()], &arguments).lines() {
        match line.strip_prefix("folder ") {
            Some(folder) => folder.clone_into(&mut name),
            None => printed.entry(name.clone()).or_default().push(line.to_owned()),
        }
    }
    printed
}

fn write(folder: &Path, name: &str, class: &[u8]) {
    std::fs::write(folder.join(format!("{name}.class")), class).unwrap();
}

/// Stacks of templates that every method takes.
fn stacks() -> Vec<Vec<&'static str>> {
    let alone = ["bare", "straight", "bracket", "clock", "loops", "switches", "catches", "locals", "outcome"];
    let mut stacks: Vec<_> = alone.map(|name| vec![name]).into();
    stacks.push(vec!["bracket", "straight"]);
    stacks.push(vec!["straight", "bracket"]);
    stacks.push(vec!["loops", "catches", "bracket"]);
    stacks
}

const LONG: EngineOptions = EngineOptions {
    offset_maps: false,
    layout: Layout::Long,
    sentinel: SentinelForm::Removed,
    slots: SlotScheme::AfterLocals,
};

/// The options that change the code, each alone and all at once.
pub(crate) fn all_options() -> [(&'static str, EngineOptions); 5] {
    let default = EngineOptions::default();
    let all = EngineOptions { sentinel: SentinelForm::NoOperations, slots: SlotScheme::AfterParameters, ..LONG };
    [
        ("default", default),
        ("long", LONG),
        ("nops", EngineOptions { sentinel: all.sentinel, ..default }),
        ("parameters", EngineOptions { slots: all.slots, ..default }),
        ("all", all),
    ]
}

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    [odd_shapes::samples(), odd_shapes::with_false_frames()].concat()
}

/// A folder with every sample, this stack merged into all of its methods.
fn merged_samples(name: &str, options: EngineOptions, stack: &[&str]) -> PathBuf {
    assert!(stack.iter().all(|name| library().names().any(|known| known == *name)), "{stack:?}");
    let folder = folder(&format!("odd-{name}-{}", stack.join("-")));
    for (name, class) in &samples() {
        match merged_everywhere_with(options, class, stack) {
            Outcome::Rewritten(output) if output.refused.is_empty() => write(&folder, name, &output.bytes),
            outcome => panic!("{name} refused under {stack:?}: {outcome:?}"),
        }
    }
    folder
}

#[test]
fn odd_methods_do_the_same_under_every_template_and_option() {
    let samples = samples();
    let original = folder("odd-original");
    samples.iter().for_each(|(name, class)| write(&original, name, class));
    let mut folders = vec![original];
    for (name, options) in all_options() {
        let stacks = stacks();
        let tried = if options == EngineOptions::default() { &stacks[..] } else { &stacks[7..] };
        folders.extend(tried.iter().map(|stack| merged_samples(name, options, stack)));
    }
    let printed = called(&folders);
    let expected = printed.get("merge-odd-original").unwrap();
    assert!(expected.len() > 5 * samples.len() - 20, "{expected:#?}");
    for line in expected.iter().filter(|line| line.contains("Error")) {
        // The one class for which the JVM may be too old.
        assert!(line.contains("FlexibleLater") && line.contains("UnsupportedClassVersion"), "{line}");
    }
    for (folder, lines) in &printed {
        // `straight` has no handler: it does not notice exceptions.
        let unnoticed = |line: &&String| folder.contains("straight") && line.starts_with("unbalanced");
        let comparable = |lines: &[String]| {
            let kept = lines.iter().filter(|line| !unnoticed(line) && !line.contains("UnsupportedClassVersion"));
            kept.cloned().collect::<Vec<_>>()
        };
        for (line, expected) in comparable(lines).iter().zip(comparable(expected)) {
            assert_eq!(*line, expected, "{folder}");
        }
        assert_eq!(comparable(lines).len(), comparable(expected).len(), "{folder}");
    }
}

/// Every version there is or will be: frames from 50 on.
#[test]
fn classes_of_every_version_do_the_same() {
    let [original, merged] = ["versions-original", "versions-merged"].map(folder);
    let versions = 45..=75;
    for major in versions.clone() {
        let name = format!("Version{major}");
        let class = odd_shapes::of_version(&name, major);
        write(&original, &name, &class);
        match merged_everywhere_with(EngineOptions::default(), &class, &["bracket", "loops"]) {
            Outcome::Rewritten(output) => write(&merged, &name, &output.bytes),
            Outcome::Unchanged { refused } => panic!("{name}: {refused:?}"),
        }
    }
    let printed = called(&[original, merged]);
    let [before, after] = ["original", "merged"].map(|name| printed.get(&format!("merge-versions-{name}")).unwrap());
    assert_eq!(before, after);
    let known: Vec<_> = before.iter().filter(|line| !line.contains("UnsupportedClassVersion")).collect();
    // JDK 11, the oldest that is supported, knows versions up to 55.
    assert!(known.len() >= 5 * (55 - 45 + 1), "{before:#?}");
    assert!(known.iter().all(|line| !line.contains("Error")), "{known:#?}");
    let unknown = before.len() - known.len();
    assert_eq!(known.len() / 5 + unknown, versions.count());
}

/// Classes of which every method that has a number as its parameter is called.
const CALLERS: [&str; 2] = ["targets/Calls", "targets/Overflow"];

/// A folder with the callers and the odd methods, each with a site at every call.
fn with_sites(name: &str, options: EngineOptions, stack: &[&str]) -> PathBuf {
    let folder = folder(&format!("sites-{name}-{}", stack.join("-")));
    std::fs::create_dir_all(folder.join("targets")).unwrap();
    for (name, class) in samples().into_iter().chain(CALLERS.map(|name| (name, compiled(name)))) {
        match with_every_site(options, &class, stack) {
            Outcome::Rewritten(output) if output.refused.is_empty() => write(&folder, name, &output.bytes),
            outcome => panic!("{name} refused under {stack:?}: {outcome:?}"),
        }
    }
    folder
}

#[test]
fn methods_do_the_same_with_a_site_at_every_call() {
    let original = folder("sites-original");
    std::fs::create_dir_all(original.join("targets")).unwrap();
    samples().iter().for_each(|(name, class)| write(&original, name, class));
    CALLERS.iter().for_each(|name| write(&original, name, &compiled(name)));
    let mut folders = vec![original];
    folders.extend(all_options().map(|(name, options)| with_sites(name, options, &["sites"])));
    folders.push(with_sites("outer", EngineOptions::default(), &["clock", "sites"]));
    let printed = called(&folders);
    let expected = printed.get("merge-sites-original").unwrap();
    let of_calls = expected.iter().filter(|line| line.contains("targets.Calls")).count();
    assert!(of_calls > 60 && expected.iter().any(|line| line.contains("overflowfalseoverflowfalseoverflowfalse")));
    for (folder, lines) in &printed {
        // At the end of the stack the counting itself fails. What the code does must still be the same.
        let counted = |line: &&String| !line.starts_with("unbalanced targets.Overflow");
        let found: Vec<_> = lines.iter().filter(counted).collect();
        let expected: Vec<_> = expected.iter().filter(counted).collect();
        found.iter().zip(&expected).for_each(|(found, expected)| assert_eq!(found, expected, "{folder}"));
        assert_eq!(found.len(), expected.len(), "{folder}");
    }
}

#[test]
fn every_begin_is_ended_once_whatever_way_the_call_takes() {
    let folder = folder("sites-run");
    std::fs::create_dir_all(folder.join("targets")).unwrap();
    for name in TARGETS.iter().filter(|name| classes().join(format!("{name}.class")).exists()) {
        if let Outcome::Rewritten(output) = with_every_site(EngineOptions::default(), &compiled(name), &["sites"]) {
            write(&folder, name, &output.bytes);
        }
    }
    let text = run(&[&folder, &classes()], &["targets.Run"]);
    assert_eq!(lines(&text, "result "), lines(&run(&[&classes()], &["targets.Run"]), "result "));
    let noted: Vec<_> =
        lines(&text, "events ").iter().filter_map(|line| line.split_once(": ")).map(|(_, noted)| noted).collect();
    let count = |word: &str| noted.iter().flat_map(|noted| noted.split(' ')).filter(|found| *found == word).count();
    assert_eq!(count("enter"), count("exit"));
    assert!(!noted.iter().any(|noted| noted.contains("fault:")), "{noted:?}");
    let ways = ["ended", "caught", "left", "late", "lost"].map(count);
    assert_eq!(ways.iter().sum::<usize>(), count("exit"));
    assert!(ways[0] > 50 && ways[1] > 0 && ways[4] == 0, "{ways:?}");
}
