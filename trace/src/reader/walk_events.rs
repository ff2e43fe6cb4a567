//! The events of a walk.

use std::borrow::Cow;

use super::Event;
use super::diagnosis_events::{Numbers, Texts, counted, fraction, number, text};
use super::plan::Wanted;
use crate::{HotSpot, Walk, WalkCaller, WalkHooks, WalkLevel, WithoutCaller};

/// A part of a walk. Rows and callers are numbered in the order of the walk.
#[derive(Debug, Clone, PartialEq)]
pub enum WalkPart {
    /// `instr.HotSpot`: its number, and what it is.
    HotSpot(u64, HotSpot),
    /// `instr.WalkLevel`
    Level {
        /// Its row.
        row: u64,
        /// The level without its callers.
        level: WalkLevel,
        /// How many callers it has, and parts without one.
        edges: u64,
    },
    /// `instr.WalkEdge`: its row, its number within the row, and the caller.
    Caller(u64, u64, WalkCaller),
    /// `instr.WalkEdge` without a caller: its row, its number within the row, and what it is.
    WithoutCaller(u64, u64, WithoutCaller),
    /// `instr.HookGauge`: the number of probes from now on.
    Probes(u64),
    /// `instr.WalkEnd`
    End {
        /// The walk without hot methods and levels.
        walk: Walk,
        /// How many hot methods it has.
        hot_spots: u64,
        /// How many rows it has.
        levels: u64,
    },
}

/// Which of them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    HotSpot,
    Level,
    Edge,
    Gauge,
    End,
}

pub(super) const HOT_SPOT: Wanted =
    Wanted { numbers: &["startTime", "walk", "number", "share", "margin", "samples"], texts: &["method", "kind"] };

pub(super) const LEVEL: Wanted = Wanted {
    numbers: &["startTime", "walk", "number", "level", "calls", "covered", "share", "edges"],
    texts: &["hot", "of", "source", "reason"],
};

pub(super) const EDGE: Wanted = Wanted {
    numbers: &[
        "startTime",
        "walk",
        "row",
        "number",
        "calls",
        "callsShare",
        "callsMargin",
        "time",
        "timeShare",
        "timeMargin",
        "shortest",
        "longest",
        "cpuShare",
        "margin",
        "followed",
    ],
    texts: &["caller", "via", "reason"],
};

pub(super) const GAUGE: Wanted = Wanted { numbers: &["startTime", "walk", "now"], texts: &[] };

pub(super) const END: Wanted = Wanted {
    numbers: &[
        "startTime",
        "walk",
        "samples",
        "now",
        "most",
        "calls",
        "late",
        "changes",
        "longestStop",
        "hotSpots",
        "levels",
    ],
    texts: &["reason", "sampler", "bias", "notices", "metric"],
};

/// Returns an event from its fields, in the order in which they are listed above.
pub(super) fn part<'c>(kind: Kind, at: u64, numbers: &Numbers, texts: &Texts<'_>) -> Event<'c> {
    let part = match kind {
        Kind::HotSpot => hot_spot(numbers, texts),
        Kind::Level => level(numbers, texts),
        Kind::Edge => edge(numbers, texts),
        Kind::Gauge => WalkPart::Probes(counted(numbers[2])),
        Kind::End => end(numbers, texts),
    };
    Event::Walk { at, walk: numbers[1], part: Box::new(part) }
}

fn hot_spot(numbers: &Numbers, texts: &Texts<'_>) -> WalkPart {
    let [_, _, own, share, margin, samples, ..] = *numbers;
    let [method, kind, ..] = texts;
    let spot = HotSpot {
        method: method.to_string(),
        kind: text(kind),
        share: fraction(share).unwrap_or(0.0),
        margin: fraction(margin),
        samples: counted(samples),
    };
    WalkPart::HotSpot(own, spot)
}

fn level(numbers: &Numbers, texts: &Texts<'_>) -> WalkPart {
    let [_, _, row, level, calls, covered, share, edges, ..] = *numbers;
    let [hot, of, source, reason, ..] = texts;
    let level = WalkLevel {
        level: usize::try_from(level).unwrap_or(0),
        hot: hot.to_string(),
        of: of.to_string(),
        source: source.to_string(),
        calls: number(calls),
        covered: fraction(covered),
        share: fraction(share).unwrap_or(0.0),
        reason: text(reason),
        ..WalkLevel::default()
    };
    WalkPart::Level { row, level, edges }
}

fn edge(numbers: &Numbers, texts: &Texts<'_>) -> WalkPart {
    let [
        _,
        _,
        row,
        own,
        calls,
        calls_share,
        calls_margin,
        time,
        time_share,
        time_margin,
        shortest,
        longest,
        cpu_share,
        margin,
        followed,
        ..,
    ] = *numbers;
    let [caller, via, reason, ..] = texts;
    if caller.is_empty() {
        let without = WithoutCaller { reason: reason.to_string(), share: fraction(cpu_share).unwrap_or(0.0) };
        return WalkPart::WithoutCaller(row, own, without);
    }
    let caller = WalkCaller {
        method: caller.to_string(),
        via: text(via),
        calls: number(calls),
        calls_share: fraction(calls_share),
        calls_margin: fraction(calls_margin),
        time_nanos: number(time),
        time_share: fraction(time_share),
        // Recordings of earlier versions have none of these: 0 for all of them.
        time_margin: fraction(time_margin).filter(|margin| *margin > 0.0),
        shortest_nanos: number(shortest).filter(|_| longest > 0),
        longest_nanos: number(longest).filter(|longest| *longest > 0),
        cpu_share: fraction(cpu_share),
        margin: fraction(margin),
        followed: followed != 0,
    };
    WalkPart::Caller(row, own, caller)
}

fn end(numbers: &Numbers, texts: &Texts<'_>) -> WalkPart {
    let [_, walk, samples, now, most, calls, late, changes, longest_stop, hot_spots, levels, ..] = *numbers;
    let [reason, sampler, bias, notices, metric, ..]: &[Cow<'_, str>; 7] = texts;
    let [now, most, calls, late, changes, longest_stop_nanos] =
        [now, most, calls, late, changes, longest_stop].map(counted);
    let walk = Walk {
        number: walk,
        state: "ended".to_owned(),
        metric: text(metric),
        samples: counted(samples),
        sampler: sampler.to_string(),
        bias: text(bias),
        hooks: WalkHooks { now, most, calls, late, changes, longest_stop_nanos },
        end: text(reason),
        notices: notices.lines().map(str::to_owned).collect(),
        ..Walk::default()
    };
    WalkPart::End { walk, hot_spots, levels }
}
