//! What the manifest and the index of a jar say about the class path.

use std::path::{Path, PathBuf};

use super::PathElement;

/// The value of an attribute of the main section, which ends with an empty line.
fn attribute(manifest: &[u8], name: &str) -> Option<String> {
    let mut lines = Lines(manifest).take_while(|line| !line.is_empty());
    let value = lines.find_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        value.strip_prefix(b": ").filter(|_| key.eq_ignore_ascii_case(name.as_bytes()))
    })?;
    let mut whole = value.to_vec();
    // A line that begins with a blank continues the one before.
    lines.map_while(|line| line.strip_prefix(b" ")).for_each(|more| whole.extend_from_slice(more));
    Some(String::from_utf8_lossy(&whole).into_owned())
}

/// The lines of a text, whichever way they end. A signed jar has thousands of them.
struct Lines<'t>(&'t [u8]);

impl<'t> Iterator for Lines<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(self.0.len());
        let (line, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        Some(line)
    }
}

/// Whether variants for newer releases count.
pub(super) fn is_multi_release(manifest: &[u8]) -> bool {
    attribute(manifest, "Multi-Release").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// What `Class-Path` names, relative to the jar; `None` if it holds something else than plain paths.
pub(super) fn class_path(jar: &Path, manifest: &[u8]) -> Option<Vec<PathElement>> {
    let Some(value) = attribute(manifest, "Class-Path") else { return Some(Vec::new()) };
    if value.trim().is_empty() {
        return Some(Vec::new());
    }
    // The loader resolves against the real place of the jar.
    let jar = jar.canonicalize().ok()?;
    let folder = jar.parent()?;
    let resolve = |element: &str| {
        let is_plain =
            element.is_ascii() && !element.contains([':', '?', '#', '%', '\\', '\t']) && !element.starts_with("//");
        let path = is_plain.then(|| lexically_joined(folder, element))?;
        Some(if element.ends_with('/') { PathElement::Directory(path) } else { PathElement::Jar(path) })
    };
    value.split(' ').filter(|element| !element.is_empty()).map(resolve).collect()
}

/// Whether a loader that heeds the index of this jar finds the same as one that does not: the index names no other jar that is there, and
/// the `Class-Path`, which has no meaning then, is empty.
pub(super) fn index_is_idle(jar: &Path, index: &[u8], manifest: &[u8]) -> bool {
    let Some(jar) = jar.canonicalize().ok() else { return false };
    let Some(folder) = jar.parent() else { return false };
    let text = String::from_utf8_lossy(index);
    let is_idle = |name: &str| {
        let named = folder.join(name);
        name.is_ascii() && !name.contains([':', '%']) && (named == jar || !named.exists())
    };
    class_path(&jar, manifest).is_some_and(|path| path.is_empty())
        && text.lines().filter(|line| line.ends_with(".jar")).all(is_idle)
}

/// The joined path without `.` and `..`, which are taken off a URL before anybody looks for links.
fn lexically_joined(folder: &Path, element: &str) -> PathBuf {
    let mut path = if element.starts_with('/') { PathBuf::from("/") } else { folder.to_path_buf() };
    for part in element.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_on_in_the_next_line_and_only_the_main_section_counts() {
        let manifest = b"Manifest-Version: 1.0\r\nClass-Path: a.jar lib/b.j\r\n ar ../c/\r\n\r\nName: x\r\nMulti-Release: true\r\n";
        assert_eq!(attribute(manifest, "class-path").as_deref(), Some("a.jar lib/b.jar ../c/"));
        assert!(!is_multi_release(manifest));
        assert!(is_multi_release(b"Manifest-Version: 1.0\nMulti-Release: true\n\n"));
        for line in ["\n", "\r\n", "\r"] {
            let signed =
                ["A: b", "Multi-Release: tr", " ue", "", "Name: p/A.class", "Class-Path: no.jar", ""].join(line);
            assert!(is_multi_release(signed.as_bytes()), "{line:?}");
            assert_eq!(attribute(signed.as_bytes(), "Class-Path"), None, "{line:?}");
        }
    }

    #[test]
    fn an_index_is_idle_if_it_leads_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, b"").unwrap();
        let idle = |index: &str, manifest: &str| index_is_idle(&jar, index.as_bytes(), manifest.as_bytes());
        assert!(idle("JarIndex-Version: 1.0\n\na.jar\nMETA-INF\n\nbuilt-as.jar\np/q\n", ""));
        assert!(!idle("JarIndex-Version: 1.0\n\na.jar\n", "Class-Path: b.jar\n\n"));
        std::fs::write(folder.path().join("b.jar"), b"").unwrap();
        assert!(!idle("JarIndex-Version: 1.0\r\n\r\nb.jar\r\np\r\n", ""));
    }

    #[test]
    fn elements_are_resolved_beside_the_jar_and_others_are_left_to_the_loader() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        let jar = folder.join("a.jar");
        std::fs::write(&jar, b"").unwrap();
        let of = |value: &str| class_path(&jar, format!("Class-Path: {value}\n\n").as_bytes());
        let lib = PathElement::Jar(folder.join("lib/b.jar"));
        let expected = vec![lib, PathElement::Directory(folder.parent().unwrap().join("c"))];
        assert_eq!(of("lib/./b.jar ../c/"), Some(expected));
        assert_eq!(of("/x/y.jar"), Some(vec![PathElement::Jar(PathBuf::from("/x/y.jar"))]));
        for other in ["http://a/b.jar", "file:/x.jar", "a%20b.jar", "b.jar?c", "//host/b.jar"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(class_path(&jar, b"Manifest-Version: 1.0\n\n"), Some(Vec::new()));
    }
}
