//! Which thread ran a task that which other thread had handed over: joined from the steps in a recording.
//!
//! A task is known by its identity hash alone. If several threads have handed over what looks like the same task and it has
//! not begun, nobody can tell whose begins now: such a run belongs to nobody, and is counted.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::TaskStep;
use crate::reader::{Event, TraceReader};

/// Steps beyond this number are left out: 24 bytes each.
const MOST_STEPS: usize = 4_000_000;

/// Number of a hand-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkId(u32);

impl LinkId {
    /// Position among the hand-overs, in the order in which they were added.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// On whose behalf a thread is working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Its own.
    Own,
    /// That of the call that handed this task over.
    Task(LinkId),
    /// That of one of several calls.
    Unknown,
}

/// A task, or a thread, was given away.
#[derive(Debug, Clone, Copy)]
pub struct HandOver {
    /// Who gave it away.
    pub thread: u64,
    /// When.
    pub at: u64,
    /// Whether what was given away has begun.
    taken: bool,
}

/// Hand-overs, and whose tasks threads are running.
#[derive(Debug, Default)]
pub struct TaskLinks {
    pub(super) hand_overs: Vec<HandOver>,
    threads: FxHashMap<u64, ThreadContexts>,
    waiting: FxHashMap<u32, Waiting>,
    /// Runs of tasks that may be one of several.
    pub(super) ambiguous: u64,
    /// Steps for which there was no room.
    pub(super) left_out: u64,
}

#[derive(Debug, Default)]
struct ThreadContexts {
    /// Who started the thread.
    base: Option<LinkId>,
    /// A worker of a pool, which works for everybody.
    is_worker: bool,
    /// What the thread is running, the outermost first.
    running: Vec<Context>,
    /// From when on the thread works on whose behalf.
    switches: Vec<(u64, Option<Context>)>,
}

/// What has been handed over as the same task and has not begun.
#[derive(Debug, Default)]
struct Waiting {
    links: VecDeque<LinkId>,
    /// One of several has begun, nobody knows which.
    is_mixed_up: bool,
}

/// A step of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskRecord {
    /// When, on any clock.
    pub at: u64,
    /// The thread that took the step.
    pub thread: u64,
    /// What happened.
    pub step: TaskStep,
    /// The task, or the thread that starts.
    pub task: u32,
}

impl TaskLinks {
    /// Reads all steps of a recording; what cannot be read has none.
    pub(crate) fn read(reader: &TraceReader) -> TaskLinks {
        let mut steps = Vec::new();
        let mut left_out = 0;
        for index in 0..reader.chunk_count() {
            let Ok(chunk) = reader.chunk(index) else { continue };
            for event in chunk.events().map_while(Result::ok) {
                let Event::Task { thread, at, step: Some(step), task } = event else { continue };
                let Some(thread) = chunk.thread(thread) else { continue };
                if steps.len() >= MOST_STEPS {
                    left_out += 1;
                    continue;
                }
                steps.push(TaskRecord { at, thread: thread.id, step, task: u32::try_from(task).unwrap_or(0) });
            }
        }
        TaskLinks { left_out, ..TaskLinks::join(steps) }
    }

    fn join(mut steps: Vec<TaskRecord>) -> TaskLinks {
        // Stable: of equal times the order of the file counts.
        steps.sort_by_key(|step| step.at);
        let mut links = TaskLinks::default();
        for step in &steps {
            links.add(step);
        }
        links
    }

    /// Adds a step; steps come in the order of time. Tells the number of what was given away.
    pub fn add(&mut self, step: &TaskRecord) -> Option<LinkId> {
        match step.step {
            TaskStep::HandedOver => {
                let link = self.hand_over(step);
                self.waiting.entry(step.task).or_default().links.push_back(link);
                return Some(link);
            }
            TaskStep::ThreadStarts => return self.thread_starts(step),
            TaskStep::Begins => {
                let context = self.taken(step.task);
                self.threads.entry(step.thread).or_default().begin(step.at, context);
            }
            TaskStep::Ends => self.threads.entry(step.thread).or_default().end(step.at),
        }
        None
    }

    fn hand_over(&mut self, step: &TaskRecord) -> LinkId {
        let link = LinkId(self.hand_overs.len() as u32);
        self.hand_overs.push(HandOver { thread: step.thread, at: step.at, taken: false });
        link
    }

    fn thread_starts(&mut self, step: &TaskRecord) -> Option<LinkId> {
        let started = u64::from(step.task);
        if started == step.thread {
            self.threads.entry(started).or_default().is_worker = true;
            return None;
        }
        let link = self.hand_over(step);
        // A thread may be recorded twice, when it is made and when it is started.
        self.threads.entry(started).or_default().base.get_or_insert(link);
        Some(link)
    }

    /// Whose task begins; `None` if nobody has handed it over, and the thread just goes on with what it does.
    fn taken(&mut self, task: u32) -> Option<Context> {
        let same = self.waiting.get_mut(&task)?;
        let giver = |link: &LinkId| self.hand_overs.get(link.index()).map(|hand_over| hand_over.thread);
        let first = same.links.front().and_then(giver);
        same.is_mixed_up |= same.links.iter().any(|link| giver(link) != first);
        let (link, is_mixed_up) = (same.links.pop_front(), same.is_mixed_up);
        if same.links.is_empty() {
            self.waiting.remove(&task);
        }
        if is_mixed_up {
            self.ambiguous += 1;
            return Some(Context::Unknown);
        }
        if let Some(hand_over) = link.and_then(|link| self.hand_overs.get_mut(link.index())) {
            hand_over.taken = true;
        }
        link.map(Context::Task)
    }

