//! The native reading of a class path against the JVM's own loader: the same class files, or no answer.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use class_source::{Found, JavaHome, LoaderClassPath, LoaderTraits, PathElement};
use zip::write::SimpleFileOptions;

/// Every other entry is stored, the others are deflated.
fn jar(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (number, (name, content)) in entries.iter().enumerate() {
        let method = if number % 2 == 0 { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn write(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// What the loader of this JDK says: name and text of each class that it finds.
fn loader_says(home: &JavaHome, class_path: &[PathBuf], names: &[&str]) -> Vec<Option<String>> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ShowResources.java");
    let class_path: Vec<_> = class_path.iter().map(|path| path.display().to_string()).collect();
    let mut java = Command::new(home.path().join("bin/java"));
    let output = java.args(["-cp", &class_path.join(":")]).arg(program).args(names).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line.0).collect::<Vec<_>>(), names);
    lines.iter().map(|line| (line.1 != "-").then(|| line.1.to_owned())).collect()
}

/// A loader that is created after all files of the test.
fn traits(release: u16) -> LoaderTraits {
    LoaderTraits { release, opened_after: SystemTime::now() + Duration::from_secs(60), jars_may_vanish: true }
}

fn open(class_path: &[PathBuf], release: u16) -> LoaderClassPath {
    LoaderClassPath::open(class_path.iter().cloned().map(PathElement::Plain).collect(), traits(release))
}

/// The text of the class file under this name, read to its end.
fn text(path: &LoaderClassPath, name: &str) -> Found<String> {
    path.find(name.as_bytes(), |class| class.is_whole.then(|| String::from_utf8_lossy(class.bytes).into_owned()))
}

fn class(text: &str) -> Found<String> {
    Found::Class(text.to_owned())
}

fn native(home: &JavaHome, class_path: &[PathBuf], names: &[&str]) -> Vec<Found<String>> {
    let opened = open(class_path, home.feature());
    names.iter().map(|name| text(&opened, name)).collect()
}

fn known(said: Option<String>) -> Found<String> {
    said.map_or(Found::Absent, Found::Class)
}

fn each_jdk(test: impl Fn(&JavaHome)) {
    let homes = JavaHome::installed(&[]);
    let homes: Vec<_> = homes.iter().filter(|home| home.has_compiler() && home.feature() >= 17).collect();
    assert!(!homes.is_empty(), "the tests need a JDK of version 17 or later");
    homes.into_iter().for_each(test);
}

const VARIANTS: [(&str, &str); 7] = [
    ("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n"),
    ("m/Old.class", "old base"),
    ("m/New.class", "new base"),
    ("META-INF/versions/9/m/New.class", "nine"),
    ("META-INF/versions/19/m/New.class", "nineteen"),
    ("META-INF/versions/999/m/New.class", "far away"),
    ("META-INF/versions/11/m/OnlyEleven.class", "eleven"),
];

#[test]
fn the_same_files_as_the_loader_of_the_jvm() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str, content: &[u8]| write(directory.path(), name, content);
    let manifest = "Manifest-Version: 1.0\r\nClass-Path: lib/named.jar lib/absent.jar ../nothing.jar lib/more/ l\r\n ib/more\r\n\r\n";
    let first = place(
        "first.jar",
        &jar(&[("META-INF/MANIFEST.MF", manifest), ("p/A.class", "first A"), ("p/Both.class", "first Both")]),
    );
    place(
        "lib/named.jar",
        &jar(&[("p/Named.class", "named"), ("p/Both.class", "named Both"), ("p/D.class", "named D")]),
    );
    place("lib/more/p/More.class", b"more");
    let classes = directory.path().join("classes");
    place("classes/p/D.class", b"directory D");
    place("classes/p/E.class", b"directory E");
    let second = place("second.jar", &jar(&[("p/E.class", "second E"), ("p/A.class", "second A"), ("p/Z.class", "Z")]));
    let variants = place("variants.jar", &jar(&VARIANTS));
    let without = place("without.jar", &jar(&[("META-INF/versions/11/m/Unversioned.class", "no"), ("m/U.class", "U")]));
    let absent = directory.path().join("absent.jar");
    let path = [first, absent, classes, second, variants, without];
    let names = [
        "p/A",
        "p/Both",
        "p/Named",
        "p/More",
        "p/D",
        "p/E",
        "p/Z",
        "m/Old",
        "m/New",
        "m/OnlyEleven",
        "m/Unversioned",
        "m/U",
        "no/Such",
    ];
    each_jdk(|home| {
        let expected = loader_says(home, &path, &names);
        assert_eq!(expected.iter().flatten().count(), 11, "{expected:?}");
        let expected: Vec<_> = expected.into_iter().map(known).collect();
        assert_eq!(native(home, &path, &names), expected, "Java {}", home.feature());
    });
}

