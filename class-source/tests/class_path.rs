//! Jars and directories as a class path: which container wins, what is inside executable jars, what is an error.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use class_source::{ClassPath, Error, ErrorKind};
use zip::write::SimpleFileOptions;

fn jar(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn write(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn the_first_container_wins() {
    let directory = tempfile::tempdir().unwrap();
    let jar_file = write(directory.path(), "a.jar", &jar(&[("p/A.class", b"jar A"), ("p/B.class", b"jar B")]));
    write(directory.path(), "classes/p/A.class", b"directory A");
    let classes = directory.path().join("classes");

    let class_path = ClassPath::open(&[classes.clone(), jar_file.clone()]).unwrap();
    assert_eq!(class_path.find("p/A").unwrap().unwrap(), b"directory A");
    assert_eq!(class_path.find("p/B").unwrap().unwrap(), b"jar B");
    assert_eq!(class_path.find("p/C").unwrap(), None);
    let class_path = ClassPath::open(&[jar_file, classes]).unwrap();
    assert_eq!(class_path.find("p/A").unwrap().unwrap(), b"jar A");
}

#[test]
fn executable_jars_bring_their_classes_and_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let library = jar(&[("lib/L.class", b"library"), ("app/Main.class", b"hidden")]);
    let outer = jar(&[
        ("org/springframework/boot/loader/Launcher.class", b"launcher"),
        ("BOOT-INF/classes/app/Main.class", b"main"),
        ("BOOT-INF/lib/l.jar", &library),
    ]);
    let outer = write(directory.path(), "app.jar", &outer);
    let class_path = ClassPath::open(std::slice::from_ref(&outer)).unwrap();
    assert_eq!(class_path.find("app/Main").unwrap().unwrap(), b"main");
    assert_eq!(class_path.find("lib/L").unwrap().unwrap(), b"library");
    assert!(class_path.find("org/springframework/boot/loader/Launcher").unwrap().is_some());
    let containers: Vec<_> = class_path.containers().map(str::to_owned).collect();
    assert_eq!(containers, [outer.display().to_string(), format!("{}!/BOOT-INF/lib/l.jar", outer.display())]);
}

#[test]
fn versioned_entries_are_visited_but_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let content = jar(&[
        ("p/A.class", b"base"),
        ("META-INF/versions/11/p/A.class", b"eleven"),
        ("META-INF/versions/11/p/Only11.class", b"only"),
        ("p/readme.txt", b"text"),
    ]);
    let class_path = ClassPath::open(&[write(directory.path(), "m.jar", &content)]).unwrap();
    assert_eq!(class_path.find("p/A").unwrap().unwrap(), b"base");
    assert_eq!(class_path.find("p/Only11").unwrap(), None);

    let mut visited = Vec::new();
    let outcome: Result<(), Error> = class_path.for_each(|class| {
        visited.push((class.path.to_owned(), class.release, class.bytes.to_vec()));
        Ok(())
    });
    outcome.unwrap();
    visited.sort();
    let expected = [
        ("META-INF/versions/11/p/A.class".to_owned(), Some(11), b"eleven".to_vec()),
        ("META-INF/versions/11/p/Only11.class".to_owned(), Some(11), b"only".to_vec()),
        ("p/A.class".to_owned(), None, b"base".to_vec()),
    ];
    assert_eq!(visited, expected);
}

#[test]
fn directories_are_walked_and_never_left() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "root/a/A.class", b"A");
    write(directory.path(), "root/a/b/B.class", b"B");
    write(directory.path(), "Outside.class", b"outside");
    let class_path = ClassPath::open(&[directory.path().join("root")]).unwrap();
    let mut visited = Vec::new();
    let outcome: Result<(), Error> = class_path.for_each(|class| {
        visited.push(class.path.to_owned());
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(visited, ["a/A.class", "a/b/B.class"]);
    assert_eq!(class_path.find("../Outside").unwrap(), None);
}

#[test]
fn errors_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent.jar");
    let error = ClassPath::open(std::slice::from_ref(&absent)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)));
    assert_eq!(error.path(), absent);
    let broken = write(directory.path(), "broken.jar", b"this is no archive");
    let error = ClassPath::open(&[broken]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Archive(_)), "{error}");
}
