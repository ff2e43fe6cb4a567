//! A method as it is counted.

use std::sync::Arc;

use crate::call_sites::method_text;
use crate::jvm::MethodFacts;
use crate::sampler::InnermostPlace;

/// How javac names bodies of lambdas.
const LAMBDA_BODY: &[u8] = b"lambda$";

/// A method to count for, or a place in native code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CountedMethod {
    /// `package.Class.method(Types)`
    pub(super) text: Arc<str>,
    /// Internal name of the class; empty for native code.
    pub(super) class: Arc<[u8]>,
    /// Whether it only calls for another one. The body of a lambda does not.
    pub(super) is_go_between: bool,
    /// Set if it represents all methods without a name, for this reason.
    pub(super) unnamed: Option<&'static str>,
}

impl CountedMethod {
    /// From what the JVM says.
    pub(super) fn of(facts: &MethodFacts) -> CountedMethod {
        CountedMethod {
            text: method_text(&facts.class, &facts.name, &facts.descriptor).into(),
            class: facts.class.as_slice().into(),
            is_go_between: facts.is_go_between() && !facts.name.starts_with(LAMBDA_BODY),
            unnamed: None,
        }
    }

    /// Of a sample without a stack.
    pub(super) fn of_place(place: &InnermostPlace) -> CountedMethod {
        match place {
            InnermostPlace::Compiled(facts) => CountedMethod::of(facts),
            InnermostPlace::Native(name) => {
                CountedMethod { text: Arc::clone(name), class: Arc::default(), is_go_between: false, unnamed: None }
            }
        }
    }
}
