//! Begin and end of the calls of a thread: collected from the last to the first, as a recording is read, and given back
//! from the first to the last. A call takes about as many bytes as in the recording.

use rustc_hash::FxHashMap;

use crate::analysis::{Arrow, FrameId, Slice, SliceVisitor, TaskCalls, TaskLinks};
use crate::reader::Thread;

/// Begin or end of a call, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// With the values that were recorded.
    Begin(u64, Called, Option<Box<str>>),
    End(u64, Called),
}

/// The method of a call, and whether the times of the call are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) frame: FrameId,
    pub(super) exact: bool,
}

impl Called {
    /// Returns a number above 0.
    fn to_number(self) -> u64 {
        1 + self.frame.index() as u64 * 2 + u64::from(!self.exact)
    }

    /// Returns `None` for 0.
    fn of_number(number: u64) -> Option<Called> {
        let bits = number.checked_sub(1)?;
        Some(Called { frame: FrameId(u32::try_from(bits / 2).unwrap_or(u32::MAX)), exact: bits % 2 == 0 })
    }
}

/// The calls of a thread.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// Two integers for each mark, written backward so that they can be read from the end: nanoseconds to the mark
    /// that was added before (which is later), and 0 for an end, the number of [`Called`] for a begin.
    bytes: Vec<u8>,
    /// Time of the mark added last, which is the earliest.
    first: Option<u64>,
    /// Calls whose begin is not added yet, the outermost first.
    open: Vec<(u64, Called, Option<Box<str>>)>,
    /// Values that were recorded, with the length of `bytes` after the begin to which they belong.
    texts: Vec<(usize, Box<str>)>,
    /// Time of the outermost calls, in nanoseconds.
    pub(super) total: u64,
}

impl Timeline {
    /// Adds a call: it lies inside one of those that are open, or before all that were added.
    pub(super) fn add(&mut self, slice: &Slice<'_>) {
        self.begin_beyond(slice.depth);
        if self.open.is_empty() {
            self.total = self.total.saturating_add(slice.duration);
        }
        self.mark(slice.end, 0);
        let called = Called { frame: slice.frame_id, exact: slice.exact };
        self.open.push((slice.start, called, slice.arguments.map(Box::from)));
    }

    /// Adds the begin of the open calls that have `depth` or more around them.
    fn begin_beyond(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some((start, called, text)) = self.open.pop()
        {
            self.mark(start, called.to_number());
            self.texts.extend(text.map(|text| (self.bytes.len(), text)));
        }
    }

    fn mark(&mut self, at: u64, kind: u64) {
        let later = self.first.unwrap_or(at);
        self.first = Some(at.min(later));
        self.push(later.saturating_sub(at));
        self.push(kind);
    }

    /// Returns, after the last event, the marks, from the first to the last.
    pub(super) fn into_marks(mut self) -> Marks {
        self.begin_beyond(0);
        Marks { at: self.first.unwrap_or(0), bytes: self.bytes, texts: self.texts, open: Vec::new() }
    }

    /// Seven bits a byte, the lowest last; all but the first byte say that more follow before them.
    fn push(&mut self, number: u64) {
        let mut groups = [0; 10];
        let mut count = 0;
        let mut rest = number;
        for group in &mut groups {
            *group = (rest & 0x7f) as u8;
            rest >>= 7;
            count += 1;
            if rest == 0 {
                break;
            }
            *group |= 0x80;
        }
        self.bytes.extend(groups.iter().take(count).rev());
    }
}

/// The marks of a thread, from the first to the last; each begin has its end.
#[derive(Debug)]
pub(super) struct Marks {
    bytes: Vec<u8>,
    texts: Vec<(usize, Box<str>)>,
    at: u64,
    open: Vec<Called>,
}

impl Marks {
    fn pop(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes.pop()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Some(number)
    }
}

impl Iterator for Marks {
    type Item = Mark;

