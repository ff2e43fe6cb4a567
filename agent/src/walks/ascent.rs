//! The way up from one hot method, as samples show it.

use std::sync::Arc;

use control::HotSpot;
use instrument_core::rules::patterns::NameGlob;
use trace::report::counted;

use crate::hot_spots::{BEGINS, SampledCaller, TASK_BEGINS};
use rustc_hash::FxHashSet;

/// Which callers are followed.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// Those with this part of the samples of a method.
    pub(crate) share: f64,
    /// The most callers of one method that are followed.
    pub(crate) most: usize,
    /// The most levels.
    pub(crate) levels: usize,
    /// Not above methods of these classes.
    pub(crate) boundary: Vec<NameGlob>,
    /// Whether who hands a task over is above what begins in it.
    pub(crate) across_threads: bool,
}

/// A caller that a hook has found, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookedCaller {
    pub(crate) method: Result<Arc<str>, &'static str>,
    /// What is mostly between the two: a method that was passed through.
    pub(crate) via: Option<Arc<str>>,
    /// Its part of the calls, or of their time, whichever is larger.
    pub(crate) part: f64,
}

/// The way up from a hot method.
#[derive(Debug)]
pub(crate) struct Ascent {
    pub(crate) hot: HotSpot,
    /// What all samples of the hot method represent.
    weight: f64,
    levels: Vec<Vec<SampledCaller>>,
    /// The methods of the present level: those whose callers are looked at.
    present: Vec<Arc<str>>,
    /// Those of the present level, and of all levels below.
    visited: FxHashSet<Arc<str>>,
    level: usize,
    end: Option<String>,
}

impl Ascent {
    /// Begins at the hot method, whose samples represent `weight`; `levels` has the callers above it.
    pub(crate) fn new(hot: HotSpot, weight: f64, levels: Vec<Vec<SampledCaller>>) -> Ascent {
        let present = vec![Arc::from(hot.method.as_str())];
        let visited = present.iter().cloned().collect();
        Ascent { hot, weight, levels, present, visited, level: 0, end: None }
    }

    /// The methods whose callers are looked at.
    pub(crate) fn present(&self) -> &[Arc<str>] {
        if self.end.is_some() { &[] } else { &self.present }
    }

    /// Why there is nothing above any more.
    pub(crate) fn end(&self) -> Option<&str> {
        self.end.as_deref()
    }

    /// The callers of a method of the present level, the largest share first.
    pub(crate) fn callers_of<'a>(&'a self, callee: &'a str) -> impl Iterator<Item = &'a SampledCaller> {
        self.levels.get(self.level).into_iter().flatten().filter(move |of| &*of.callee == callee)
    }

    /// The part of the samples of the hot method that a method of the present level has.
    pub(crate) fn share_of(&self, callee: &str) -> f64 {
        let weight: f64 = self.callers_of(callee).map(|of| of.weight).sum();
        if self.weight > 0.0 { (weight / self.weight).min(1.0) } else { 0.0 }
    }

    /// The callers that are followed, each once.
    pub(crate) fn followed(&self, policy: &Policy) -> Vec<Arc<str>> {
        let mut followed: Vec<Arc<str>> = Vec::new();
        for callee in self.present() {
            for caller in self.followed_of(callee, policy) {
                if !followed.contains(&caller) {
                    followed.push(caller);
                }
            }
        }
        followed
    }

    /// The callers of one method that are followed.
    pub(crate) fn followed_of(&self, callee: &str, policy: &Policy) -> Vec<Arc<str>> {
        let callers = self.large_callers(callee, policy).filter(|of| !self.is_cycle(of));
        callers.filter_map(|of| of.caller.as_ref().ok()).take(policy.most).cloned().collect()
    }

    fn large_callers<'a>(&'a self, callee: &'a str, policy: &Policy) -> impl Iterator<Item = &'a SampledCaller> {
        let share = policy.share;
        self.callers_of(callee).filter(move |of| of.share.max(of.hooked) >= share)
    }

    /// Whether a caller is already below. On the stack of a sample there is none: the outermost call counts. But a task may hand itself over.
    fn is_cycle(&self, of: &SampledCaller) -> bool {
        !of.is_sampled() && of.caller.as_ref().is_ok_and(|caller| self.visited.contains(caller))
    }

    /// The part of a method of the present level that tasks or threads begin with.
    pub(crate) fn begins_with(&self, callee: &str) -> f64 {
        let begins = self.callers_of(callee).filter(|of| matches!(of.caller, Err(BEGINS | TASK_BEGINS)));
        begins.map(|of| of.share.max(of.hooked)).sum()
    }

