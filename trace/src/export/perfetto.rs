//! Perfetto's own format, which <https://ui.perfetto.dev> and its `trace_processor` open: smaller than Chrome's JSON.
//!
//! Format: <https://perfetto.dev/docs/reference/trace-packet-proto>. A track for each thread; begin and end of a call are
//! two packets. Each track has a packet sequence of its own, so that its number and the names of methods are said once.
//! Events of the same time are read in the order of the file, so they must be written from the first to the last. A task that
//! another thread handed over has a flow: the begin of the call that handed it over and that of its first call name the same.

use std::io::{self, Write};

use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use super::process::Process;
use super::timeline::{Called, Mark, ThreadTimelines, Timeline};
use crate::analysis::{Arrow, CallPlace, Frame, FrameId, TaskLinks};
use crate::reader::Thread;
use crate::{Analysis, AnalysisOptions, TraceReader, arguments};

/// Packets that are encoded at once.
const BATCH: usize = 1_024;
const PROCESS_TRACK: u64 = 1;
/// Tracks of threads have this number and those after it.
const FIRST_THREAD_TRACK: u64 = 2;

/// Numbers of the categories.
const EXACT: u64 = 1;
const ESTIMATED: u64 = 2;
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INCREMENTAL_STATE_CLEARED: u32 = 1;
const NEEDS_INCREMENTAL_STATE: u32 = 2;
const CLOCK_REALTIME: u32 = 1;
const CLOCK_BOOTTIME: u32 = 6;

/// Writes all calls. Needs about as much memory as the recording is long, beyond that of [`Analysis::with_slices`].
///
/// # Errors
/// When `out` cannot be written. What cannot be read is left out with a warning.
pub fn perfetto(reader: &mut TraceReader, options: AnalysisOptions, out: &mut impl Write) -> io::Result<Analysis> {
    let process = Process::of(reader);
    let links = TaskLinks::read(reader);
    let mut threads = ThreadTimelines::new(&links);
    let analysis = Analysis::with_slices(reader, options, &mut threads);
    let (threads, arrows) = threads.finish();
    let mut flows = Flows::of(&arrows);
    let mut packets = Packets { out, batch: Vec::with_capacity(BATCH) };
    let origin = reader.start_epoch_nanos();
    let pid = i32::try_from(process.pid).unwrap_or(0);
    packets.process(&process, pid, origin)?;
    for ((thread, timeline), track) in threads.into_iter().zip(FIRST_THREAD_TRACK..) {
        packets.thread(&thread, track, pid)?;
        let flows = flows.0.remove(&thread.id).unwrap_or_default();
        packets.calls(timeline, (track, origin), &analysis.frames, flows)?;
    }
    packets.flush()?;
    Ok(analysis)
}

/// Flows that begin and end at a call.
#[derive(Debug, Default)]
struct FlowsOfCall {
    begin: Vec<u64>,
    end: Vec<u64>,
}

/// By start and method of the call.
type FlowsOfThread = FxHashMap<(u64, FrameId), FlowsOfCall>;

/// By thread.
#[derive(Debug, Default)]
struct Flows(FxHashMap<u64, FlowsOfThread>);

impl Flows {
    fn of(arrows: &[Arrow]) -> Flows {
        let mut flows = Flows::default();
        for arrow in arrows {
            flows.at(&arrow.from).begin.push(arrow.id);
            flows.at(&arrow.to).end.push(arrow.id);
        }
        flows
    }

    fn at(&mut self, call: &CallPlace) -> &mut FlowsOfCall {
        self.0.entry(call.thread).or_default().entry((call.start, call.frame)).or_default()
    }
}

struct Packets<'w, W> {
    out: &'w mut W,
    batch: Vec<TracePacket>,
}

