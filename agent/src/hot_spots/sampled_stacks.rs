//! Whole stacks, kept so that the callers of any method are known afterwards, level by level.

use std::sync::Arc;

use instrument_core::rules::patterns::NameGlob;
use rustc_hash::FxHashMap;

use super::attribution::{BEGINS, CUT_OFF, beginning, runs_task};
use super::counted_method::CountedMethod;
use super::margin::margin;
use super::seen::Seen;

/// Frames of all stacks together; stacks that are new then are counted, but not kept.
const MOST_FRAMES: usize = 1 << 20;
/// Levels above a method.
const MOST_LEVELS: usize = 64;

/// Stacks of samples, each once.
#[derive(Debug, Default)]
pub(crate) struct SampledStacks {
    methods: Vec<CountedMethod>,
    numbers: FxHashMap<CountedMethod, u32>,
    /// With whether outer frames are missing.
    stacks: FxHashMap<(Box<[u32]>, bool), Weighed>,
    frames: usize,
    left_out: u64,
}

/// Samples, and what they represent.
#[derive(Debug, Clone, Copy, Default)]
struct Weighed {
    weight: f64,
    squares: f64,
}

/// A method that calls another one on some level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SampledCaller {
    /// The method that is called.
    pub(crate) callee: Arc<str>,
    /// The caller; `Err`: there is none, for this reason.
    pub(crate) caller: Result<Arc<str>, &'static str>,
    /// What is mostly between the two: a method that was passed through.
    pub(crate) via: Option<Arc<str>>,
    /// What its samples represent: intervals.
    pub(crate) weight: f64,
    /// The part of the samples of the callee on this level.
    pub(crate) share: f64,
    /// The share is off by more in one of twenty cases.
    pub(crate) margin: f64,
    /// The part of the callee's calls, or of their time, whichever is larger, that a hook has found; 0 if none has looked.
    pub(crate) hooked: f64,
}

impl SampledCaller {
    /// One that no sample has met.
    pub(crate) fn found_by_hook(
        callee: &Arc<str>,
        caller: Result<Arc<str>, &'static str>,
        via: Option<Arc<str>>,
    ) -> SampledCaller {
        SampledCaller { callee: Arc::clone(callee), caller, via, weight: 0.0, share: 0.0, margin: 0.0, hooked: 0.0 }
    }

    pub(crate) fn is_sampled(&self) -> bool {
        self.weight > 0.0
    }
}

