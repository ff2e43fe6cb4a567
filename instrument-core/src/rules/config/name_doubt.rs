//! Class names that are legal but probably not what was meant.

/// A doubt about a class name without wildcards and what to write instead. `is_type`: the name of one type, not a glob.
pub(super) fn name_doubt(name: &str, is_type: bool) -> Option<(String, String)> {
    if name.contains('*') {
        return None;
    }
    if let Some(class) = name.strip_suffix(".class").or_else(|| name.strip_suffix(".java")) {
        return Some((format!("`{name}` looks like a file name"), format!("write `{class}`")));
    }
    let segments: Vec<&str> = name.split(['.', '/']).collect();
    let upper = |segment: &&str| segment.starts_with(|first: char| first.is_uppercase());
    if let Some(outer) = segments.iter().position(upper)
        && outer + 1 < segments.len()
    {
        let (package, class) = segments.split_at(outer);
        let nested = [package, &[class.join("$").as_str()]].concat().join(".");
        let message = format!("`{name}` is a class in a package named like a class");
        return Some((message, format!("a nested class is written `{nested}`")));
    }
    if is_type && segments.len() == 1 {
        let message = format!("`{name}` has no package, so only a class of the default package is meant");
        return Some((message, "write the full name".to_owned()));
    }
    let lower_last = segments.last().is_some_and(|last| last.starts_with(|first: char| first.is_lowercase()));
    if !is_type && lower_last && segments.len() > 1 {
        let message = format!("`{name}` is one class named in lower case");
        return Some((message, format!("for the package and all below write `{name}.**`")));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubts_what_is_hardly_meant() {
        let suggestion = |name: &str, is_type: bool| name_doubt(name, is_type).map(|(_, suggestion)| suggestion);
        assert_eq!(suggestion("com.acme", false).unwrap(), "for the package and all below write `com.acme.**`");
        assert_eq!(suggestion("com.acme.Shop.Cart", false).unwrap(), "a nested class is written `com.acme.Shop$Cart`");
        assert_eq!(suggestion("Shop.Cart", true).unwrap(), "a nested class is written `Shop$Cart`");
        assert_eq!(suggestion("HttpServlet", true).unwrap(), "write the full name");
        assert_eq!(suggestion("com.acme.Shop.class", false).unwrap(), "write `com.acme.Shop`");
        for fine in ["com.acme.**", "com.acme.Shop", "Main", "main", "com.acme.Shop$Cart", "a.\u{4e2d}"] {
            assert_eq!(name_doubt(fine, false), None, "{fine}");
        }
        assert_eq!(name_doubt("java.lang.Deprecated", true), None);
    }
}
