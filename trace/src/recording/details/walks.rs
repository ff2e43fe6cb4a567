//! Walks that have ended: `instr.HotSpot`, `instr.WalkLevel` and `instr.WalkEdge`, then `instr.WalkEnd`; before that `instr.HookGauge`.

use super::{LONGEST_TEXT, Recording};
use crate::recording::payload::{push_cut_text, push_flag, push_fraction, push_number, push_optional_text};
use crate::schema::id;
use crate::varint;
use crate::{HotSpot, Walk, WalkCaller, WalkHooks, WalkLevel, WithoutCaller};

/// Methods whose callers are recorded, and callers of all of them together, at most.
const MOST_LEVELS: usize = 1_024;
const MOST_EDGES: usize = 8_192;

impl Recording {
    /// Records a walk that has ended.
    pub fn walk(&mut self, at_nanos: u64, walk: &Walk) {
        for (number, spot) in walk.hot.iter().enumerate() {
            self.hot_spot(at_nanos, (walk.number, number as u64), spot);
        }
        let mut room = MOST_EDGES;
        for (number, level) in walk.levels.iter().take(MOST_LEVELS).enumerate() {
            let row = (walk.number, number as u64);
            self.walk_level(at_nanos, row, level);
            let callers = level.callers.iter().map(Edge::Caller);
            let edges = callers.chain(level.without_caller.iter().map(Edge::None)).take(room);
            for (number, edge) in edges.enumerate() {
                self.walk_edge(at_nanos, row, (number as u64, &edge));
                room -= 1;
            }
        }
        // Last: its time is that of all of them, and a recording that is cut before it lacks it, not a part of the walk.
        self.event_now(id::WALK_END, at_nanos, |recording, payload| {
            let Walk { number, metric, samples, sampler, bias, end, notices, hot, levels, .. } = walk;
            let WalkHooks { now, most, calls, late, changes, longest_stop_nanos } = walk.hooks;
            varint::push(payload, *number);
            push_cut_text(payload, end.as_deref(), LONGEST_TEXT);
            push_number(payload, Some(*samples));
            recording.push_known_text(payload, metric.as_deref());
            recording.push_text_of_pool(payload, sampler);
            push_cut_text(payload, bias.as_deref(), LONGEST_TEXT);
            for figure in [now, most, calls, late, changes, longest_stop_nanos] {
                push_number(payload, Some(figure));
            }
            let notices = notices.join("\n");
            push_cut_text(payload, Some(notices.as_str()).filter(|notices| !notices.is_empty()), LONGEST_TEXT);
            varint::push(payload, hot.len() as u64);
            varint::push(payload, levels.len() as u64);
        });
    }

    /// Records that a walk has this number of probes from now on, and how many at most up to now.
    pub fn hook_gauge(&mut self, at_nanos: u64, walk: u64, now: u64, most: u64) {
        self.event_now(id::HOOK_GAUGE, at_nanos, |_, payload| {
            for number in [walk, now, most] {
                varint::push(payload, number);
            }
        });
    }

    fn hot_spot(&mut self, at_nanos: u64, (walk, number): (u64, u64), spot: &HotSpot) {
        self.event_now(id::HOT_SPOT, at_nanos, |recording, payload| {
            varint::push(payload, walk);
            varint::push(payload, number);
            recording.push_text_of_pool(payload, &spot.method);
            recording.push_known_text(payload, spot.kind.as_deref());
            push_fraction(payload, Some(spot.share));
            push_fraction(payload, spot.margin);
            push_number(payload, Some(spot.samples));
        });
    }

    fn walk_level(&mut self, at_nanos: u64, (walk, number): (u64, u64), level: &WalkLevel) {
        self.event_now(id::WALK_LEVEL, at_nanos, |recording, payload| {
            varint::push(payload, walk);
            varint::push(payload, number);
            varint::push(payload, level.level as u64);
            for text in [&level.hot, &level.of, &level.source] {
                recording.push_text_of_pool(payload, text);
            }
            push_number(payload, level.calls);
            push_fraction(payload, level.covered);
            push_fraction(payload, Some(level.share));
            push_cut_text(payload, level.reason.as_deref(), LONGEST_TEXT);
            varint::push(payload, (level.callers.len() + level.without_caller.len()) as u64);
        });
    }

    fn walk_edge(&mut self, at_nanos: u64, (walk, row): (u64, u64), (number, edge): (u64, &Edge<'_>)) {
        let none = WalkCaller::default();
        let (caller, method, cpu_share, reason) = match edge {
            Edge::Caller(caller) => (*caller, Some(caller.method.as_str()), caller.cpu_share, None),
            Edge::None(without) => (&none, None, Some(without.share), Some(without.reason.as_str())),
        };
        self.event_now(id::WALK_EDGE, at_nanos, |recording, payload| {
            for number in [walk, row, number] {
                varint::push(payload, number);
            }
            recording.push_known_text(payload, method);
            recording.push_known_text(payload, caller.via.as_deref());
            push_number(payload, caller.calls);
            push_fraction(payload, caller.calls_share);
            push_fraction(payload, caller.calls_margin);
            push_number(payload, caller.time_nanos);
            push_fraction(payload, caller.time_share);
            push_fraction(payload, caller.time_margin);
            push_number(payload, caller.shortest_nanos);
            push_number(payload, caller.longest_nanos);
            push_fraction(payload, cpu_share);
            push_fraction(payload, caller.margin);
            push_flag(payload, caller.followed);
            recording.push_known_text(payload, reason);
        });
    }

    /// Appends a text that occurs in many events, or the mark for an unknown one.
    fn push_known_text(&mut self, payload: &mut Vec<u8>, text: Option<&str>) {
        match text {
            Some(text) => self.push_text_of_pool(payload, text),
            None => push_optional_text(payload, None),
        }
    }
}

/// A part of the calls of a method.
enum Edge<'w> {
    Caller(&'w WalkCaller),
    None(&'w WithoutCaller),
}
