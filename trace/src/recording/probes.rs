//! Probe ids and what a call record of each ends with: the table that the encoding of calls runs on.

use super::constants::{Constants, MethodParts};
use crate::varint::{PACKED_LIMIT, Packed, pack};

/// Probe ids have 24 bits.
pub(super) const PROBE_MASK: u64 = 0x00ff_ffff;

/// The ready-made end of a call event (method, exact, template), valid while `chunk` is the chunk under construction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CallTail {
    pub(super) bytes: u64,
    pub(super) length: u32,
    pub(super) chunk: u32,
}

#[derive(Debug, Clone, Copy)]
struct Probe {
    method: MethodParts,
    template: u32,
    is_exact: bool,
}

/// All probes of the recording.
#[derive(Debug)]
pub(super) struct Probes {
    tails: Vec<CallTail>,
    probes: Vec<Option<Probe>>,
    unknown: Probe,
}

impl Probes {
    pub(super) fn new(constants: &mut Constants) -> Probes {
        let unknown = Probe {
            method: constants.parts(b"instr/UnknownProbe", b"unknown", b"()V", 0),
            template: constants.template_key(""),
            is_exact: true,
        };
        Probes { tails: Vec::new(), probes: Vec::new(), unknown }
    }

    /// Sets the method of a probe id from now on; an id beyond 24 bits can never occur and is ignored.
    pub(super) fn define(&mut self, probe: u32, method: MethodParts, template: u32, is_exact: bool) {
        let index = probe as usize;
        if u64::from(probe) > PROBE_MASK {
            return;
        }
        if index >= self.probes.len() {
            self.probes.resize(index + 1, None);
            self.tails.resize(index + 1, CallTail::default());
        }
        if let (Some(slot), Some(tail)) = (self.probes.get_mut(index), self.tails.get_mut(index)) {
            *slot = Some(Probe { method, template, is_exact });
            *tail = CallTail::default();
        }
    }

    /// The ready-made ends by probe id.
    pub(super) fn tails(&self) -> &[CallTail] {
        &self.tails
    }

    pub(super) fn is_known(&self, probe: u32) -> bool {
        self.probe(probe).is_some()
    }

    fn probe(&self, probe: u32) -> Option<Probe> {
        self.probes.get(probe as usize).copied().flatten()
    }

    /// The methods of all probes.
    pub(super) fn methods(&self) -> impl Iterator<Item = MethodParts> {
        self.probes.iter().flatten().chain([&self.unknown]).map(|probe| probe.method)
    }

    /// Whether the probe's times are exact.
    pub(super) fn is_exact(&self, probe: u32) -> bool {
        self.probe(probe).unwrap_or(self.unknown).is_exact
    }

    /// Uses a probe in the chunk under construction: its constants are in the pools and its tail is ready afterwards.
    /// An unknown id gets the tail of a stand-in method.
    pub(super) fn use_probe(&mut self, probe: u32, constants: &mut Constants) -> CallTail {
        if let Some(tail) = self.tails.get(probe as usize).filter(|tail| tail.chunk == constants.chunk()) {
            return *tail;
        }
        let definition = self.probe(probe).unwrap_or(self.unknown);
        let method = constants.method_key(definition.method);
        constants.use_method(method);
        constants.use_template(definition.template);
        let mut tail = definition.tail(method);
        tail.chunk = constants.chunk();
        if self.is_known(probe)
            && let Some(slot) = self.tails.get_mut(probe as usize)
        {
            *slot = tail;
        }
        tail
    }

    /// The keys of the probe's method and template, which are in the pools of this chunk afterwards.
    pub(super) fn use_names(&self, probe: u32, constants: &mut Constants) -> (u32, u32) {
        let probe = self.probe(probe).unwrap_or(self.unknown);
        let method = constants.method_key(probe.method);
        constants.use_method(method);
        constants.use_template(probe.template);
        (method, probe.template)
    }

    /// The key of the probe's method, which is in the pools of this chunk afterwards.
    pub(super) fn use_method(&self, probe: u32, constants: &mut Constants) -> u32 {
        let key = constants.method_key(self.probe(probe).unwrap_or(self.unknown).method);
        constants.use_method(key);
        key
    }
}

impl Probe {
    fn tail(&self, method_key: u32) -> CallTail {
        // Four bytes for the method (there are fewer probes than 2^28), one for the flag, three for the template.
        let method = pack(u64::from(method_key));
        let template = pack(if self.template < 1 << 21 { u64::from(self.template) } else { 0 });
        let flag_shift = 8 * method.length as u32;
        let bytes = method.bytes
            | u64::from(self.is_exact).wrapping_shl(flag_shift)
            | template.bytes.wrapping_shl(flag_shift + 8);
        CallTail { bytes, length: (method.length + 1 + template.length) as u32, chunk: 0 }
    }
}

/// The fixed parts of the calls of one thread in one chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallFrame {
    pub(super) thread: Packed,
    pub(super) start_ticks: u64,
    pub(super) chunk: u32,
}

/// No call event is longer.
pub(super) const CALL_WINDOW: usize = 40;

/// Type id 5000 as a variable-length integer, after the byte of the size.
const TYPE_BYTES: u32 = 0x2788 << 8;

/// What [`encode_calls`] has done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Encoded {
    pub(super) records: usize,
    pub(super) bytes: usize,
    /// The latest end of these calls, in ticks.
    pub(super) end: u64,
}

/// Encodes records of {absolute start, duration << 24 | probe} until one needs the slow way: its probe is not in use in
/// this chunk, it began before the recording, or `out` is full.
#[inline]
pub(super) fn encode_calls(tails: &[CallTail], frame: CallFrame, records: &[[u64; 2]], out: &mut [u8]) -> Encoded {
    let mut encoded = Encoded::default();
    for &[start, word] in records {
        let Some(tail) = tails.get((word & PROBE_MASK) as usize) else { break };
        let ticks = start.wrapping_sub(frame.start_ticks);
        if tail.chunk != frame.chunk || ticks >= PACKED_LIMIT {
            break;
        }
        let Some(window) = out.get_mut(encoded.bytes..).and_then(|rest| rest.first_chunk_mut()) else { break };
        let duration = word >> 24;
        encoded.bytes += encode_call(window, pack(ticks), pack(duration), frame.thread, tail);
        encoded.records += 1;
        encoded.end = encoded.end.max(ticks + duration);
    }
    encoded
}

/// Writes one call event and returns its length (at most 33, so the size is one byte).
#[inline(always)]
pub(super) fn encode_call(
    window: &mut [u8; CALL_WINDOW],
    start: Packed,
    duration: Packed,
    thread: Packed,
    tail: &CallTail,
) -> usize {
    let duration_at = 3 + start.length;
    let thread_at = duration_at + duration.length;
    let tail_at = thread_at + thread.length;
    let length = tail_at + tail.length as usize;
    put(window, 0, u64::from(TYPE_BYTES | length as u32));
    put(window, 3, start.bytes);
    put(window, duration_at, duration.bytes);
    put(window, thread_at, thread.bytes);
    put(window, tail_at, tail.bytes);
    length
}

/// Stores eight bytes; the mask proves to the compiler that they always fit.
#[inline(always)]
fn put(window: &mut [u8; CALL_WINDOW], at: usize, bytes: u64) {
    if let Some(slot) = window.get_mut(at & 31..).and_then(|rest| rest.first_chunk_mut()) {
        *slot = bytes.to_le_bytes();
    }
}
