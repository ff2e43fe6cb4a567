//! Decoder of what Java code writes into a segment.
//!
//! The stream consists of 16-byte slots of two words in native byte order.
//! ```text
//! call      { start, duration << 24 | probe }          probe != 0, duration below 2^40
//! THREAD    { thread id, virtual << 32 | 1 << 24 }      the following records belong to this thread
//! LONG      { start, 2 << 24 } { duration, probe }
//! DETAIL    { start, bytes << 32 | 3 << 24 } { duration, number << 32 | probe } text   (kind in the first byte of the text)
//! END       { -, 4 << 24 }                              the rest of the segment is unused
//! NAME      { thread id, bytes << 32 | 5 << 24 } text
//! TASK      { time, task << 32 | step << 24 }           step 10 handed over, 11 begins, 12 ends, 13 thread starts
//! ```
//! Texts are UTF-8, padded to whole slots. Times are those of the probes' clock; the sink gets nanoseconds.

use std::sync::atomic::{AtomicU64, Ordering};

use instrument_core::ahead::SILENT_PROBE;
use records::{DURATION_BITS, Detail, PROBE_BITS, RecordSink, RecordThread};
use trace::TaskStep;

use crate::jvm::counter::{self, PresentTime, TickScale};
use crate::jvm::probe_nanos;

/// The stream broke its own rules at this word; what follows in the segment cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Word within the decoded slice.
    pub(crate) at: usize,
}

const KIND_THREAD: u8 = 1;
const KIND_LONG: u8 = 2;
const KIND_DETAIL: u8 = 3;
const KIND_END: u8 = 4;
const KIND_THREAD_NAME: u8 = 5;
const KIND_TASK_HANDED_OVER: u8 = 10;
const KIND_TASK_BEGINS: u8 = 11;
const KIND_TASK_ENDS: u8 = 12;
const KIND_THREAD_STARTS: u8 = 13;

/// Kind of a detail that is no call of its own.
const VALUES_OF_CALL: u8 = b'a';

const PROBE_MASK: u64 = (1 << PROBE_BITS) - 1;
/// The probe of calls that are not recorded; its live form writes no record at all.
const SILENT: u64 = SILENT_PROBE as u64;

/// Most calls that are handed on at once.
const RUN: usize = 1024;

/// What is carried on from one part of a ring to the next.
#[derive(Debug, Default)]
pub(crate) struct StreamState {
    /// The thread to which the records belong.
    pub(crate) thread: RecordThread,
    /// Calls that were dropped because they end in the future: the processor's counter has jumped.
    pub(crate) dropped: u64,
}

/// Feeds the records in `words` to the sink.
pub(crate) fn decode(
    words: &[AtomicU64],
    state: &mut StreamState,
    sink: &mut impl RecordSink,
) -> Result<(), Malformed> {
    let mut rest = words;
    let mut run = [[0; 2]; RUN];
    let scale = counter::scale_in_use();
    let mut present = PresentTime::now();
    loop {
        let calls = copy_calls(rest, &mut run);
        if !calls.is_empty() {
            let count = calls.len();
            match scale {
                Some(scale) => state.dropped += sink_ticks(scale, calls, &mut present, sink),
                None => sink.calls(calls),
            }
            rest = rest.get(count * 2..).unwrap_or_default();
            continue;
        }
        let Some(([first, second], behind)) = split_slot(rest) else { return Ok(()) };
        if second & PROBE_MASK == SILENT {
            rest = behind;
            continue;
        }
        let malformed = Malformed { at: words.len() - rest.len() };
        match escape([first, second], behind, state, &mut present, sink).ok_or(malformed)? {
            Next::Words(words) => rest = words,
            Next::End => return Ok(()),
        }
    }
}