#[test]
fn an_index_of_a_jar_is_followed_or_left_to_the_loader() {
    let directory = tempfile::tempdir().unwrap();
    let index = |name: &str| format!("JarIndex-Version: 1.0\n\n{name}\np\n\n");
    let indexed = |name: &str| jar(&[("META-INF/INDEX.LIST", &index(name)), ("p/A.class", "indexed A")]);
    let itself = write(directory.path(), "itself.jar", &indexed("itself.jar"));
    let other = write(directory.path(), "other.jar", &indexed("later.jar"));
    let later = write(directory.path(), "later.jar", &jar(&[("p/B.class", "later B"), ("q/C.class", "later C")]));
    each_jdk(|home| {
        for (path, may_be_silent) in [([&itself, &later], false), ([&other, &later], home.feature() < 18)] {
            let path = path.map(Clone::clone);
            let names = ["p/A", "p/B", "q/C"];
            for (native, expected) in native(home, &path, &names).into_iter().zip(loader_says(home, &path, &names)) {
                let is_silent = may_be_silent && native == Found::Unsure;
                assert!(is_silent || native == known(expected.clone()), "{native:?} for {expected:?}");
            }
        }
    });
}

#[test]
fn variants_for_a_release_that_has_none_are_left_to_the_loader() {
    let directory = tempfile::tempdir().unwrap();
    let manifest = ("META-INF/MANIFEST.MF", "Multi-Release: true\n\n");
    let odd = jar(&[manifest, ("m/A.class", "base"), ("META-INF/versions/8/m/A.class", "eight")]);
    let path = [write(directory.path(), "odd.jar", &odd)];
    each_jdk(|home| assert_eq!(native(home, &path, &["m/A"]), [Found::Unsure]));
}

#[test]
fn nothing_is_said_after_a_damaged_jar_and_everything_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let good = write(directory.path(), "good.jar", &jar(&[("p/A.class", "good A")]));
    let whole = jar(&[("p/B.class", "B in a jar that is longer than its end"), ("p/C.class", "C")]);
    let last = write(directory.path(), "last.jar", &jar(&[("p/B.class", "last B")]));
    for end in [0, 10, whole.len() / 2, whole.len() - 30, whole.len() - 1] {
        let damaged = write(directory.path(), "damaged.jar", &whole[..end]);
        let opened = open(&[good.clone(), damaged, last.clone()], 17);
        assert_eq!(text(&opened, "p/A"), class("good A"));
        assert_eq!(text(&opened, "p/B"), Found::Unsure, "cut at {end}");
    }
}

#[test]
fn of_a_damaged_entry_the_loader_sees_the_same_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let content = "a class whose content is long enough that some of it is inflated from what came before, came before, came before";
    let whole = jar(&[("p/A.class", content), ("p/B.class", content)]);
    let names = ["p/A", "p/B"];
    each_jdk(|home| {
        for at in [8, 28, 47, 60, 80, whole.len() / 2 + 30] {
            let mut changed = whole.clone();
            changed[at] ^= 0x15;
            let path = [write(directory.path(), "damaged.jar", &changed)];
            for (native, said) in native(home, &path, &names).into_iter().zip(loader_says(home, &path, &names)) {
                let Found::Class(native) = native else { continue };
                // What the loader cannot read is no class of this JVM, whatever we say of it.
                let said = said.filter(|text| text != "!").unwrap_or_else(|| native.clone());
                assert_eq!(native, said, "changed at {at}, Java {}", home.feature());
            }
        }
    });
}

#[test]
fn only_as_much_is_read_as_somebody_wants_to_see() {
    let directory = tempfile::tempdir().unwrap();
    let content: String = (0..4000).map(|number| format!("{number}\n")).collect();
    let stored = ("p/Stored.class", content.as_str());
    let path = [write(directory.path(), "a.jar", &jar(&[("p/Packed.class", content.as_str()), stored]))];
    let opened = open(&path, 17);
    for name in ["p/Packed", "p/Stored"] {
        let mut shown = Vec::new();
        let seen = opened.find(name.as_bytes(), |class| {
            assert_eq!(class.bytes, &content.as_bytes()[..class.bytes.len()]);
            shown.push(class.bytes.len());
            (class.bytes.len() > content.len() * 4 / 5).then_some(())
        });
        assert_eq!(seen, Found::Class(()));
        assert!(shown.len() == 1 + usize::from(name == "p/Packed") && shown.is_sorted(), "{shown:?}");
        assert_eq!(text(&opened, name), class(&content));
        assert_eq!(opened.find(name.as_bytes(), |_| None::<()>), Found::Unsure, "nobody was content");
    }
}

