//! The classes beside these tests (`tests/classes`).

/// Name and bytes of every sample class.
pub(crate) fn classes() -> Vec<(String, Vec<u8>)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/classes");
    let mut classes = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "class") {
            classes.push((path.file_name().unwrap().display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    classes.sort();
    assert!(classes.len() > 10, "the samples are gone");
    classes
}