/// Copies the ordinary calls at the head of `words`.
fn copy_calls<'run>(words: &[AtomicU64], run: &'run mut [[u64; 2]; RUN]) -> &'run mut [[u64; 2]] {
    let mut count = 0;
    for (slot, call) in words.chunks_exact(2).zip(run.iter_mut()) {
        let [first, second] = slot else { break };
        let second = second.load(Ordering::Relaxed);
        if matches!(second & PROBE_MASK, 0 | SILENT) {
            break;
        }
        *call = [first.load(Ordering::Relaxed), second];
        count += 1;
    }
    run.get_mut(..count).unwrap_or_default()
}

/// Hands calls on whose times are ticks. Returns how many were dropped because they end in the future.
fn sink_ticks(scale: &TickScale, calls: &mut [[u64; 2]], present: &mut PresentTime, sink: &mut impl RecordSink) -> u64 {
    let (mut given, mut dropped) = (0, 0);
    for index in 0..calls.len() {
        let Some(call) = calls.get_mut(index) else { break };
        let [ticks, word] = *call;
        let (start, duration) = span(scale, ticks, word >> PROBE_BITS);
        *call = [start, duration << PROBE_BITS | word & PROBE_MASK];
        if present.is_before(start.wrapping_add(duration)) {
            sink.calls(calls.get(given..index).unwrap_or_default());
            (given, dropped) = (index + 1, dropped + 1);
            continue;
        }
        // The ticks of a slow counter are longer than nanoseconds.
        if duration >> DURATION_BITS != 0 {
            sink.calls(calls.get(given..index).unwrap_or_default());
            sink.long_call((word & PROBE_MASK) as u32, start, duration);
            given = index + 1;
        }
    }
    sink.calls(calls.get(given..).unwrap_or_default());
    dropped
}

/// Start and duration in nanoseconds. The end is converted, not the duration: so calls nest in nanoseconds as they do in ticks.
fn span(scale: &TickScale, start: u64, duration: u64) -> (u64, u64) {
    let began = scale.nanos(start);
    (began, scale.nanos(start.wrapping_add(duration)).wrapping_sub(began))
}

fn probe_span(start: u64, duration: u64) -> (u64, u64) {
    // Below zero where another clock was chosen between two sessions and a call was running meanwhile.
    let duration = u64::try_from(duration as i64).unwrap_or(0);
    counter::scale_in_use().map_or((start, duration), |scale| span(scale, start, duration))
}

enum Next<'a> {
    Words(&'a [AtomicU64]),
    End,
}

/// A record that is not an ordinary call; `None` if it is none of ours or not complete.
fn escape<'a>(
    [first, second]: [u64; 2],
    behind: &'a [AtomicU64],
    state: &mut StreamState,
    present: &mut PresentTime,
    sink: &mut impl RecordSink,
) -> Option<Next<'a>> {
    let kind = ((second >> 24) & 0xff) as u8;
    let length = (second >> 32) as usize;
    match kind {
        KIND_THREAD => {
            state.thread = RecordThread { id: first, is_virtual: length == 1 };
            sink.thread(state.thread);
            Some(Next::Words(behind))
        }
        KIND_LONG => {
            let ([duration, probe], rest) = split_slot(behind)?;
            let (start, duration) = probe_span(first, duration);
            if probe & PROBE_MASK == SILENT {
                // Recorded by a probe that no rule of this session takes.
            } else if present.is_before(start.wrapping_add(duration)) {
                state.dropped += 1;
            } else {
                sink.long_call((probe & PROBE_MASK) as u32, start, duration);
            }
            Some(Next::Words(rest))
        }
        KIND_DETAIL => {
            let ([duration, low], rest) = split_slot(behind)?;
            let (text, rest) = split_text(rest, length)?;
            let (&kind, text) = text.split_first()?;
            let (probe, number) = ((low & PROBE_MASK) as u32, (low >> 32) as u32);
            let (start, duration) = probe_span(first, duration);
            let detail = Detail { kind, probe, start, duration, number, text };
            if probe == SILENT_PROBE {
                // As above.
            } else if present.is_before(start.wrapping_add(duration)) {
                state.dropped += u64::from(kind != VALUES_OF_CALL);
            } else if kind == VALUES_OF_CALL {
                sink.values_of_call(detail)
            } else {
                sink.detail(detail)
            }
            Some(Next::Words(rest))
        }
        KIND_THREAD_NAME => {
            let (name, rest) = split_text(behind, length)?;
            sink.thread_name(first, &name);
            Some(Next::Words(rest))
        }
        KIND_END => Some(Next::End),
        _ => {
            sink.task(task_step(kind)?, (second >> 32) as u32, probe_nanos(first));
            Some(Next::Words(behind))
        }
    }
}

