//! Where a class is from: its module, its jar, its class loader.

use std::cell::OnceCell;

use crate::rules::patterns::text_pattern::{TextPattern, first_match};
use crate::rules::selection::rule::CompiledRule;

/// Answers what a class file does not contain. Each question is asked at most once for a class, and only if a rule depends on it. `Err` is
/// the reason why there is no answer, as a clause: "it is in no named module".
pub trait ClassOrigin {
    /// Returns the name of the module of the class.
    fn module(&self) -> OriginAnswer<String>;

    /// Returns the file name of the jar, or the name of the directory, from which the class is read.
    fn jar(&self) -> OriginAnswer<String>;

    /// Returns the names of the defining class loader: the one by which it is known (`boot`, `platform`, `app`), if it has one, and its class.
    fn loader(&self) -> OriginAnswer<Vec<String>>;
}

/// An answer about the origin of a class, or why there is none.
pub type OriginAnswer<T> = Result<T, &'static str>;

/// The origin of a class of which nothing is known.
#[derive(Clone, Copy, Debug)]
pub struct UnknownOrigin;

const UNKNOWN: &str = "its origin is unknown";

impl ClassOrigin for UnknownOrigin {
    fn module(&self) -> OriginAnswer<String> {
        Err(UNKNOWN)
    }

    fn jar(&self) -> OriginAnswer<String> {
        Err(UNKNOWN)
    }

    fn loader(&self) -> OriginAnswer<Vec<String>> {
        Err(UNKNOWN)
    }
}

/// The answers about one class, each found when the first rule asks.
pub(in crate::rules::selection) struct OriginFacts<'f> {
    origin: &'f dyn ClassOrigin,
    module: OnceCell<OriginAnswer<Vec<String>>>,
    jar: OnceCell<OriginAnswer<Vec<String>>>,
    loader: OnceCell<OriginAnswer<Vec<String>>>,
}

/// The conditions of a rule on the origin of a class, in the order in which they are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules::selection) enum OriginKey {
    Loader,
    Module,
    Jar,
}

impl OriginKey {
    pub(in crate::rules::selection) const ALL: [OriginKey; 3] = [OriginKey::Loader, OriginKey::Module, OriginKey::Jar];

    /// The key of the rule, which is also the noun for people.
    pub(in crate::rules::selection) fn name(self) -> &'static str {
        match self {
            OriginKey::Loader => "loader",
            OriginKey::Module => "module",
            OriginKey::Jar => "jar",
        }
    }

    pub(in crate::rules::selection) fn patterns(self, rule: &CompiledRule) -> &[TextPattern] {
        match self {
            OriginKey::Loader => &rule.loader,
            OriginKey::Module => &rule.module,
            OriginKey::Jar => &rule.jar,
        }
    }
}

impl<'f> OriginFacts<'f> {
    pub(in crate::rules::selection) fn new(origin: &'f dyn ClassOrigin) -> OriginFacts<'f> {
        OriginFacts { origin, module: OnceCell::new(), jar: OnceCell::new(), loader: OnceCell::new() }
    }

    /// The first condition of the rule that does not hold.
    pub(in crate::rules::selection) fn failing(&self, rule: &CompiledRule) -> Option<OriginKey> {
        OriginKey::ALL.into_iter().find(|key| {
            let patterns = key.patterns(rule);
            !patterns.is_empty() && !self.holds(*key, patterns)
        })
    }

    fn holds(&self, key: OriginKey, patterns: &[TextPattern]) -> bool {
        let Ok(names) = self.names(key) else { return false };
        let mut holds = false;
        for pattern in names.iter().filter_map(|name| first_match(patterns, name)) {
            if pattern.negated {
                return false;
            }
            holds = true;
        }
        holds
    }

    fn names(&self, key: OriginKey) -> &OriginAnswer<Vec<String>> {
        match key {
            OriginKey::Loader => self.loader.get_or_init(|| self.origin.loader()),
            OriginKey::Module => self.module.get_or_init(|| self.origin.module().map(|name| vec![name])),
            OriginKey::Jar => self.jar.get_or_init(|| self.origin.jar().map(|name| vec![name])),
        }
    }

    /// Why the condition holds or not, for people.
    pub(in crate::rules::selection) fn reason(&self, key: OriginKey, patterns: &[TextPattern]) -> String {
        let noun = key.name();
        let names = match self.names(key) {
            Ok(names) => names,
            Err(why) => return format!("its {noun} cannot match: {why}"),
        };
        let known = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" of class ");
        let found: Vec<&TextPattern> = names.iter().filter_map(|name| first_match(patterns, name)).collect();
        match found.iter().find(|pattern| pattern.negated).or_else(|| found.first()) {
            Some(pattern) if pattern.negated => format!("`!{}` excludes its {noun} {known}", pattern.glob.text()),
            Some(pattern) => format!("`{}` names its {noun} {known}", pattern.glob.text()),
            None => format!("no pattern of `{noun}` matches {known}"),
        }
    }
}
