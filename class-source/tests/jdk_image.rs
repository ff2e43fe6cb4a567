//! The image reader against every JDK of this machine: are all classes there, under the names they carry, and does a
//! look-up by name give the same bytes as the walk?

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use class_source::{ErrorKind, JavaHome, JdkImage};

const CLASS_MAGIC: [u8; 4] = [0xCA, 0xFE, 0xBA, 0xBE];

fn installed() -> Vec<JavaHome> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/jdks");
    let homes = JavaHome::installed(&[own]);
    assert!(homes.iter().any(|home| home.feature() >= 17), "the tests need a JDK of version 17 or later");
    homes
}

#[test]
fn every_class_is_found_under_its_name() {
    for home in installed() {
        let image = JdkImage::open(home.path()).unwrap();
        let (mut classes, mut packages) = (0, HashSet::new());
        for class in image.classes() {
            let class = class.unwrap();
            classes += 1;
            if class.name().ends_with("module-info") {
                continue;
            }
            packages.insert(class.name().rsplit_once('/').unwrap().0.to_owned());
            assert_eq!(image.module_of(class.name()).unwrap(), Some(class.module()), "{}", class.name());
            // Reading everything twice takes a while in a debug build; each 16th class keeps it below a second.
            if classes % 16 == 0 {
                let bytes = image.read(&class).unwrap();
                assert!(bytes.starts_with(&CLASS_MAGIC), "{} of {}", class.name(), home.version());
                assert_eq!(image.find(class.name()).unwrap(), Some(bytes), "{}", class.name());
            }
        }
        assert!(classes > 5_000 && packages.len() > 100, "{}: {classes} classes", home.path().display());
    }
}

/// The JVM itself is the oracle: its own jrt file system counts the classes.
#[test]
fn the_number_of_classes_is_what_the_jvm_counts() {
    let counter = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/CountClasses.java");
    for home in installed().iter().filter(|home| home.has_compiler()) {
        let output = Command::new(home.path().join("bin/java")).arg(&counter).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let expected: usize = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        let counted = JdkImage::open(home.path()).unwrap().classes().filter(Result::is_ok).count();
        assert_eq!(counted, expected, "{}", home.path().display());
    }
}

#[test]
fn absent_classes_are_none_and_not_an_error() {
    for home in installed() {
        let image = JdkImage::open(home.path()).unwrap();
        for absent in
            ["java/lang/NoSuchClass", "no/such/Package", "Object", "", "/", "java/lang/", "/java.base/java/lang/Object"]
        {
            assert!(image.find(absent).unwrap().is_none(), "{absent}");
        }
        assert!(image.find(b"java/lang/\xED\xA0\x80").unwrap().is_none());
        assert_eq!(image.module_of("java/lang/Object").unwrap(), Some("java.base"));
    }
}

/// jlink packs an image in three ways; the classes must be read unchanged.
#[test]
fn packed_images_give_the_same_bytes() {
    let homes = installed();
    let Some(home) = homes.iter().find(|home| home.path().join("jmods/java.base.jmod").is_file()) else {
        return eprintln!("no JDK with jmods here: nothing to link");
    };
    let original = JdkImage::open(home.path()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for level in ["1", "2"] {
        let linked = directory.path().join(level);
        let output = Command::new(home.path().join("bin/jlink"))
            .args(["--add-modules", "java.base", "--compress", level, "--output"])
            .arg(&linked)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        compare_each_class(&JdkImage::open(&linked).unwrap(), &original);
    }
}

fn compare_each_class(packed: &JdkImage, original: &JdkImage) {
    let (mut same, mut different) = (0, 0);
    for class in packed.classes() {
        let class = class.unwrap();
        let bytes = packed.read(&class).unwrap();
        assert!(bytes.starts_with(&CLASS_MAGIC));
        match original.find(class.name()).unwrap() {
            Some(expected) if expected == bytes => same += 1,
            _ => different += 1,
        }
    }
    // jlink generates a few dozen classes for the image it makes (module table, lambda forms, resource bundles).
    assert!(same > 5_000 && different < same / 20, "{same} same, {different} different");
}

#[test]
fn damaged_images_are_refused_and_never_panic() {
    let home = &installed()[0];
    let whole = home.path().join("lib/modules");
    let directory = tempfile::tempdir().unwrap();
    let modules = directory.path().join("lib/modules");
    fs::create_dir(directory.path().join("lib")).unwrap();

    fs::write(&modules, b"no image").unwrap();
    assert!(matches!(opened(directory.path()), Err(ErrorKind::Corrupt(_))));
    fs::write(&modules, [0; 64]).unwrap();
    assert!(matches!(opened(directory.path()), Err(ErrorKind::NotAnImage)));

    let index = first_bytes(&whole, 6 << 20);
    fs::write(&modules, &index[..4096]).unwrap();
    assert!(matches!(opened(directory.path()), Err(ErrorKind::Corrupt(_))));

    // Every byte of the header turned over, then bytes all over the index: an error or a wrong answer, no panic.
    let places = (0..28).chain((28..index.len()).step_by(40_009));
    for place in places {
        let mut damaged = index.clone();
        damaged[place] ^= 0xFF;
        fs::write(&modules, &damaged).unwrap();
        if let Ok(image) = JdkImage::open(directory.path()) {
            let _ = image.find("java/lang/Object");
            for class in image.classes().take(50).flatten() {
                let _ = image.read(&class);
            }
        }
    }
}

fn opened(home: &Path) -> Result<(), ErrorKind> {
    match JdkImage::open(home) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.kind() {
            ErrorKind::NotAnImage => ErrorKind::NotAnImage,
            _ => ErrorKind::Corrupt("any"),
        }),
    }
}

fn first_bytes(path: &PathBuf, count: usize) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = Vec::new();
    fs::File::open(path).unwrap().take(count as u64).read_to_end(&mut bytes).unwrap();
    bytes
}