    /// Notes the callers of a method of the present level that a hook has found: who, what was passed through, and the part of the calls or of their time. Returns
    /// whether one is followed now that was not.
    pub(crate) fn note_hooked(&mut self, callee: &Arc<str>, found: &[HookedCaller], policy: &Policy) -> bool {
        if !self.present().contains(callee) {
            return false;
        }
        let before = self.followed_of(callee, policy);
        while self.levels.len() <= self.level {
            self.levels.push(Vec::new());
        }
        let Some(callers) = self.levels.get_mut(self.level) else { return false };
        for HookedCaller { method, via, part } in found {
            let known = callers.iter().position(|of| of.callee == *callee && of.caller == *method);
            let at = known.unwrap_or_else(|| {
                callers.push(SampledCaller::found_by_hook(callee, method.clone(), via.clone()));
                callers.len() - 1
            });
            if let Some(caller) = callers.get_mut(at) {
                caller.hooked = *part;
            }
        }
        self.followed_of(callee, policy).iter().any(|of| !before.contains(of))
    }

    /// The caller with the largest share on the present level, or why there is none.
    fn largest(&self) -> Option<&Result<Arc<str>, &'static str>> {
        let of_level = self.levels.get(self.level)?.iter().filter(|of| self.present.contains(&of.callee));
        let largest = |of: &SampledCaller, than: &SampledCaller| {
            of.weight.total_cmp(&than.weight).then_with(|| of.hooked.total_cmp(&than.hooked))
        };
        of_level.max_by(|one, other| largest(one, other)).map(|of| &of.caller)
    }

    /// A caller of a method of the present level that is already below.
    fn cycle(&self, policy: &Policy) -> Option<&Arc<str>> {
        let mut large = self.present.iter().flat_map(|callee| self.large_callers(callee, policy));
        large.find(|of| self.is_cycle(of)).and_then(|of| of.caller.as_ref().ok())
    }

    /// Goes up to these callers, of which some may be above the boundary. Notes why, if that is the end.
    pub(crate) fn go_up(&mut self, followed: Vec<Arc<str>>, policy: &Policy) {
        if self.end.is_some() {
            return;
        }
        let none = followed.is_empty();
        let (outside, inside): (Vec<_>, Vec<_>) = followed.into_iter().partition(|of| is_outside(of, policy));
        let reason = || match (outside.first(), self.largest()) {
            (Some(first), _) => format!("boundary: {first}"),
            (None, _) if let Some(below) = self.cycle(policy) => format!("cycle: {below} is already below"),
            (None, None) => "no data: no sample has a caller".to_owned(),
            (None, Some(Err(BEGINS))) => "root: the threads begin there".to_owned(),
            (None, Some(Err(TASK_BEGINS))) if policy.across_threads => {
                "no data: who hands the tasks over that begin there is not known".to_owned()
            }
            (None, Some(Err(TASK_BEGINS))) => {
                "root: tasks of pools begin there (`--across-threads` goes on to who hands them over)".to_owned()
            }
            (None, Some(Err(reason))) => format!("no data: {reason}"),
            (None, Some(Ok(_))) => format!("no caller has {:.0} %", policy.share * 100.0),
        };
        if none || inside.is_empty() {
            self.end = Some(reason());
        } else if self.level + 1 >= policy.levels {
            self.end = Some(format!("limit of {}", counted(policy.levels as u64, "level")));
        }
        self.visited.extend(inside.iter().cloned());
        self.present = inside;
        self.level += 1;
    }
}

