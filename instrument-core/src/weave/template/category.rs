//! Categories of templates. `database/oracle` refines `database`: whatever applies to a category applies to those that refine it.

/// Before the name of a category where a template or methods could be named: `category:database`.
pub const PREFIX: &str = "category:";

const SEPARATOR: char = '/';

/// Returns the category and those it refines, the most specific first.
pub fn with_parents(category: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(category), |child| child.rsplit_once(SEPARATOR).map(|(parent, _)| parent))
}

/// Returns whether a category is another one or refines it, at any depth.
pub fn is_within(category: &str, other: &str) -> bool {
    with_parents(category).any(|known| known == other)
}

/// Returns what is wrong with the name of a category.
pub(super) fn problem(category: &str) -> Option<String> {
    let is_word =
        |word: &str| !word.is_empty() && !word.contains(|letter: char| letter.is_whitespace() || letter == ':');
    (!category.split(SEPARATOR).all(is_word)).then(|| {
        format!("has the category `{category}`; write words with `/` between a category and its refinement, as `database/oracle`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_is_within_those_it_refines() {
        let parents: Vec<_> = with_parents("database/oracle/batch").collect();
        assert_eq!(parents, ["database/oracle/batch", "database/oracle", "database"]);
        assert!(is_within("database/oracle", "database") && is_within("database", "database"));
        assert!(!is_within("database", "database/oracle") && !is_within("databases/oracle", "database"));
    }

    #[test]
    fn a_category_is_words() {
        for right in ["database", "database/oracle"] {
            assert_eq!(problem(right), None, "{right}");
        }
        for wrong in ["", "/", "database/", "/oracle", "a//b", "my own", "category:database"] {
            assert!(problem(wrong).is_some(), "{wrong}");
        }
    }
}
