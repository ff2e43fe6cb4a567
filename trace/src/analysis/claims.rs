//! Changes of level while a program ran (`instr.Claim`): to which part of the time the figures of a method apply.

use std::collections::BTreeMap;

use super::{AnalysisOptions, Frame};
use crate::reader::{Chunk, Event, Method};
use crate::{PAUSED, TraceReader};

const OF_THE_TIME: &str = " of the time";
const CALLERS_CONTAIN_THEM: &str =
    "; the time of calls that were not recorded is part of the own time of their callers";

/// What a probe records at a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    /// Every call.
    All,
    /// Long calls, and estimates of the others.
    Estimates,
    Nothing,
}

impl Recorded {
    fn at(level: &str) -> Recorded {
        match level {
            "time" | "full" => Recorded::All,
            "watch" => Recorded::Estimates,
            _ => Recorded::Nothing,
        }
    }
}

/// A change of one method's level.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at: u64,
    from: String,
    to: String,
}

/// Class, method, descriptor and template, as a [`Frame`] has them.
type Probe = [String; 4];

/// The changes of a recording.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_probe: BTreeMap<Probe, Vec<Change>>,
    /// When all probes were paused and resumed.
    pauses: Vec<Change>,
}

/// The part of the time to which a method's figures apply.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedPart {
    /// In which every call was recorded; if there was none, in which calls were estimated.
    pub percent: f64,
    /// The same in short: `first 0.8 s`, `last 3.0 s`, or `41 % of the time`.
    pub text: String,
    /// Whether every call was recorded in this part, and not only estimated.
    pub has_every_call: bool,
    /// The part of the time, outside of this one, in which calls were estimated.
    pub estimated_percent: f64,
    /// Whether that is all the rest of the time.
    pub rest_is_estimated: bool,
}

impl RecordedPart {
    /// `first 0.8 s, 8.3 % of the time`
    fn with_percent(&self) -> String {
        if self.text.ends_with(OF_THE_TIME) {
            self.text.clone()
        } else {
            format!("{}, {}{OF_THE_TIME}", self.text, percent(self.percent))
        }
    }

    /// `the rest is estimated`, or how much of it is.
    fn rest(&self) -> String {
        if self.rest_is_estimated {
            "the rest is estimated".to_owned()
        } else if self.estimated_percent > 0.0 {
            format!("a further {} is estimated, of the rest nothing was recorded", percent(self.estimated_percent))
        } else {
            "of the rest nothing was recorded".to_owned()
        }
    }

    /// Returns a sentence on what was recorded in this part of the time and in the rest.
    pub(crate) fn explanation(&self) -> String {
        let what = if self.has_every_call { "every call was recorded" } else { "calls were estimated" };
        format!("{what} in this part of the time, {}; {}", percent(self.percent), self.rest())
    }
}

/// A recording, or the part of it that is analysed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// The parts of the time to which figures of methods apply, for exports that write names before all calls are known.
#[derive(Debug, Default)]
pub(crate) struct RecordedParts(BTreeMap<Probe, RecordedPart>);

impl RecordedParts {
    /// Reads all changes of level; chunks that cannot be read have none.
    pub(crate) fn read(reader: &TraceReader, options: AnalysisOptions) -> RecordedParts {
        let mut claims = Claims::default();
        let mut start_up = None;
        for chunk in (0..reader.chunk_count()).filter_map(|index| reader.chunk(index).ok()) {
            for event in chunk.events().map_while(Result::ok) {
                match event {
                    Event::StartUpDone { at } => start_up = start_up.or(Some(at)),
                    event => claims.see(&chunk, &event),
                }
            }
        }
        let begin = start_up.filter(|_| options.after_start_up).unwrap_or(0);
        let span = Span::of(reader, begin);
        let part = |(probe, changes): (Probe, Vec<Change>)| Some((probe, part(&in_order(changes), span)?));
        RecordedParts(claims.by_probe.into_iter().filter_map(part).collect())
    }

    /// Returns the part of a method, or `None` if its figures apply to all the time.
    pub(crate) fn of(&self, frame: &Frame) -> Option<&RecordedPart> {
        if self.0.is_empty() { None } else { self.0.get(&probe(frame)) }
    }
}

fn probe(frame: &Frame) -> Probe {
    [&frame.class, frame.bare_method(), &frame.descriptor, &frame.template].map(str::to_owned)
}

fn in_order(mut changes: Vec<Change>) -> Vec<Change> {
    changes.sort();
    changes
}

