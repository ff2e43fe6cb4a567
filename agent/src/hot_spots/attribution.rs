//! For which method a stack counts.

use std::sync::Arc;

use instrument_core::rules::patterns::NameGlob;
use rustc_hash::FxHashSet;

use super::counted_method::CountedMethod;

pub(crate) const BEGINS: &str = "the thread begins there";
pub(crate) const TASK_BEGINS: &str = "a task of a pool begins there";
/// The classes of the agent.
const OWN: &[u8] = b"java/instr/";
const OWN_CODE: &str = "probes and hooks of instr";
pub(super) const CUT_OFF: &str = "the stack was cut off there";

/// For which method stacks count.
#[derive(Debug, Default)]
pub(crate) enum Attribution {
    /// The one that was executing.
    #[default]
    Innermost,
    /// The caller of a method.
    CallerOf(Arc<CalledMethod>),
}

/// A method whose callers are looked for.
#[derive(Debug)]
pub(crate) struct CalledMethod {
    /// Its texts: of one overload, or of several.
    pub(crate) texts: FxHashSet<String>,
    /// Classes whose methods are passed through.
    pub(crate) through: Vec<NameGlob>,
}

/// What a stack counts for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attributed<'a> {
    /// For this method; for callers, with the method nearest to the called one that was passed through, if there is one.
    Method(&'a CountedMethod, Option<&'a CountedMethod>),
    /// For none, for this reason.
    Reason(&'static str),
    /// It is not one of those that are counted.
    Elsewhere,
    /// It is empty.
    NoFrame,
}

impl Attribution {
    /// Whether samples without a stack say nothing.
    pub(super) fn needs_stacks(&self) -> bool {
        matches!(self, Attribution::CallerOf(_))
    }

    pub(super) fn of<'a>(&self, stack: &[&'a CountedMethod], truncated: bool) -> Attributed<'a> {
        match (self, stack.first()) {
            (_, None) => Attributed::NoFrame,
            (Attribution::Innermost, Some(method)) if method.class.starts_with(OWN) => Attributed::Reason(OWN_CODE),
            (Attribution::Innermost, Some(method)) => named(method, None),
            (Attribution::CallerOf(called), Some(_)) => called.caller(stack, truncated),
        }
    }
}

impl CalledMethod {
    /// The caller of the outermost call: a method that calls itself counts for the caller of its first call.
    pub(super) fn caller<'a>(&self, stack: &[&'a CountedMethod], truncated: bool) -> Attributed<'a> {
        let Some(outermost) = stack.iter().rposition(|method| self.texts.contains(&*method.text)) else {
            return Attributed::Elsewhere;
        };
        let (of, above) = (stack.get(outermost), stack.get(outermost + 1..).unwrap_or_default());
        self.caller_above(of.copied(), above, truncated)
    }

    /// The first of the methods above one that is not passed through.
    pub(super) fn caller_above<'a>(
        &self,
        of: Option<&CountedMethod>,
        above: &[&'a CountedMethod],
        truncated: bool,
    ) -> Attributed<'a> {
        let passes = |method: &CountedMethod| self.passes(method);
        let mut via = None;
        for (at, method) in above.iter().enumerate() {
            if let Some(beginning) = beginning(of, above.get(at..).unwrap_or_default(), &passes) {
                return Attributed::Reason(if truncated { CUT_OFF } else { beginning });
            }
            if !self.passes(method) && !runs_task(of, method) {
                return named(method, via);
            }
            via = via.or(Some(*method));
        }
        Attributed::Reason(if truncated { CUT_OFF } else { BEGINS })
    }

    fn passes(&self, method: &CountedMethod) -> bool {
        method.is_go_between || self.through.iter().any(|through| through.matches(&method.class))
    }
}

/// What begins with a method that threads or pools run as something that others have given them, if nothing is above but how they do that; `None` otherwise, and if the
/// method is itself one of those.
pub(super) fn beginning(
    of: Option<&CountedMethod>,
    above: &[&CountedMethod],
    passes: &dyn Fn(&CountedMethod) -> bool,
) -> Option<&'static str> {
    let is_of_threads = |method: &CountedMethod| method.is_of_threads;
    if of.is_some_and(is_of_threads) || !above.first().is_some_and(|first| first.runs_tasks) {
        return None;
    }
    let is_beginning = above.iter().all(|method| method.is_of_threads || passes(method));
    let is_task = || above.iter().any(|method| method.is_of_pools());
    is_beginning.then(|| if is_task() { TASK_BEGINS } else { BEGINS })
}

/// Whether a method runs another one only as a task, as a future does at once that is complete.
pub(super) fn runs_task(of: Option<&CountedMethod>, method: &CountedMethod) -> bool {
    method.runs_tasks && !of.is_some_and(|of| of.is_of_threads)
}