fn task_step(kind: u8) -> Option<TaskStep> {
    match kind {
        KIND_TASK_HANDED_OVER => Some(TaskStep::HandedOver),
        KIND_TASK_BEGINS => Some(TaskStep::Begins),
        KIND_TASK_ENDS => Some(TaskStep::Ends),
        KIND_THREAD_STARTS => Some(TaskStep::ThreadStarts),
        _ => None,
    }
}

fn split_slot(words: &[AtomicU64]) -> Option<([u64; 2], &[AtomicU64])> {
    let [first, second, rest @ ..] = words else { return None };
    Some(([first.load(Ordering::Relaxed), second.load(Ordering::Relaxed)], rest))
}

fn split_text(words: &[AtomicU64], length: usize) -> Option<(Vec<u8>, &[AtomicU64])> {
    let (text, rest) = words.split_at_checked(length.div_ceil(16) * 2)?;
    let mut bytes: Vec<u8> = text.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
    bytes.truncate(length);
    Some((bytes, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl RecordSink for Log {
        fn thread(&mut self, thread: RecordThread) {
            self.0.push(format!("thread {} {}", thread.id, thread.is_virtual));
        }
        fn thread_name(&mut self, thread: u64, name: &[u8]) {
            self.0.push(format!("name {thread} {}", String::from_utf8_lossy(name)));
        }
        fn calls(&mut self, calls: &[[u64; 2]]) {
            for [start, word] in calls {
                self.0.push(format!("call {} {start} {}", word & PROBE_MASK, word >> 24));
            }
        }
        fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
            self.0.push(format!("long {probe} {start} {duration}"));
        }
        fn detail(&mut self, detail: Detail<'_>) {
            let Detail { kind, probe, start, duration, number, text } = detail;
            self.0.push(format!(
                "{} {probe} {start} {duration} {number} {}",
                kind as char,
                String::from_utf8_lossy(text)
            ));
        }
        fn task(&mut self, step: TaskStep, task: u32, at: u64) {
            self.0.push(format!("{} {task} {at}", step.name()));
        }
    }

    fn run(words: &[u64]) -> (Vec<String>, Result<(), Malformed>, RecordThread) {
        let words: Vec<AtomicU64> = words.iter().map(|word| AtomicU64::new(*word)).collect();
        let (mut log, mut state) = (Log::default(), StreamState::default());
        let result = decode(&words, &mut state, &mut log);
        assert_eq!(state.dropped, 0);
        (log.0, result, state.thread)
    }

    fn text(text: &str) -> Vec<u64> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        bytes.chunks(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap())).collect()
    }

    #[test]
    fn every_kind_of_record_is_read_and_the_end_mark_ends_the_segment() {
        let mut words = vec![77, 1 << 32 | 1 << 24];
        words.extend([1000, 25 << 24 | 9]);
        words.extend([2000, 2 << 24, 1 << 50, 0xff_fffe]);
        // Silent probes, in each form that a call has.
        words.extend([2100, 25 << 24 | 0xff_ffff, 2200, 2 << 24, 1 << 50, 0xff_ffff]);
        words.extend([2300, 9 << 32 | 3 << 24, 44, 200 << 32 | 0xff_ffff]);
        words.extend(text("HGET\0/a/b"));
        words.extend([2500, 2 << 24, (-7_i64) as u64, 8]);
        words.extend([3000, 9 << 32 | 3 << 24, 44, 200 << 32 | 5]);
        words.extend(text("HGET\0/a/b"));
        words.extend([78, 17 << 32 | 5 << 24]);
        words.extend(text("seventeen letters"));
        words.extend([4000, 0xffff_fffe << 32 | 10 << 24, 4001, 12 << 24]);
        words.extend([0, 4 << 24, 5000, 1 << 24 | 9]);
        let (log, result, thread) = run(&words);
        let long = format!("long {} 2000 {}", 0xff_fffe, 1_u64 << 50);
        let expected = [
            "thread 77 true",
            "call 9 1000 25",
            &long,
            "long 8 2500 0",
            "H 5 3000 44 200 GET\0/a/b",
            "name 78 seventeen letters",
            "hand-over 4294967294 4000",
            "end 0 4001",
        ];
        assert_eq!(log, expected);
        assert_eq!((result, thread), (Ok(()), RecordThread { id: 77, is_virtual: true }));
    }

    #[test]
    fn ticks_become_nanoseconds_and_a_long_time_in_slow_ticks_a_long_call() {
        // Four nanoseconds a tick.
        let scale = TickScale::new(1_000, 50_000, 4 << 40);
        let most = (1 << 40) - 1;
        let mut calls = [[1_001, 10 << 24 | 7], [1_002, most << 24 | 8], [1_003, 20 << 24 | 9]];
        let mut log = Log::default();
        assert_eq!(sink_ticks(&scale, &mut calls, &mut PresentTime::by(|| None), &mut log), 0);
        assert_eq!(log.0, ["call 7 50004 40", &format!("long 8 50008 {}", most * 4), "call 9 50012 80"]);
    }

    #[test]
    fn calls_that_end_in_the_future_are_dropped_and_counted() {
        let scale = TickScale::new(0, 0, 1 << 40);
        let mut calls = [[10, 20 << 24 | 1], [12, (1 << 39) << 24 | 2], [15, 85 << 24 | 3], [101, 1 << 24 | 4]];
        let (mut log, mut present) = (Log::default(), PresentTime::by(|| Some(100)));
        assert_eq!(sink_ticks(&scale, &mut calls, &mut present, &mut log), 2);
        assert_eq!(log.0, ["call 1 10 20", "call 3 15 85"]);

        let words = [20, 2 << 24, 1 << 50, 5, 30, 2 << 24, 40, 6].map(AtomicU64::new);
        let mut state = StreamState::default();
        let (mut log, mut rest) = (Log::default(), &words[..]);
        while let Some(([first, second], behind)) = split_slot(rest) {
            match escape([first, second], behind, &mut state, &mut present, &mut log) {
                Some(Next::Words(words)) => rest = words,
                _ => unreachable!("two long calls"),
            }
        }
        assert_eq!((log.0.as_slice(), state.dropped), (["long 6 30 40".to_owned()].as_slice(), 1));
    }

    #[test]
    fn largest_ordinary_duration_and_probe_keep_their_bits() {
        let (log, ..) = run(&[u64::MAX, ((1 << 40) - 1) << 24 | 0xff_fffe]);
        assert_eq!(log, [format!("call {} {} {}", 0xff_fffe, u64::MAX, (1_u64 << 40) - 1)]);
    }

    #[test]
    fn rubbish_and_cut_records_are_reported_where_they_begin() {
        for bad in
            [vec![1, 0], vec![1, 9 << 24], vec![1, 2 << 24], vec![1, 64 << 32 | 5 << 24, 0, 0], vec![1, 3 << 24, 2, 3]]
        {
            let mut words = vec![10, 5 << 24 | 1];
            words.extend(&bad);
            let (log, result, _) = run(&words);
            assert_eq!((log.len(), result), (1, Err(Malformed { at: 2 })), "{bad:?}");
        }
    }
}