impl Span {
    /// Returns the span of a recording, or what follows `begin` if that is later than its start.
    pub(super) fn of(reader: &TraceReader, begin: u64) -> Span {
        let start = reader.start_epoch_nanos();
        Span { begin: begin.max(start), end: start + reader.duration_nanos() }
    }
}

impl Claims {
    /// Adds the event if it is a change of level.
    pub(super) fn see(&mut self, chunk: &Chunk, event: &Event<'_>) {
        if let Event::Claim { at, method, template, from, to, .. } = event {
            let template = chunk.template(*template).unwrap_or_default();
            self.add(chunk.method(*method).map(|method| (method, template)), *at, (from, to));
        }
    }

    /// A change of the level of a method's probe with this template, or of all probes.
    fn add(&mut self, probe: Option<(Method<'_>, &str)>, at: u64, (from, to): (&str, &str)) {
        let change = Change { at, from: from.to_owned(), to: to.to_owned() };
        match probe {
            Some((Method { class, name, descriptor, .. }, template)) => {
                let class = class.replace('/', ".");
                let probe = [class, name.to_owned(), descriptor.to_owned(), template.to_owned()];
                self.by_probe.entry(probe).or_default().push(change);
            }
            None => self.pauses.push(change),
        }
    }

    /// Marks the methods whose figures apply to a part of the time only, and returns what readers must know of that.
    pub(super) fn mark(mut self, span: Span, frames: &mut [Frame]) -> Vec<String> {
        let mut marked: Vec<(u64, String)> = Vec::new();
        let mut is_missing = false;
        // Figures of bursts have a template of their own.
        let frames = if self.by_probe.is_empty() { &mut [] } else { frames };
        for frame in frames {
            let Some(changes) = self.by_probe.remove(&probe(frame)) else { continue };
            frame.part = part(&in_order(changes), span);
            if let Some(part) = frame.part.as_ref().filter(|_| frame.calls > 0) {
                let text = format!("{} ({}; {})", frame.distinct_name(), part.with_percent(), part.rest());
                marked.push((frame.total, text));
                is_missing |= !part.rest_is_estimated;
            }
        }
        let mut warnings = Vec::new();
        marked.sort_by(|a, b| b.cmp(a));
        if let Some((_, example)) = marked.first() {
            let (count, verb) = (marked.len(), if marked.len() == 1 { "method was" } else { "methods were" });
            let callers = if is_missing { CALLERS_CONTAIN_THEM } else { "" };
            warnings.push(format!(
                "{count} {verb} not at one level all the time: their calls are those of a part of it, e.g. {example}{callers}"
            ));
        }
        self.pauses.sort();
        warnings.extend(paused(&self.pauses, span));
        warnings
    }
}

/// The part that has every call, or the one that has estimates if no part has every call; `None` if that is all the time.
fn part(changes: &[Change], span: Span) -> Option<RecordedPart> {
    let segments = segments(changes, span);
    let length = |kind: Recorded| segments.iter().filter(|it| it.kind == kind).map(|it| it.end - it.begin).sum::<u64>();
    let whole = span.end.saturating_sub(span.begin).max(1);
    let (all, estimated) = (length(Recorded::All), length(Recorded::Estimates));
    let (kind, covered) = if all > 0 { (Recorded::All, all) } else { (Recorded::Estimates, estimated) };
    if covered >= whole || covered == 0 {
        return None;
    }
    let percent = 100.0 * covered as f64 / whole as f64;
    let mut of_kind = segments.iter().filter(|segment| segment.kind == kind);
    let text = match (of_kind.next(), of_kind.next()) {
        (Some(only), None) if only.begin == span.begin => format!("first {}", seconds(covered)),
        (Some(only), None) if only.end == span.end => format!("last {}", seconds(covered)),
        _ => format!("{}{OF_THE_TIME}", self::percent(percent)),
    };
    let has_every_call = kind == Recorded::All;
    let estimated_percent = if has_every_call { 100.0 * estimated as f64 / whole as f64 } else { 0.0 };
    let rest_is_estimated = has_every_call && all + estimated >= whole;
    Some(RecordedPart { percent, text, has_every_call, estimated_percent, rest_is_estimated })
}

#[derive(Debug)]
struct Segment {
    begin: u64,
    end: u64,
    kind: Recorded,
}

/// What was recorded when. Neighbours differ.
fn segments(changes: &[Change], span: Span) -> Vec<Segment> {
    let Some(first) = changes.first() else { return Vec::new() };
    let mut segments: Vec<Segment> = Vec::new();
    let mut add = |begin: u64, end: u64, level: &str| {
        let (begin, end, kind) = (begin.max(span.begin), end.min(span.end), Recorded::at(level));
        match segments.last_mut().filter(|last| last.kind == kind) {
            Some(last) => last.end = last.end.max(end),
            None if begin < end => segments.push(Segment { begin, end, kind }),
            None => {}
        }
    };
    add(span.begin, first.at, &first.from);
    let ends = changes.iter().skip(1).map(|next| next.at).chain([span.end]);
    for (change, end) in changes.iter().zip(ends) {
        add(change.at, end, &change.to);
    }
    segments
}

/// How long all probes were paused.
fn paused(changes: &[Change], span: Span) -> Option<String> {
    let mut since = changes.first().filter(|change| change.to != PAUSED).map(|_| span.begin);
    let mut nanos = 0;
    for change in changes {
        if change.to == PAUSED {
            since = since.or(Some(change.at));
        } else if let Some(begin) = since.take() {
            nanos += change.at.saturating_sub(begin.max(span.begin));
        }
    }
    nanos += since.map_or(0, |begin| span.end.saturating_sub(begin));
    (nanos > 0).then(|| {
        let share = percent(100.0 * nanos as f64 / span.end.saturating_sub(span.begin).max(1) as f64);
        format!("all probes were paused for {} ({share} of the time): calls meanwhile are missing", seconds(nanos))
    })
}

fn seconds(nanos: u64) -> String {
    format!("{:.1} s", nanos as f64 / 1e9)
}

fn percent(percent: f64) -> String {
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { begin: 1_000_000_000, end: 11_000_000_000 };

    fn change(at: u64, from: &str, to: &str) -> Change {
        Change { at: at * 100_000_000, from: from.to_owned(), to: to.to_owned() }
    }

    fn text(changes: &[Change]) -> Option<(String, bool)> {
        part(changes, SPAN).map(|part| (format!("{:.0}: {}", part.percent, part.text), part.rest_is_estimated))
    }

    #[test]
    fn the_part_with_every_call_is_what_counts_and_estimates_are_if_there_is_none() {
        let marked = |text: &str, estimated| Some((text.to_owned(), estimated));
        assert_eq!(text(&[change(18, "time", "watch")]), marked("8: first 0.8 s", true));
        assert_eq!(text(&[change(80, "watch", "full")]), marked("30: last 3.0 s", true));
        assert_eq!(
            text(&[change(18, "full", "time"), change(30, "time", "watch"), change(100, "watch", "time")]),
            marked("30: 30 % of the time", true)
        );
        assert_eq!(text(&[change(60, "watch", "removed")]), marked("50: first 5.0 s", false));
        assert_eq!(text(&[change(20, "time", "off"), change(60, "off", "watch")]), marked("10: first 1.0 s", false));
        assert_eq!(text(&[change(20, "full", "time")]), None, "each of these levels has every call");
        assert_eq!(text(&[change(20, "off", "off")]), None, "nothing was recorded, so nothing can be taken for exact");
        assert_eq!(text(&[change(5, "time", "watch")]), None, "before the part that is looked at");
        assert_eq!(text(&[change(5, "watch", "time")]), None);
    }

    #[test]
    fn a_part_of_the_rest_that_is_estimated_is_named() {
        let explanation = |changes: &[Change]| part(changes, SPAN).map(|part| part.explanation()).unwrap_or_default();
        assert_eq!(
            explanation(&[change(20, "time", "watch"), change(70, "watch", "removed")]),
            "every call was recorded in this part of the time, 10 %; a further 50 % is estimated, of the rest nothing was recorded"
        );
        assert!(explanation(&[change(20, "time", "watch")]).ends_with("; the rest is estimated"));
        assert_eq!(
            explanation(&[change(60, "watch", "removed")]),
            "calls were estimated in this part of the time, 50 %; of the rest nothing was recorded"
        );
    }

    #[test]
    fn pauses_are_added_up_also_one_that_has_no_end() {
        let paused = |changes: &[Change]| paused(changes, SPAN).unwrap_or_default();
        let once = paused(&[change(20, "recording", "paused"), change(30, "paused", "recording")]);
        assert!(once.starts_with("all probes were paused for 1.0 s (10 % of the time)"), "{once}");
        let ends = paused(&[
            change(20, "recording", "paused"),
            change(30, "paused", "recording"),
            change(90, "recording", "paused"),
        ]);
        assert!(ends.starts_with("all probes were paused for 3.0 s"), "{ends}");
        assert!(paused(&[change(30, "paused", "recording")]).starts_with("all probes were paused for 2.0 s"));
        assert_eq!(paused(&[]), "");
    }
}
