//! Which span the outermost call of a task stands below: the call that handed the task over, on another thread.
//!
//! That call usually ends later, and its span gets an identity only then, so the task's spans wait for it.

use rustc_hash::FxHashMap;
use trace::analysis::{Context, LinkId, TaskLinks, TaskRecord};

/// Hand-overs that are remembered; then all are forgotten, and spans of tasks under way begin traces of their own.
const MOST_HAND_OVERS: usize = 300_000;

/// Identity of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpanPlace {
    /// The trace.
    pub(crate) trace: [u64; 2],
    /// The span in it.
    pub(crate) span: u64,
}

/// What is known of the span around an outermost call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Above {
    /// There is none.
    Nothing,
    /// It has been given out.
    Span(SpanPlace),
    /// It may still come.
    NotYet(LinkId),
}

/// Hand-overs of tasks, and the spans in which they happened.
#[derive(Debug, Default)]
pub(crate) struct SpanLinks {
    links: TaskLinks,
    count: usize,
    /// By thread, in the order of time.
    hand_overs: FxHashMap<u64, Vec<(u64, LinkId)>>,
    /// `None` for what has been waited for in vain.
    places: FxHashMap<LinkId, Option<SpanPlace>>,
    until: u64,
}

impl SpanLinks {
    /// Adds all steps before `until`, in the order of time.
    pub(crate) fn add(&mut self, steps: &[TaskRecord], until: u64) {
        if self.count > MOST_HAND_OVERS {
            *self = SpanLinks::default();
        }
        self.until = until;
        for step in steps {
            if let Some(link) = self.links.add(step) {
                self.count += 1;
                self.hand_overs.entry(step.thread).or_default().push((step.at, link));
            }
        }
    }

    /// What the outermost call of a thread that ended at `end` stands below.
    pub(crate) fn above(&self, thread: u64, end: u64) -> Above {
        let Context::Task(mut link) = self.links.context(thread, end) else { return Above::Nothing };
        // A task in a task in a task: each was handed over before the one that follows.
        loop {
            if let Some(place) = self.places.get(&link) {
                return place.map_or(Above::Nothing, Above::Span);
            }
            let Some(hand_over) = self.links.hand_over_of(link) else { return Above::Nothing };
            match self.links.context(hand_over.thread, hand_over.at) {
                Context::Task(around) if around != link && !self.runs(hand_over.thread, around) => link = around,
                _ => return Above::NotYet(link),
            }
        }
    }

    /// Whether the thread still runs what was handed over to it, so that a call there may still end.
    fn runs(&self, thread: u64, link: LinkId) -> bool {
        self.until != u64::MAX && self.links.context(thread, self.until) == Context::Task(link)
    }

    /// Says that a span of this thread has been given out. The spans around it come before it.
    pub(crate) fn given(&mut self, thread: u64, (start, end): (u64, u64), place: SpanPlace) {
        let Some(hand_overs) = self.hand_overs.get(&thread) else { return };
        let first = hand_overs.partition_point(|(at, _)| *at < start);
        for (_, link) in hand_overs.iter().skip(first).take_while(|(at, _)| *at <= end) {
            self.places.insert(*link, Some(place));
        }
    }

    /// Nobody waits for the call around this hand-over any more: it is too long, or there is none.
    pub(crate) fn give_up(&mut self, link: LinkId) {
        self.places.insert(link, None);
    }
}

#[cfg(test)]
mod tests {
    use trace::TaskStep::{self, Begins, Ends, HandedOver};

    use super::*;

    fn links(steps: &[(u64, u64, TaskStep, u32)], until: u64) -> SpanLinks {
        let steps: Vec<TaskRecord> =
            steps.iter().map(|&(at, thread, step, task)| TaskRecord { at, thread, step, task }).collect();
        let mut links = SpanLinks::default();
        links.add(&steps, until);
        links
    }

    const INNER: SpanPlace = SpanPlace { trace: [1, 2], span: 4 };

    #[test]
    fn a_task_waits_for_the_innermost_call_that_handed_it_over() {
        let mut links = links(&[(20, 1, HandedOver, 9), (25, 2, Begins, 9), (40, 2, Ends, 0)], 100);
        assert_eq!(links.above(1, 30), Above::Nothing);
        assert!(matches!(links.above(2, 30), Above::NotYet(_)));
        links.given(1, (10, 50), SpanPlace { trace: [1, 2], span: 3 });
        links.given(1, (15, 30), INNER);
        links.given(1, (21, 30), SpanPlace { trace: [1, 2], span: 5 });
        assert_eq!(links.above(2, 30), Above::Span(INNER));
    }

    #[test]
    fn a_task_that_hands_on_without_a_call_of_its_own_stands_aside() {
        let mut steps = vec![(20, 1, HandedOver, 9), (25, 2, Begins, 9), (30, 2, HandedOver, 8), (31, 3, Begins, 8)];
        steps.push((50, 3, Ends, 0));
        let mut running = links(&steps, 100);
        running.given(1, (10, 50), INNER);
        assert!(matches!(running.above(3, 40), Above::NotYet(_)), "a call of thread 2 may still end");
        steps.push((60, 2, Ends, 0));
        let mut ended = links(&steps, 100);
        ended.given(1, (10, 50), INNER);
        assert_eq!(ended.above(3, 40), Above::Span(INNER));
    }
}