/// Whether a method, `package.Class.method(Types)`, is of a class of the boundary.
fn is_outside(method: &str, policy: &Policy) -> bool {
    let named = method.split('(').next().unwrap_or(method);
    let class = named.rsplit_once('.').map_or("", |(class, _)| class).replace('.', "/");
    policy.boundary.iter().any(|of| of.matches(class.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(callee: &str, caller: &str, share: f64) -> SampledCaller {
        let caller = if caller.is_empty() { Err("the thread begins there") } else { Ok(caller.into()) };
        SampledCaller {
            callee: callee.into(),
            caller,
            via: None,
            weight: share * 10.0,
            share,
            margin: 0.01,
            hooked: 0.0,
        }
    }

    fn ascent() -> Ascent {
        let hot = HotSpot {
            method: "a.Hot.hot(int)".to_owned(),
            kind: None,
            share: 0.5,
            margin: None,
            waiting: None,
            samples: 10,
            lines: Vec::new(),
        };
        let levels = vec![
            vec![
                caller("a.Hot.hot(int)", "b.X.x()", 0.6),
                caller("a.Hot.hot(int)", "b.Y.y()", 0.37),
                caller("a.Hot.hot(int)", "b.Z.z()", 0.03),
            ],
            vec![
                caller("b.X.x()", "c.M.m()", 1.0),
                caller("b.Y.y()", "c.M.m()", 1.0),
                caller("b.Z.z()", "d.N.n()", 1.0),
            ],
            vec![caller("c.M.m()", "", 1.0)],
        ];
        Ascent::new(hot, 10.0, levels)
    }

    fn policy() -> Policy {
        Policy { share: 0.05, most: usize::MAX, levels: 8, boundary: Vec::new(), across_threads: false }
    }

    fn names(ascent: &Ascent, policy: &Policy) -> Vec<String> {
        ascent.followed(policy).iter().map(ToString::to_string).collect()
    }

    fn climb(policy: &Policy) -> (Vec<Vec<String>>, String) {
        let (mut ascent, mut levels) = (ascent(), Vec::new());
        while ascent.end().is_none() {
            levels.push(names(&ascent, policy));
            ascent.go_up(ascent.followed(policy), policy);
        }
        (levels, ascent.end().unwrap().to_owned())
    }

    #[test]
    fn callers_are_followed_to_where_threads_begin() {
        let (levels, end) = climb(&policy());
        assert_eq!(levels, [vec!["b.X.x()", "b.Y.y()"], vec!["c.M.m()"], vec![]]);
        assert_eq!(end, "root: the threads begin there");
    }

    #[test]
    fn policies_say_how_many() {
        assert_eq!(climb(&Policy { most: 1, ..policy() }).0[0], ["b.X.x()"]);
        assert_eq!(climb(&Policy { share: 0.5, ..policy() }).0[0], ["b.X.x()"]);
        assert_eq!(climb(&Policy { share: 0.0, ..policy() }).0[0].len(), 3);
        let (levels, end) = climb(&Policy { levels: 1, ..policy() });
        assert_eq!((levels.len(), end.as_str()), (1, "limit of 1 level"));
        let boundary = vec![NameGlob::class("c.**").unwrap()];
        let (levels, end) = climb(&Policy { boundary, ..policy() });
        assert_eq!((levels.len(), end.as_str()), (2, "boundary: c.M.m()"));
    }

    #[test]
    fn shares_are_of_the_hot_method() {
        let mut ascent = ascent();
        assert!((ascent.share_of("a.Hot.hot(int)") - 1.0).abs() < 1e-9);
        ascent.go_up(ascent.followed(&policy()), &policy());
        assert!((ascent.share_of("b.X.x()") - 1.0).abs() < 1e-9, "its weight as a callee");
        assert_eq!(ascent.share_of("b.Q.q()"), 0.0);
    }

    #[test]
    fn callers_that_a_hook_finds_are_followed_as_well() {
        let hooked = |method: &str, part| HookedCaller { method: Ok(method.into()), via: None, part };
        let (mut ascent, policy, hot) = (ascent(), policy(), Arc::from("a.Hot.hot(int)"));
        assert!(!ascent.note_hooked(&hot, &[hooked("b.X.x()", 0.9)], &policy), "it is followed anyway");
        assert!(ascent.note_hooked(&hot, &[hooked("b.Z.z()", 0.3), hooked("b.W.w()", 0.04)], &policy));
        assert_eq!(names(&ascent, &policy), ["b.X.x()", "b.Y.y()", "b.Z.z()"]);
        assert!((ascent.share_of(&hot) - 1.0).abs() < 1e-9, "shares are those of samples");
        assert!(!ascent.note_hooked(&"b.X.x()".into(), &[hooked("b.V.v()", 1.0)], &policy), "it is on another level");

        let mut unsampled = Ascent { levels: Vec::new(), ..ascent };
        assert!(unsampled.note_hooked(&hot, &[hooked("b.V.v()", 1.0)], &policy));
        unsampled.go_up(unsampled.followed(&policy), &policy);
        assert_eq!(unsampled.present(), [Arc::from("b.V.v()")]);
    }

    #[test]
    fn a_task_that_hands_itself_over_ends_the_walk() {
        let (policy, hot) = (policy(), Arc::from("a.Hot.hot(int)"));
        let mut ascent = Ascent { levels: Vec::new(), ..ascent() };
        let again = HookedCaller { method: Ok(Arc::clone(&hot)), via: None, part: 1.0 };
        assert!(!ascent.note_hooked(&hot, &[again], &policy), "it is no caller to follow");
        ascent.go_up(ascent.followed(&policy), &policy);
        assert_eq!(ascent.end(), Some("cycle: a.Hot.hot(int) is already below"));
    }

    #[test]
    fn where_tasks_begin_it_is_said_how_to_go_on() {
        let begins = HookedCaller { method: Err(TASK_BEGINS), via: None, part: 0.9 };
        let other = HookedCaller { method: Err(BEGINS), via: None, part: 0.1 };
        let hot = Arc::from("a.Hot.hot(int)");
        let end = |across_threads| {
            let policy = Policy { across_threads, ..policy() };
            let mut ascent = Ascent { levels: Vec::new(), ..ascent() };
            ascent.note_hooked(&hot, &[begins.clone(), other.clone()], &policy);
            assert!((ascent.begins_with(&hot) - 1.0).abs() < 1e-9);
            ascent.go_up(ascent.followed(&policy), &policy);
            ascent.end().unwrap().to_owned()
        };
        assert!(end(false).starts_with("root: tasks of pools begin there (`--across-threads`"));
        assert!(end(true).starts_with("no data: who hands the tasks over"));
    }

    #[test]
    fn without_samples_it_ends_at_once() {
        let mut ascent = Ascent { levels: Vec::new(), ..ascent() };
        ascent.go_up(ascent.followed(&policy()), &policy());
        assert_eq!(ascent.end(), Some("no data: no sample has a caller"));
    }
}