    fn next(&mut self) -> Option<Mark> {
        let at = self.at;
        let text = self.texts.pop_if(|(length, _)| *length == self.bytes.len());
        let kind = self.pop()?;
        let until_next = self.pop()?;
        self.at = at.saturating_add(until_next);
        match Called::of_number(kind) {
            None => self.open.pop().map(|called| Mark::End(at, called)),
            Some(called) => {
                self.open.push(called);
                Some(Mark::Begin(at, called, text.map(|(_, text)| text)))
            }
        }
    }
}

/// The calls of all threads, and the tasks that they hand over.
pub(super) struct ThreadTimelines<'l> {
    threads: FxHashMap<u64, (Thread, Timeline)>,
    tasks: TaskCalls<'l>,
}

impl<'l> ThreadTimelines<'l> {
    pub(super) fn new(links: &'l TaskLinks) -> ThreadTimelines<'l> {
        ThreadTimelines { threads: FxHashMap::default(), tasks: TaskCalls::new(links) }
    }

    /// The busiest thread first, and who handed what to whom.
    pub(super) fn finish(self) -> (Vec<(Thread, Timeline)>, Vec<Arrow>) {
        let mut threads: Vec<_> = self.threads.into_values().collect();
        threads.sort_by_key(|(thread, timeline)| (std::cmp::Reverse(timeline.total), thread.id));
        (threads, self.tasks.arrows())
    }
}

impl SliceVisitor for ThreadTimelines<'_> {
    fn thread(&mut self, thread: &Thread) {
        self.threads.entry(thread.id).or_insert_with(|| (thread.clone(), Timeline::default()));
    }

    fn slice(&mut self, slice: &Slice<'_>) {
        self.tasks.see(slice);
        if let Some((_, timeline)) = self.threads.get_mut(&slice.thread) {
            timeline.add(slice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Frame;

    fn timeline(calls: &[(u32, usize, u64, u64)]) -> Timeline {
        let frame = Frame::default();
        let mut timeline = Timeline::default();
        for (id, depth, start, end) in calls.iter().copied() {
            let text = format!("call={id}");
            let arguments = id.is_multiple_of(2).then_some(text.as_str());
            let (frame_id, duration, exact) = (FrameId(id), end - start, !id.is_multiple_of(3));
            let example = Slice::example(&frame);
            timeline.add(&Slice { frame_id, depth, start, end, duration, exact, arguments, ..example });
        }
        timeline
    }

    #[test]
    fn marks_added_from_the_end_are_read_from_the_start() {
        let far = 1 << 63;
        let calls =
            [(0, 0, far, u64::MAX), (70_000, 0, 10, 900), (2, 1, 300, 900), (3, 1, 20, 20), (u32::MAX - 1, 0, 0, 5)];
        let timeline = timeline(&calls);
        assert_eq!(timeline.total, far - 1 + 890 + 5);
        let called = |id: u32| Called { frame: FrameId(id), exact: !id.is_multiple_of(3) };
        let begin =
            |at: u64, id: u32| Mark::Begin(at, called(id), id.is_multiple_of(2).then(|| format!("call={id}").into()));
        let expected = [
            begin(0, u32::MAX - 1),
            Mark::End(5, called(u32::MAX - 1)),
            begin(10, 70_000),
            begin(20, 3),
            Mark::End(20, called(3)),
            begin(300, 2),
            Mark::End(900, called(2)),
            Mark::End(900, called(70_000)),
            begin(far, 0),
            Mark::End(u64::MAX, called(0)),
        ];
        assert_eq!(timeline.into_marks().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn times_that_do_not_fit_are_moved_but_never_out_of_order() {
        let marks = timeline(&[(1, 0, 50, 60), (2, 0, 40, 99), (3, 1, 70, 80)]).into_marks().collect::<Vec<_>>();
        let at = |mark: &Mark| match mark {
            Mark::Begin(at, ..) | Mark::End(at, _) => *at,
        };
        assert!(marks.is_sorted_by_key(at), "{marks:?}");
        assert_eq!(marks.len(), 6);
    }
}