fn named<'a>(method: &'a CountedMethod, via: Option<&'a CountedMethod>) -> Attributed<'a> {
    method.unnamed.map_or(Attributed::Method(method, via), Attributed::Reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(text: &str) -> CountedMethod {
        CountedMethod::of_text(text)
    }

    /// The caller of `a.B.hot` on this stack, and the method between them.
    fn caller(stack: &[&str], truncated: bool) -> String {
        caller_of("a.B.hot", stack, truncated)
    }

    fn caller_of(called: &str, stack: &[&str], truncated: bool) -> String {
        let called = CalledMethod {
            texts: std::iter::once(called.to_owned()).collect(),
            through: vec![NameGlob::class("java.util.A*").unwrap()],
        };
        let methods: Vec<CountedMethod> = stack.iter().map(|text| method(text)).collect();
        let stack: Vec<&CountedMethod> = methods.iter().collect();
        match Attribution::CallerOf(Arc::new(called)).of(&stack, truncated) {
            Attributed::Method(method, None) => method.text.to_string(),
            Attributed::Method(method, Some(via)) => format!("{} via {}", method.text, via.text),
            Attributed::Reason(reason) => reason.to_owned(),
            Attributed::Elsewhere => "elsewhere".to_owned(),
            Attributed::NoFrame => "none".to_owned(),
        }
    }

    #[test]
    fn the_caller_is_the_next_method_of_the_program() {
        assert_eq!(caller(&["a.B.hot", "a.B.b", "a.B.c"], false), "a.B.b");
        assert_eq!(caller(&["x.Y.z", "a.B.hot", "a.B.b"], false), "a.B.b", "time of callees is its time");
        assert_eq!(caller(&["a.B.b", "a.B.c"], false), "elsewhere");
        assert_eq!(caller(&[], false), "none");
    }

    #[test]
    fn go_betweens_are_passed_through_and_the_nearest_is_named() {
        let stack = ["a.B.hot", "a.B$$Lambda+0x1.run", "java.util.ArrayList.forEach", "a.B.c"];
        assert_eq!(caller(&stack, false), "a.B.c via a.B$$Lambda+0x1.run");
        assert_eq!(caller(&["a.B.hot", "jdk.reflect.M.invoke", "a.B.c"], false), "a.B.c via jdk.reflect.M.invoke");
    }

    #[test]
    fn a_method_without_a_name_is_a_reason() {
        assert_eq!(caller(&["a.B.hot", "gone.X.x", "a.B.c"], false), "gone");
        let unnamed = method("gone.X.x");
        assert_eq!(Attribution::Innermost.of(&[&unnamed], false), Attributed::Reason("gone"));
        let own = method("java.instr.CallerFinder.enter(int)");
        assert_eq!(Attribution::Innermost.of(&[&own], false), Attributed::Reason(OWN_CODE));
    }

    #[test]
    fn recursion_counts_for_the_caller_of_the_first_call() {
        assert_eq!(caller(&["a.B.hot", "a.B.b", "a.B.hot", "a.B.c"], false), "a.B.c");
        assert_eq!(caller(&["a.B.hot", "a.B.hot", "a.B.hot", "a.B.c"], false), "a.B.c");
    }

    #[test]
    fn without_a_caller_it_is_said_why() {
        assert_eq!(caller(&["a.B.b", "a.B.hot"], false), BEGINS);
        assert_eq!(caller(&["a.B.hot", "java.lang.Thread.run"], false), BEGINS);
        assert_eq!(caller(&["a.B.b", "a.B.hot"], true), CUT_OFF);
    }

    #[test]
    fn how_threads_and_pools_run_tasks_is_no_caller() {
        let pool = [
            "java.util.concurrent.FutureTask.run",
            "java.util.concurrent.ThreadPoolExecutor$Worker.run",
            "java.lang.Thread.run",
        ];
        let in_pool = |innermost: &[&'static str]| [innermost, &pool].concat();
        assert_eq!(caller(&in_pool(&["a.B.hot"]), false), TASK_BEGINS);
        assert_eq!(caller(&in_pool(&["a.B.hot", "a.B$$Lambda+0x1.run"]), false), TASK_BEGINS);
        assert_eq!(caller(&in_pool(&["a.B.hot", "a.B.task"]), false), "a.B.task");
        assert_eq!(caller(&in_pool(&["a.B.hot"]), true), CUT_OFF, "who knows what is above");
        let stage = "java.util.concurrent.CompletableFuture.uniRunNow";
        let now = ["a.B.hot", stage, "java.util.concurrent.CompletableFuture.thenRun", "a.B.b"];
        assert_eq!(caller(&now, false), format!("a.B.b via {stage}"), "a stage of a future that is complete");
        let of_map = "java.util.concurrent.ConcurrentHashMap.forEach";
        assert_eq!(caller(&["a.B.hot", of_map, "a.B.task", "java.lang.Thread.run"], false), of_map);
        assert_eq!(caller_of(pool[0], &in_pool(&[]), false), pool[1], "who asks for it gets it");
        let park = "java.util.concurrent.locks.LockSupport.park";
        assert_eq!(caller(&in_pool(&["a.B.hot", park]), false), park, "an idle worker runs no task");
    }
}
