//! The native reading of a class path against the JVM's own loader: the same class files, or no answer.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use class_source::{ApplicationClassPath, JavaHome};
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

fn native(home: &JavaHome, class_path: &[PathBuf], names: &[&str]) -> Vec<Option<String>> {
    let opened = ApplicationClassPath::open(&[], class_path, home.feature());
    let text = |name: &&str| opened.find(name.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
    names.iter().map(text).collect()
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
                assert!(native == expected || (may_be_silent && native.is_none()), "{native:?} for {expected:?}");
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
    each_jdk(|home| assert_eq!(native(home, &path, &["m/A"]), [None]));
}

#[test]
fn behind_a_damaged_jar_nothing_is_said_and_before_it_everything() {
    let directory = tempfile::tempdir().unwrap();
    let good = write(directory.path(), "good.jar", &jar(&[("p/A.class", "good A")]));
    let whole = jar(&[("p/B.class", "B in a jar that is longer than its end"), ("p/C.class", "C")]);
    let behind = write(directory.path(), "behind.jar", &jar(&[("p/B.class", "behind B")]));
    for end in [0, 10, whole.len() / 2, whole.len() - 30, whole.len() - 1] {
        let damaged = write(directory.path(), "damaged.jar", &whole[..end]);
        let opened = ApplicationClassPath::open(&[], &[good.clone(), damaged, behind.clone()], 17);
        assert_eq!(opened.find(b"p/A").as_deref(), Some(b"good A".as_slice()));
        assert_eq!(opened.find(b"p/B"), None, "cut at {end}");
    }
    let mut changed = whole.clone();
    // A byte of the first entry's content.
    changed[50] ^= 0x55;
    let damaged = write(directory.path(), "damaged.jar", &changed);
    let opened = ApplicationClassPath::open(&[], &[damaged, behind], 17);
    assert_eq!(opened.find(b"p/B"), None, "its checksum is wrong");
    assert_eq!(opened.find(b"p/C").as_deref(), Some(b"C".as_slice()));
}

#[test]
fn what_was_appended_to_the_boot_loader_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let boot = write(directory.path(), "boot.jar", &jar(&[("p/A.class", "boot A")]));
    let application = write(directory.path(), "a.jar", &jar(&[("p/A.class", "a A"), ("p/B.class", "a B")]));
    let opened = ApplicationClassPath::open(&[boot], &[application], 17);
    assert_eq!(opened.find(b"p/A").as_deref(), Some(b"boot A".as_slice()));
    assert_eq!(opened.find(b"p/B").as_deref(), Some(b"a B".as_slice()));
    assert_eq!(opened.find(b"../p/B"), None);
}