impl<W: Write> Packets<'_, W> {
    fn push(&mut self, packet: TracePacket) -> io::Result<()> {
        self.batch.push(packet);
        if self.batch.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let part = Trace { packet: std::mem::take(&mut self.batch) };
        self.out.write_all(&part.encode_to_vec())
    }

    /// Which moment the time 0 of the file is, and the track of the process.
    fn process(&mut self, process: &Process, pid: i32, origin: u64) -> io::Result<()> {
        let clock = |clock_id, timestamp| Clock { clock_id: Some(clock_id), timestamp: Some(timestamp) };
        let clocks = vec![clock(CLOCK_BOOTTIME, 0), clock(CLOCK_REALTIME, origin)];
        self.push(TracePacket { clock_snapshot: Some(ClockSnapshot { clocks }), ..TracePacket::default() })?;
        let described = ProcessDescriptor { pid: Some(pid), process_name: Some(process.name.clone()) };
        let descriptor =
            TrackDescriptor { uuid: Some(PROCESS_TRACK), process: Some(described), ..TrackDescriptor::default() };
        self.push(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    fn thread(&mut self, thread: &Thread, track: u64, pid: i32) -> io::Result<()> {
        let name = super::thread_name(thread).into_owned();
        let mut descriptor = TrackDescriptor { uuid: Some(track), ..TrackDescriptor::default() };
        match i32::try_from(thread.id) {
            Ok(tid) if !thread.is_virtual => {
                descriptor.thread = Some(ThreadDescriptor { pid: Some(pid), tid: Some(tid), thread_name: Some(name) });
            }
            // A virtual thread is none of the operating system's: its track only lies below the process.
            _ => (descriptor.name, descriptor.parent_uuid) = (Some(name), Some(PROCESS_TRACK)),
        }
        let defaults =
            TracePacketDefaults { track_event_defaults: Some(TrackEventDefaults { track_uuid: Some(track) }) };
        self.push(TracePacket {
            track_descriptor: Some(descriptor),
            trace_packet_defaults: Some(defaults),
            interned_data: Some(InternedData { event_categories: categories(), ..InternedData::default() }),
            sequence: sequence(track),
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            ..TracePacket::default()
        })
    }

    fn calls(
        &mut self,
        timeline: Timeline,
        (track, origin): (u64, u64),
        frames: &[Frame],
        mut flows: FlowsOfThread,
    ) -> io::Result<()> {
        let mut named = FxHashSet::default();
        for mark in timeline.into_marks() {
            let (at, event, new_name) = match mark {
                Mark::End(at, _) => (at, TrackEvent { r#type: Some(SLICE_END), ..TrackEvent::default() }, None),
                Mark::Begin(at, Called { frame, exact }, values) => {
                    let iid = frame.index() as u64 + 1;
                    let name = || frames.get(frame.index()).map(Frame::marked_name).unwrap_or_default();
                    let new_name = named.insert(iid).then(|| InternedName { iid: Some(iid), name: Some(name()) });
                    let FlowsOfCall { begin, end } = flows.remove(&(at, frame)).unwrap_or_default();
                    let debug_annotations = values.iter().flat_map(|text| arguments::pairs(text)).map(annotation);
                    let event = TrackEvent {
                        category_iids: vec![if exact { EXACT } else { ESTIMATED }],
                        r#type: Some(SLICE_BEGIN),
                        name_iid: Some(iid),
                        flow_ids: begin,
                        terminating_flow_ids: end,
                        debug_annotations: debug_annotations.collect(),
                    };
                    (at, event, new_name)
                }
            };
            self.push(TracePacket {
                timestamp: Some(at.saturating_sub(origin)),
                sequence: sequence(track),
                track_event: Some(event),
                interned_data: new_name.map(|name| InternedData { event_names: vec![name], ..InternedData::default() }),
                sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
                ..TracePacket::default()
            })?;
        }
        Ok(())
    }
}

/// The categories of Chrome's format, too: whether the times of a call are exact, or estimates of level watch.
fn categories() -> Vec<InternedName> {
    let category = |(iid, name): (u64, &str)| InternedName { iid: Some(iid), name: Some(name.to_owned()) };
    [(EXACT, "exact"), (ESTIMATED, "estimated")].map(category).into()
}

/// A value that was recorded with a call; Perfetto shows it among the slice's arguments.
fn annotation((name, value): (&str, String)) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), string_value: Some(value) }
}

fn sequence(track: u64) -> Option<u32> {
    Some(track as u32)
}

// The messages, as far as they are written. Fields are optional, as in the files of Perfetto: 0 is a value.

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(message, optional, tag = "6")]
    clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "59")]
    trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
struct Clock {
    #[prost(uint32, optional, tag = "1")]
    clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "1")]
    event_categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<InternedName>,
}

/// Of a category or of an event.
#[derive(Clone, PartialEq, Message)]
struct InternedName {
    #[prost(uint64, optional, tag = "1")]
    iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacketDefaults {
    #[prost(message, optional, tag = "11")]
    track_event_defaults: Option<TrackEventDefaults>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEventDefaults {
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    tid: Option<i32>,
    #[prost(string, optional, tag = "5")]
    thread_name: Option<String>,
}
