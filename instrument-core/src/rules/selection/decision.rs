//! What was decided about a class, method by method.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::delegate_marks::DelegateMark;
use crate::level::{Level, Mode};
use crate::rules::capture::Capture;
use crate::weave::template::TemplateId;

/// The decision about one class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassDecision {
    /// One per method of the class, in its order.
    pub methods: Vec<MethodDecision>,
    /// Types whose super types are unknown although a rule depends on them: with them known, more may match.
    pub unresolved: Vec<Vec<u8>>,
    /// Methods, also of other classes, that methods of the class hand to somebody who calls them, for rules with `delegates`. Those of the class
    /// itself are decided already.
    pub delegates: Vec<DelegateMark>,
}

impl ClassDecision {
    /// The methods to instrument, with their place in the class.
    pub fn chosen(&self) -> impl Iterator<Item = (usize, &Chosen)> {
        self.methods.iter().enumerate().filter_map(|(index, decision)| match decision {
            MethodDecision::Chosen(chosen) => Some((index, chosen)),
            MethodDecision::Skipped(_) => None,
        })
    }
}

/// The decision about one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodDecision {
    /// It is to be instrumented.
    Chosen(Chosen),
    /// It is left alone.
    Skipped(SkipReason),
}

/// How a method is to be instrumented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Number of the rule that decided.
    pub rule: usize,
    /// The templates, outermost first.
    pub templates: Arc<[TemplateId]>,
    /// What the probe does.
    pub level: Level,
    /// How it is attached.
    pub mode: Mode,
    /// The values of a call that are captured.
    pub capture: Option<Arc<Capture>>,
}

/// Why a method is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// No rule takes it.
    NoRule,
    /// It has no body by declaration.
    Abstract,
    /// Its body is not bytecode.
    Native,
    /// Neither abstract nor native and yet without body, or with one that cannot be read.
    NoCode,
    /// The rules take no class initialisers.
    ClassInitialiser,
    /// The rules take no constructors.
    Constructor,
    /// The rules take no bridge methods.
    Bridge,
    /// Pre-filter: calls nothing, locks nothing, has no loop.
    Leaf,
    /// Pre-filter: the body has only a few bytes.
    Tiny,
    /// Pre-filter: a small body, of a class whose package the rule does not name.
    SmallByWildcard,
    /// The probes themselves call it.
    UsedByRuntime,
    /// The class belongs to the agent's own runtime.
    RuntimeClass,
    /// `exclude` of the rule that takes it.
    ExcludedByRule,
    /// `[exclude]` of the configuration.
    ExcludedGlobally,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [SkipReason; 14] = [
        SkipReason::NoRule,
        SkipReason::Abstract,
        SkipReason::Native,
        SkipReason::NoCode,
        SkipReason::ClassInitialiser,
        SkipReason::Constructor,
        SkipReason::Bridge,
        SkipReason::Leaf,
        SkipReason::Tiny,
        SkipReason::SmallByWildcard,
        SkipReason::UsedByRuntime,
        SkipReason::RuntimeClass,
        SkipReason::ExcludedByRule,
        SkipReason::ExcludedGlobally,
    ];

    /// A name for statistics that never changes.
    pub fn key(self) -> &'static str {
        match self {
            SkipReason::NoRule => "no-rule",
            SkipReason::Abstract => "abstract",
            SkipReason::Native => "native",
            SkipReason::NoCode => "no-code",
            SkipReason::ClassInitialiser => "class-initialiser",
            SkipReason::Constructor => "constructor",
            SkipReason::Bridge => "bridge",
            SkipReason::Leaf => "leaf",
            SkipReason::Tiny => "tiny",
            SkipReason::SmallByWildcard => "small-by-wildcard",
            SkipReason::UsedByRuntime => "used-by-runtime",
            SkipReason::RuntimeClass => "runtime-class",
            SkipReason::ExcludedByRule => "excluded-by-rule",
            SkipReason::ExcludedGlobally => "excluded-globally",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::NoRule => "no rule takes it",
            SkipReason::Abstract => "it is abstract",
            SkipReason::Native => "it is native",
            SkipReason::NoCode => "it has no readable code",
            SkipReason::ClassInitialiser => "class initialisers are taken only with `class-initialisers = true`",
            SkipReason::Constructor => {
                "constructors are taken only with `constructors = true` or by their name, `<init>`"
            }
            SkipReason::Bridge => "a bridge only forwards; taken with `bridges = true`",
            SkipReason::Leaf => "pre-filter: it calls nothing, locks nothing and has no loop",
            SkipReason::Tiny => "pre-filter: its body has only a few bytes",
            SkipReason::SmallByWildcard => {
                "pre-filter: small, and the rule names no package; taken if its `class` names the package, or with `wildcard-max-bytes = 0`"
            }
            SkipReason::UsedByRuntime => "used by the runtime: the probes themselves call it",
            SkipReason::RuntimeClass => "the class belongs to the agent's own runtime",
            SkipReason::ExcludedByRule => "`exclude` of the rule names it",
            SkipReason::ExcludedGlobally => "`[exclude]` names the class",
        })
    }
}
