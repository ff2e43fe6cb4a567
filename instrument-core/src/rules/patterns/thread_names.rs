//! Which threads are meant, by their names.

use super::name_glob::NameGlob;

/// Globs over names of threads: `*` is any text, `!` in front leaves threads out. The last word has an exclusion; without any
/// other glob all threads are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadNames {
    meant: Vec<NameGlob>,
    left_out: Vec<NameGlob>,
}

impl ThreadNames {
    /// Reads the globs.
    pub fn of(globs: &[String]) -> ThreadNames {
        let mut names = ThreadNames::default();
        for glob in globs {
            match glob.strip_prefix('!') {
                Some(glob) => names.left_out.push(NameGlob::of_text(glob)),
                None => names.meant.push(NameGlob::of_text(glob)),
            }
        }
        names
    }

    /// Whether all threads are meant.
    pub fn is_everything(&self) -> bool {
        self.meant.is_empty() && self.left_out.is_empty()
    }

    /// Whether a thread of this name is meant; the name of a thread without a name is empty.
    pub fn contains(&self, name: &[u8]) -> bool {
        let is_in = |globs: &[NameGlob]| globs.iter().any(|glob| glob.matches(name));
        (self.meant.is_empty() || is_in(&self.meant)) && !is_in(&self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadNames;

    fn contained(globs: &[&str], names: &[&str]) -> Vec<bool> {
        let globs: Vec<String> = globs.iter().map(ToString::to_string).collect();
        let threads = ThreadNames::of(&globs);
        names.iter().map(|name| threads.contains(name.as_bytes())).collect()
    }

    #[test]
    fn stars_match_any_text_and_exclusions_win() {
        let names = ["http-1", "http-admin-1", "OkHttp https://a/b", "main", ""];
        assert_eq!(contained(&["http-*", "!*admin*"], &names), [true, false, false, false, false]);
        assert_eq!(contained(&["!main"], &names), [true, true, true, false, true]);
        assert_eq!(contained(&["*//a*"], &names), [false, false, true, false, false]);
        assert_eq!(contained(&["*"], &names), [true; 5]);
        assert_eq!(contained(&[], &names), [true; 5]);
        assert_eq!(contained(&["h*-*-1", "ma"], &names), [false, true, false, false, false]);
    }
}