    /// On whose behalf a thread was working just before `at`.
    #[must_use]
    pub fn context(&self, thread: u64, at: u64) -> Context {
        let Some(contexts) = self.threads.get(&thread) else { return Context::Own };
        let base = contexts.base.filter(|_| !contexts.is_worker).map_or(Context::Own, Context::Task);
        let later = contexts.switches.partition_point(|(from, _)| *from < at);
        let last = later.checked_sub(1).and_then(|last| contexts.switches.get(last));
        last.and_then(|(_, context)| *context).unwrap_or(base)
    }

    /// Whether nothing was handed over.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hand_overs.is_empty()
    }

    /// The hand-over of a number.
    #[must_use]
    pub fn hand_over_of(&self, link: LinkId) -> Option<&HandOver> {
        self.hand_overs.get(link.index())
    }

    /// Tasks that have begun, and threads that somebody has started.
    pub(super) fn joined(&self) -> u64 {
        let tasks = self.hand_overs.iter().filter(|hand_over| hand_over.taken).count();
        let threads = self.threads.values().filter(|contexts| contexts.base.is_some() && !contexts.is_worker).count();
        (tasks + threads) as u64
    }

    /// The hand-overs of each thread by their time.
    pub(super) fn by_thread(&self) -> FxHashMap<u64, Vec<(u64, LinkId)>> {
        let mut by_thread: FxHashMap<u64, Vec<(u64, LinkId)>> = FxHashMap::default();
        for (hand_over, number) in self.hand_overs.iter().zip(0..) {
            by_thread.entry(hand_over.thread).or_default().push((hand_over.at, LinkId(number)));
        }
        by_thread
    }
}

impl ThreadContexts {
    fn begin(&mut self, at: u64, context: Option<Context>) {
        let around = self.running.last().copied();
        let Some(context) = context.or(around) else {
            // Goes on as before, but its end must find its begin.
            self.running.push(Context::Own);
            return;
        };
        self.running.push(context);
        self.switch(at, Some(context));
    }

    fn end(&mut self, at: u64) {
        if self.running.pop().is_some() {
            let around = self.running.last().copied().filter(|context| *context != Context::Own);
            self.switch(at, around);
        }
    }

    fn switch(&mut self, at: u64, context: Option<Context>) {
        if self.switches.last().map(|(_, last)| *last) != Some(context) {
            self.switches.push((at, context));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskStep::{Begins, Ends, HandedOver, ThreadStarts};

    fn links(steps: &[(u64, u64, TaskStep, u32)]) -> TaskLinks {
        TaskLinks::join(
            steps
                .iter()
                .map(|(at, thread, step, task)| TaskRecord { at: *at, thread: *thread, step: *step, task: *task })
                .collect(),
        )
    }

    #[test]
    fn a_run_belongs_to_who_handed_the_task_over_and_what_comes_behind_to_nobody() {
        let links = links(&[
            (10, 1, HandedOver, 77),
            (20, 2, Ends, 0),
            (20, 2, Begins, 77),
            (30, 2, Ends, 0),
            (40, 2, Begins, 5),
        ]);
        let task = Context::Task(LinkId(0));
        assert_eq!(
            [15, 21, 30, 31, 50].map(|at| links.context(2, at)),
            [Context::Own, task, task, Context::Own, Context::Own]
        );
        assert_eq!((links.context(1, 25), links.joined()), (Context::Own, 1));
    }

    #[test]
    fn a_task_run_inside_another_ends_and_the_other_goes_on() {
        let links = links(&[
            (10, 1, HandedOver, 7),
            (11, 2, Begins, 7),
            (12, 2, HandedOver, 8),
            (13, 2, Begins, 8),
            (14, 2, Begins, 99),
            (15, 2, Ends, 0),
            (16, 2, Ends, 0),
            (18, 2, Ends, 0),
        ]);
        let contexts = [12, 14, 15, 16, 17, 19].map(|at| links.context(2, at));
        let (outer, inner) = (Context::Task(LinkId(0)), Context::Task(LinkId(1)));
        assert_eq!(contexts, [outer, inner, inner, inner, outer, Context::Own]);
    }

    #[test]
    fn what_may_be_the_task_of_two_threads_is_nobodys() {
        let mut steps = vec![(10, 1, HandedOver, 7), (11, 2, HandedOver, 7), (12, 3, Begins, 7), (13, 3, Ends, 0)];
        steps.extend([(14, 3, Begins, 7), (15, 3, Ends, 0)]);
        let links = links(&steps);
        assert_eq!((links.context(3, 13), links.context(3, 15)), (Context::Unknown, Context::Unknown));
        assert_eq!((links.ambiguous, links.joined()), (2, 0));
    }

    #[test]
    fn a_thread_belongs_to_who_started_it_unless_it_works_for_everybody() {
        let links = links(&[(10, 1, ThreadStarts, 5), (10, 1, ThreadStarts, 6), (12, 6, ThreadStarts, 6)]);
        assert_eq!(links.context(5, 100), Context::Task(LinkId(0)));
        assert_eq!((links.context(6, 100), links.joined()), (Context::Own, 1));
    }
}
