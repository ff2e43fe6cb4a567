//! What the name of a jar's entry says: which class it holds, for which release, or that it is a jar of its own.

/// Directories inside executable jars and web archives that are class-path roots themselves.
const NESTED_ROOTS: [&str; 2] = ["BOOT-INF/classes/", "WEB-INF/classes/"];
const NESTED_LIBRARIES: [&str; 3] = ["BOOT-INF/lib/", "WEB-INF/lib/", "WEB-INF/lib-provided/"];

/// An entry that holds a class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ClassName<'a> {
    pub(super) internal_name: &'a str,
    pub(super) release: Option<u16>,
}

/// The class of the entry, if it is one.
pub(super) fn class_name(entry: &str) -> Option<ClassName<'_>> {
    let path = entry.strip_suffix(".class")?;
    if let Some(versioned) = path.strip_prefix("META-INF/versions/") {
        let (release, internal_name) = versioned.split_once('/')?;
        return Some(ClassName { internal_name, release: Some(release.parse().ok()?) });
    }
    let internal_name = NESTED_ROOTS.iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
    Some(ClassName { internal_name, release: None })
}

/// Whether the entry is a library inside an executable jar or web archive.
pub(super) fn is_library(entry: &str) -> bool {
    entry.ends_with(".jar") && NESTED_LIBRARIES.iter().any(|directory| entry.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(internal_name: &str) -> Option<ClassName<'_>> {
        Some(ClassName { internal_name, release: None })
    }

    #[test]
    fn nested_roots_are_not_part_of_the_class_name() {
        assert_eq!(class_name("a/b/C.class"), base("a/b/C"));
        assert_eq!(class_name("BOOT-INF/classes/a/C.class"), base("a/C"));
        assert_eq!(class_name("WEB-INF/classes/C.class"), base("C"));
        assert_eq!(class_name("a/b/C.txt"), None);
    }

    #[test]
    fn versioned_entries_name_their_release() {
        let expected = ClassName { internal_name: "a/C", release: Some(11) };
        assert_eq!(class_name("META-INF/versions/11/a/C.class"), Some(expected));
        assert_eq!(class_name("META-INF/versions/x/a/C.class"), None);
    }

    #[test]
    fn only_libraries_of_executable_jars_are_opened() {
        assert!(is_library("BOOT-INF/lib/spring-core-6.2.7.jar"));
        assert!(is_library("WEB-INF/lib/a.jar"));
        assert!(!is_library("docs/a.jar"));
        assert!(!is_library("BOOT-INF/lib/a.txt"));
    }
}
