//! Hand-overs of tasks as arrows between calls: from the call that handed a task over to the first call of the task.
//!
//! Filled while the calls of a recording are read; memory grows with hand-overs, not with calls.

use rustc_hash::FxHashMap;

use super::task_links::{Context, LinkId, TaskLinks};
use super::transactions::{Around, Open, Walk};
use super::{FrameId, Slice};

/// A call of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPlace {
    pub(crate) thread: u64,
    /// How many calls of the thread have been read, this one included; the last one is read first.
    pub(crate) number: u64,
    pub(crate) frame: FrameId,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// From a call to the first call of a task that it has handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrow {
    /// A number of its own, above 0.
    pub(crate) id: u64,
    /// When the task was handed over, within the first call; in nanoseconds since 1970, as all times.
    pub(crate) at: u64,
    pub(crate) from: CallPlace,
    pub(crate) to: CallPlace,
}

/// The innermost call around a hand-over.
#[derive(Debug, Clone, Copy)]
struct Giver {
    call: CallPlace,
    /// The outermost call on the same behalf, by thread and number: on this thread, and at last where the transaction began.
    top: (u64, u64),
    /// The transaction began on this thread.
    is_rooted: bool,
}

/// The place of a call that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing is above it.
    Outermost,
    /// The call around it on the same thread.
    Inside,
    /// The call that handed over what the thread is doing, on whatever thread.
    Below(LinkId),
}

/// The calls at both ends of each hand-over.
pub(crate) struct TaskCalls<'l> {
    links: &'l TaskLinks,
    walk: Walk<'l>,
    waiting: FxHashMap<u64, Vec<(u64, LinkId)>>,
    givers: Vec<Option<Giver>>,
    takers: Vec<Option<CallPlace>>,
    numbers: FxHashMap<u64, u64>,
}

/// The calls that handed tasks over, by the number of the hand-over.
#[derive(Debug)]
pub(crate) struct Givers(Vec<Option<Giver>>);

impl<'l> TaskCalls<'l> {
    pub(crate) fn new(links: &'l TaskLinks) -> TaskCalls<'l> {
        let count = links.hand_overs.len();
        TaskCalls {
            links,
            walk: Walk::new(links, &|_| false),
            waiting: links.by_thread(),
            givers: vec![None; count],
            takers: vec![None; count],
            numbers: FxHashMap::default(),
        }
    }

    /// A call, as a [`SliceVisitor`](super::SliceVisitor) sees it, in the same order.
    pub(crate) fn see(&mut self, slice: &Slice<'_>) -> Standing {
        // Most recordings have no tasks.
        if self.givers.is_empty() {
            return if slice.depth == 0 { Standing::Outermost } else { Standing::Inside };
        }
        let number = self.numbers.entry(slice.thread).or_default();
        *number += 1;
        let Slice { thread, frame_id: frame, start, end, .. } = *slice;
        let call = CallPlace { thread, number: *number, frame, start, end };
        let own_place = usize::try_from(call.number).unwrap_or(usize::MAX);
        let (around, context) = self.walk.around(slice);
        let (place, is_rooted, standing) = match around {
            Around::Call(open) => (open.place, open.is_rooted, Standing::Inside),
            Around::Nothing | Around::Begins(_) => (own_place, true, Standing::Outermost),
            Around::Giver(link) => {
                // What is seen last is the first call of the task.
                if let Some(taker) = self.takers.get_mut(link.index()) {
                    *taker = Some(call);
                }
                (own_place, false, Standing::Below(link))
            }
        };
        self.walk.enter(thread, Open { context, place, is_rooted });
        self.note_hand_overs(Giver { call, top: (thread, place as u64), is_rooted }, context);
        standing
    }

    /// The hand-overs within a call, on the same behalf. Callers come first: what is noted last is the innermost call.
    fn note_hand_overs(&mut self, giver: Giver, context: Context) {
        let Some(hand_overs) = self.waiting.get(&giver.call.thread) else { return };
        let first = hand_overs.partition_point(|(at, _)| *at < giver.call.start);
        let inside = hand_overs.iter().skip(first).take_while(|(at, _)| *at <= giver.call.end);
        for (_, link) in inside.filter(|(at, _)| self.links.context(giver.call.thread, *at) == context) {
            if let Some(place) = self.givers.get_mut(link.index()) {
                *place = Some(giver);
            }
        }
    }

    /// All calls have come by: the arrows, in the order of the hand-overs.
    pub(crate) fn arrows(self) -> Vec<Arrow> {
        let takers = self.takers.clone();
        let links = self.links;
        let givers = self.givers();
        let arrow = |((to, giver), (hand_over, id)): ((Option<CallPlace>, &Option<Giver>), (_, u64))| {
            let (from, hand_over): (_, &super::HandOver) = (giver.as_ref()?.call, hand_over);
            // The end of a call is later.
            let at = hand_over.at.clamp(from.start, from.end.saturating_sub(1).max(from.start));
            Some(Arrow { id, at, from, to: to? })
        };
        takers.into_iter().zip(&givers.0).zip(links.hand_overs.iter().zip(1..)).filter_map(arrow).collect()
    }

    /// All calls have been read: who handed over what. Where no call encloses a hand-over, it is the call that handed over
    /// what the thread was doing.
    pub(crate) fn givers(self) -> Givers {
        let mut givers: Vec<Option<Giver>> = Vec::with_capacity(self.givers.len());
        for (hand_over, giver) in self.links.hand_overs.iter().zip(self.givers) {
            // Handed over earlier, so its number is smaller and it is known already.
            let above = match self.links.context(hand_over.thread, hand_over.at) {
                Context::Task(link) => givers.get(link.index()).copied().flatten(),
                Context::Own | Context::Unknown => None,
            };
            givers.push(match (giver, above) {
                (Some(giver), Some(above)) if !giver.is_rooted => Some(Giver { top: above.top, ..giver }),
                (Some(giver), _) => Some(giver),
                (None, above) => above,
            });
        }
        Givers(givers)
    }
}

impl Givers {
    /// The call that handed this over, and the outermost call of its transaction: thread and number of each.
    pub(crate) fn of(&self, link: LinkId) -> Option<((u64, u64), (u64, u64))> {
        let giver = self.0.get(link.index())?.as_ref()?;
        Some(((giver.call.thread, giver.call.number), giver.top))
    }
}