/// Callee and caller on a level, or why there is none.
type Edge = (u32, Result<u32, &'static str>);
type Ways = FxHashMap<Option<u32>, f64>;

impl SampledStacks {
    pub(super) fn add(&mut self, stack: &[&CountedMethod], truncated: bool, seen: Seen) {
        let numbers: Box<[u32]> = stack.iter().map(|method| self.number(method)).collect();
        let (frames, key) = (numbers.len(), (numbers, truncated));
        if self.frames + frames > MOST_FRAMES && !self.stacks.contains_key(&key) {
            self.left_out += seen.samples;
            return;
        }
        let weighed = self.stacks.entry(key).or_insert_with(|| {
            self.frames += frames;
            Weighed::default()
        });
        weighed.weight += seen.weight;
        weighed.squares += seen.weight * seen.weight;
    }

    fn number(&mut self, method: &CountedMethod) -> u32 {
        if let Some(number) = self.numbers.get(method) {
            return *number;
        }
        let number = u32::try_from(self.methods.len()).unwrap_or(u32::MAX);
        self.methods.push(method.clone());
        self.numbers.insert(method.clone(), number);
        number
    }

    /// Samples of which the stack was not kept.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What all samples represent.
    pub(crate) fn weight(&self) -> f64 {
        // Not `sum`, which begins at -0.
        self.stacks.values().fold(0.0, |sum, weighed| sum + weighed.weight)
    }

    /// What the samples of a method represent, with all that it calls.
    pub(crate) fn weight_of(&self, text: &str) -> f64 {
        let has = |numbers: &[u32]| numbers.iter().any(|number| self.text(*number).is_some_and(|of| &**of == text));
        self.stacks.iter().filter(|((numbers, _), _)| has(numbers)).fold(0.0, |sum, (_, weighed)| sum + weighed.weight)
    }

    /// Returns who calls the method, who calls these callers on behalf of the method, and so on; the largest first on each level. A method that calls itself,
    /// directly or by others, counts for the one who began that, so each stack ends.
    pub(crate) fn levels_above(&self, text: &str, through: &[NameGlob]) -> Vec<Vec<SampledCaller>> {
        let mut levels: Vec<FxHashMap<Edge, (Weighed, Ways)>> = Vec::new();
        for ((numbers, truncated), weighed) in &self.stacks {
            for (level, step) in self.chain(text, numbers, *truncated, through).into_iter().enumerate() {
                let (callee, caller, via) = step;
                if levels.len() <= level {
                    levels.push(FxHashMap::default());
                }
                let Some(of_level) = levels.get_mut(level) else { break };
                let (sum, ways) = of_level.entry((callee, caller)).or_default();
                sum.weight += weighed.weight;
                sum.squares += weighed.squares;
                *ways.entry(via).or_default() += weighed.weight;
            }
        }
        levels.into_iter().map(|level| self.callers_of(&level)).collect()
    }

    /// The calls above a method on one stack: callee, caller, what was passed through.
    fn chain(
        &self,
        text: &str,
        numbers: &[u32],
        truncated: bool,
        through: &[NameGlob],
    ) -> Vec<(u32, Result<u32, &'static str>, Option<u32>)> {
        let stack: Vec<&CountedMethod> =
            numbers.iter().filter_map(|number| self.methods.get(*number as usize)).collect();
        let passes = |method: &CountedMethod| passes(method, through);
        let outermost = |meant: &dyn Fn(u32) -> bool| numbers.iter().rposition(|number| meant(*number));
        let is_asked = |number: u32| self.text(number).is_some_and(|of| &**of == text);
        let mut chain = Vec::new();
        let mut at = outermost(&is_asked);
        while let Some((place, callee)) = at.and_then(|place| Some((place, *numbers.get(place)?))) {
            let (mut via, mut caller) = (None, Err(BEGINS));
            for (at, (method, number)) in stack.iter().zip(numbers).enumerate().skip(place + 1) {
                let above = stack.get(at..).unwrap_or_default();
                if let Some(begins) = beginning(stack.get(place).copied(), above, &passes) {
                    caller = Err(begins);
                    break;
                }
                if !passes(method) && !runs_task(stack.get(place).copied(), method) {
                    caller = Ok(*number);
                    break;
                }
                via = via.or(Some(*number));
            }
            let caller = caller.map_err(|begins| if truncated { CUT_OFF } else { begins });
            let unnamed = caller.ok().and_then(|number| self.methods.get(number as usize)?.unnamed);
            chain.push((callee, unnamed.map_or(caller, Err), via));
            if unnamed.is_some() || chain.len() == MOST_LEVELS {
                break;
            }
            at = caller.ok().and_then(|caller| outermost(&|number| number == caller));
        }
        chain
    }

    fn text(&self, number: u32) -> Option<&Arc<str>> {
        self.methods.get(number as usize).map(|method| &method.text)
    }

    fn callers_of(&self, level: &FxHashMap<Edge, (Weighed, Ways)>) -> Vec<SampledCaller> {
        let mut of_callee: FxHashMap<u32, Weighed> = FxHashMap::default();
        for ((callee, _), (weighed, _)) in level {
            let sum = of_callee.entry(*callee).or_default();
            sum.weight += weighed.weight;
            sum.squares += weighed.squares;
        }
        let mut callers: Vec<SampledCaller> = Vec::new();
        for ((callee, caller), (weighed, ways)) in level {
            let (Some(text), Some(all)) = (self.text(*callee), of_callee.get(callee)) else { continue };
            let caller = match caller {
                Ok(number) => self.text(*number).cloned().ok_or(BEGINS),
                Err(reason) => Err(*reason),
            };
            let share = weighed.weight / all.weight;
            // So many samples of equal weight say as much.
            let samples = all.weight * all.weight / all.squares;
            let way = ways.iter().max_by(|(_, one), (_, other)| one.total_cmp(other)).and_then(|(way, _)| *way);
            let via = way.and_then(|number| self.text(number).cloned());
            let (callee, margin, weight) = (Arc::clone(text), margin(share, samples), weighed.weight);
            callers.push(SampledCaller { callee, caller, via, weight, share, margin, hooked: 0.0 });
        }
        callers.sort_by(|one, other| {
            other
                .weight
                .total_cmp(&one.weight)
                .then_with(|| (&one.callee, &one.caller).cmp(&(&other.callee, &other.caller)))
        });
        callers
    }
}

fn passes(method: &CountedMethod, through: &[NameGlob]) -> bool {
    method.is_go_between || through.iter().any(|through| through.matches(&method.class))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(text: &str) -> CountedMethod {
        CountedMethod::of_text(text)
    }

    /// The levels above `a.hot`, as `caller > callee: share`; stacks are written with the innermost method first.
    fn levels(stacks: &[(&str, f64)]) -> Vec<Vec<String>> {
        let mut sampled = SampledStacks::default();
        for (stack, weight) in stacks {
            let methods: Vec<CountedMethod> = stack.split(' ').map(method).collect();
            let seen = Seen { weight: *weight, samples: 1, kind: None, line: 0, waits: false };
            sampled.add(&methods.iter().collect::<Vec<_>>(), false, seen);
        }
        let through = [NameGlob::class("java.**").unwrap()];
        let line = |of: &SampledCaller| {
            let caller = of.caller.as_deref().unwrap_or_else(|reason| *reason);
            let via = of.via.as_ref().map_or_else(String::new, |via| format!(" via {via}"));
            format!("{caller}{via} > {}: {:.2}", of.callee, of.share)
        };
        sampled.levels_above("a.hot", &through).iter().map(|level| level.iter().map(line).collect()).collect()
    }

    #[test]
    fn callers_are_known_level_by_level() {
        let found =
            levels(&[("a.hot b.x c.m", 6.0), ("z.leaf a.hot b.y c.m", 3.0), ("a.hot b.x", 1.0), ("d.else", 9.0)]);
        let begins = "the thread begins there";
        assert_eq!(found[0], ["b.x > a.hot: 0.70", "b.y > a.hot: 0.30"]);
        assert_eq!(
            found[1],
            ["c.m > b.x: 0.86".to_owned(), "c.m > b.y: 1.00".to_owned(), format!("{begins} > b.x: 0.14")]
        );
        assert_eq!((found[2].clone(), found.len()), (vec![format!("{begins} > c.m: 1.00")], 3));
    }

    #[test]
    fn go_betweens_are_passed_through() {
        let found = levels(&[("a.hot a.$$Lambda.run java.util.List.forEach b.x", 1.0)]);
        assert_eq!(found[0], ["b.x via a.$$Lambda.run > a.hot: 1.00"]);
    }

    #[test]
    fn how_threads_and_pools_run_tasks_is_no_caller() {
        let found = levels(&[
            ("a.hot b.x java.util.concurrent.FutureTask.run java.lang.Thread.run", 3.0),
            ("a.hot b.y java.lang.Thread.run", 1.0),
        ]);
        assert_eq!(found[1], ["a task of a pool begins there > b.x: 1.00", "the thread begins there > b.y: 1.00"]);
    }

    #[test]
    fn recursion_of_any_length_ends() {
        let found = levels(&[("a.hot b.x a.hot b.x b.y b.x c.m", 1.0)]);
        let flat: Vec<String> = found.concat();
        assert_eq!(flat, ["b.x > a.hot: 1.00", "c.m > b.x: 1.00", "the thread begins there > c.m: 1.00"]);
    }

    #[test]
    fn a_caller_without_a_name_ends_a_stack() {
        assert_eq!(levels(&[("a.hot gone.x b.y", 1.0)]).concat(), ["gone > a.hot: 1.00"]);
    }
}