#[test]
fn paths_appended_to_the_boot_loader_are_searched_first() {
    let directory = tempfile::tempdir().unwrap();
    let boot = write(directory.path(), "boot.jar", &jar(&[("p/A.class", "boot A")]));
    let application = write(directory.path(), "a.jar", &jar(&[("p/A.class", "a A"), ("p/B.class", "a B")]));
    let opened = LoaderClassPath::open(vec![PathElement::Boot(boot), PathElement::Plain(application)], traits(17));
    assert_eq!(text(&opened, "p/A"), class("boot A"));
    assert_eq!(text(&opened, "p/B"), class("a B"));
    assert_eq!(text(&opened, "../p/B"), Found::Absent);
}

#[test]
fn a_jar_that_changed_while_the_jvm_runs_is_left_to_the_loader() {
    let directory = tempfile::tempdir().unwrap();
    let jar = write(directory.path(), "a.jar", &jar(&[("p/A.class", "new A")]));
    let absent = directory.path().join("absent.jar");
    let ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
    let open = |path: &Path, opened_after, jars_may_vanish| {
        let traits = LoaderTraits { release: 17, opened_after, jars_may_vanish };
        LoaderClassPath::open(vec![PathElement::Jar(path.to_path_buf()), PathElement::Jar(jar.clone())], traits)
    };
    assert_eq!(text(&open(&jar, ago(0) + Duration::from_secs(60), false), "p/A"), class("new A"));
    assert_eq!(text(&open(&jar, ago(60), false), "p/A"), Found::Unsure);
    // What is not there now may be what the JVM has open.
    let later = SystemTime::now() + Duration::from_secs(60);
    assert_eq!(text(&open(&absent, later, true), "p/A"), class("new A"));
    fs::write(directory.path().join("other"), b"").unwrap();
    let before = fs::metadata(&jar).unwrap().modified().unwrap() - Duration::from_millis(1);
    assert_eq!(text(&open(&absent, before, true), "p/A"), Found::Unsure);
}

#[test]
fn a_jar_that_is_replaced_or_overwritten_later_gives_no_answer() {
    let directory = tempfile::tempdir().unwrap();
    let content = jar(&[("p/A.class", "old A"), ("p/B.class", "old B")]);
    let path = write(directory.path(), "a.jar", &content);
    let opened = open(std::slice::from_ref(&path), 17);
    fs::write(directory.path().join("b.jar"), jar(&[("p/A.class", "new A")])).unwrap();
    fs::rename(directory.path().join("b.jar"), &path).unwrap();
    assert_eq!(text(&opened, "p/A"), Found::Unsure, "the file under the old name is another one");
    let opened = open(std::slice::from_ref(&path), 17);
    fs::write(&path, b"PK").unwrap();
    assert_eq!(text(&opened, "p/A"), Found::Unsure);
    assert_eq!(text(&opened, "p/C"), Found::Absent);
}

#[test]
fn nothing_is_said_after_what_only_the_loader_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let jars = ["a", "b"].map(|name| {
        let text = format!("{name} file");
        write(directory.path(), &format!("{name}.jar"), &jar(&[(format!("p/{name}.class").as_str(), text.as_str())]))
    });
    let [first, second] = jars.map(PathElement::Jar);
    let opened = LoaderClassPath::open(vec![first, PathElement::Other, second], traits(17));
    assert_eq!(text(&opened, "p/a"), class("a file"));
    assert_eq!(text(&opened, "p/b"), Found::Unsure);
    // A loader that expects a jar does not accept a directory.
    let folder = PathElement::Jar(directory.path().to_path_buf());
    assert_eq!(text(&LoaderClassPath::open(vec![folder], traits(17)), "p/a"), Found::Unsure);
}

/// A loader opens its jars one after the other, when it first gets to them: before or after the jar was replaced, for all we know.
#[test]
fn a_class_of_a_jar_that_was_replaced_meanwhile_is_left_to_the_loader() {
    let directory = tempfile::tempdir().unwrap();
    let first = write(directory.path(), "first.jar", &jar(&[("p/A.class", "A")]));
    let second = write(directory.path(), "second.jar", &jar(&[("p/B.class", "old B")]));
    let path = open(&[first, second.clone()], 17);
    assert_eq!(text(&path, "p/B"), class("old B"));
    let newer = write(directory.path(), "newer.jar", &jar(&[("p/B.class", "new B")]));
    fs::rename(newer, &second).unwrap();
    assert_eq!(text(&path, "p/B"), Found::Unsure);
    assert_eq!(text(&path, "p/A"), class("A"));
    fs::remove_file(&second).unwrap();
    assert_eq!(text(&path, "p/B"), Found::Unsure);
}
