//! A method as it is counted.

use std::sync::Arc;

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::call_sites::method_text;
use crate::jvm::{MethodFacts, MethodId, OwnStack};
use crate::sampler::InnermostPlace;

/// Methods that are kept.
const MOST_METHODS: usize = 1 << 14;
/// How javac names bodies of lambdas.
const LAMBDA_BODY: &[u8] = b"lambda$";
/// Methods of these by which that is done, ...
const RUNNING: [&[u8]; 10] =
    [b"run", b"run0", b"runWith", b"runWorker", b"runAndReset", b"exec", b"doExec", b"call", b"tryFire", b"compute"];
/// ... and all of these classes.
const STAGES: &[u8] = b"java/util/concurrent/CompletableFuture";
/// Classes of the JDK and of Tomcat by which threads and pools run what others have given them.
const THREAD: &[u8] = b"java/lang/Thread";
const OF_THREADS: [&[u8]; 6] = [
    b"java/lang/ThreadBuilders",
    b"java/lang/BaseVirtualThread",
    b"java/lang/VirtualThread",
    b"jdk/internal/vm/",
    CONCURRENT,
    TOMCAT,
];
const CONCURRENT: &[u8] = b"java/util/concurrent/";
const TOMCAT: &[u8] = b"org/apache/tomcat/util/threads/";

/// Methods by their ids. Each is looked up once, unless there are too many.
#[derive(Debug, Default)]
pub(super) struct CountedMethods(RwLock<FxHashMap<MethodId, Arc<CountedMethod>>>);

impl CountedMethods {
    /// Returns a method that is executing; `None` if its class was unloaded.
    pub(super) fn of(&self, method: MethodId, stack: OwnStack<'_>) -> Option<Arc<CountedMethod>> {
        if let Some(known) = self.0.read().get(&method) {
            return Some(Arc::clone(known));
        }
        let found = Arc::new(CountedMethod::of(&stack.facts(method)?));
        let methods = &mut *self.0.write();
        if methods.len() >= MOST_METHODS {
            methods.clear();
        }
        methods.insert(method, Arc::clone(&found));
        Some(found)
    }
}

/// A method to count for, or a place in native code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct CountedMethod {
    /// `package.Class.method(Types)`
    pub(super) text: Arc<str>,
    /// Internal name of the class; empty for native code.
    pub(super) class: Arc<[u8]>,
    /// Whether it only calls for another one. The body of a lambda does not.
    pub(super) is_go_between: bool,
    /// Whether it is of a class by which threads and pools run what others have given them.
    pub(super) is_of_threads: bool,
    /// Whether it does that itself.
    pub(super) runs_tasks: bool,
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
            is_of_threads: is_of_threads(&facts.class),
            runs_tasks: runs_tasks(&facts.class, &facts.name),
            unnamed: None,
        }
    }

    /// One by which pools run tasks.
    pub(super) fn is_of_pools(&self) -> bool {
        self.class.starts_with(CONCURRENT) || self.class.starts_with(TOMCAT)
    }

    /// A method of this text, without types.
    #[cfg(test)]
    pub(super) fn of_text(text: &str) -> CountedMethod {
        let (class, name) = text.rsplit_once('.').unwrap_or(("", text));
        let class: Arc<[u8]> = class.replace('.', "/").into_bytes().into();
        CountedMethod {
            text: text.into(),
            is_go_between: text.contains("Lambda") || text.contains("reflect"),
            is_of_threads: is_of_threads(&class),
            runs_tasks: runs_tasks(&class, name.as_bytes()),
            unnamed: text.starts_with("gone").then_some("gone"),
            class,
        }
    }

    /// Of a sample without a stack.
    pub(super) fn of_place(place: &InnermostPlace) -> CountedMethod {
        match place {
            InnermostPlace::Compiled(facts) => CountedMethod::of(facts),
            InnermostPlace::Native(name) => {
                let (text, class) = (Arc::clone(name), Arc::default());
                CountedMethod { text, class, ..CountedMethod::default() }
            }
        }
    }
}

fn runs_tasks(class: &[u8], name: &[u8]) -> bool {
    is_of_threads(class) && (RUNNING.contains(&name) || class.starts_with(STAGES))
}

fn is_of_threads(class: &[u8]) -> bool {
    class == THREAD || OF_THREADS.iter().any(|prefix| class.starts_with(prefix))
}
