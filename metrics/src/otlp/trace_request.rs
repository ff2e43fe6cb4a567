//! From trees of calls to requests for `/v1/traces`.

use std::hash::{BuildHasher as _, RandomState};

use trace::analysis::TaskRecord;
use trace::conventions::{RequestNames, STATUS_ERROR};

use super::messages::{ExportTraceServiceRequest, ResourceSpans, ScopeSpans, Span, SpanLink, Status};
use super::resource::{Sender, attribute, whole_number};
use super::semantics::{message, semantics};
use super::trace_context::{KnownTrace, Position};
use crate::method_families::MethodNames;
use crate::span_links::{Above, SpanLinks, SpanPlace};
use crate::spans::{SpanNode, ThreadTrees};

/// Spans of one request.
const SPANS_PER_REQUEST: usize = 2_000;

/// Intervals for which the calls of a task wait for the call that handed it over.
const MOST_ROUNDS: u32 = 6;
/// Calls that wait for that at the same time.
const MOST_WAITING: usize = 20_000;

/// An outermost call with all within it, in the calls of its thread.
#[derive(Debug)]
struct WaitingTree {
    tree: ThreadTrees,
    rounds: u32,
}

/// Makes spans.
#[derive(Debug)]
pub(crate) struct SpanWriter {
    random: RandomState,
    made: u64,
    /// To be added to a time of Java's clock to get nanoseconds since 1970.
    to_unix: i64,
    percent: u64,
    left_out: u64,
    links: SpanLinks,
    waiting: Vec<WaitingTree>,
    names: RequestNames,
}

impl SpanWriter {
    /// A writer that takes `percent` of a hundred traces. `to_unix` leads from Java's clock to the time since 1970.
    pub(crate) fn new(to_unix: i64, percent: u32) -> SpanWriter {
        SpanWriter {
            random: RandomState::new(),
            made: 0,
            to_unix,
            percent: u64::from(percent),
            left_out: 0,
            links: SpanLinks::default(),
            waiting: Vec::new(),
            names: RequestNames::default(),
        }
    }

    /// From now on, spans are told by this distance of the two clocks: they drift apart by some milliseconds an hour.
    pub(crate) fn follow_clock(&mut self, to_unix: i64) {
        self.to_unix = to_unix;
    }

    /// Spans that were left out because their traces were not taken.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What hand-overs of tasks have said up to `until`.
    pub(crate) fn tell_steps(&mut self, steps: &[TaskRecord], until: u64) {
        self.links.add(steps, until);
    }

    /// Requests with all spans of these trees that need not wait for others, and how many each holds. The last time none waits.
    pub(crate) fn requests(
        &mut self,
        trees: Vec<ThreadTrees>,
        names: &MethodNames,
        sender: &Sender,
        is_last: bool,
    ) -> Vec<(ExportTraceServiceRequest, usize)> {
        let mut spans = Vec::new();
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend(trees.into_iter().flat_map(single_roots));
        let too_many = waiting.iter().map(WaitingTree::size).sum::<usize>() > MOST_WAITING;
        // A call begins before what it hands over.
        waiting.sort_by_key(|tree| tree.root().map_or(0, |root| root.start));
        waiting.retain(|waits| {
            let must_go = is_last || too_many || waits.rounds >= MOST_ROUNDS;
            let end = waits.root().map_or(0, |root| root.end);
            let place = match self.links.above(waits.tree.thread, end) {
                Above::NotYet(_) if !must_go => return true,
                Above::NotYet(link) => {
                    self.links.give_up(link);
                    None
                }
                Above::Span(place) => Some(place),
                Above::Nothing => None,
            };
            self.write_tree(&waits.tree, place, names, &mut spans);
            false
        });
        waiting.iter_mut().for_each(|tree| tree.rounds += 1);
        self.waiting = waiting;
        let mut requests = Vec::new();
        while !spans.is_empty() {
            let rest = spans.split_off(spans.len().min(SPANS_PER_REQUEST));
            let part = std::mem::replace(&mut spans, rest);
            let count = part.len();
            requests.push((request(part, sender), count));
        }
        requests
    }

    fn write_tree(&mut self, tree: &ThreadTrees, above: Option<SpanPlace>, names: &MethodNames, spans: &mut Vec<Span>) {
        for root in &tree.roots {
            let place = above.unwrap_or_else(|| self.outermost(root));
            self.write(root, place, tree, names, spans);
        }
    }

    /// What an outermost call is below: a span of another process, or nothing at all in a trace of its own.
    fn outermost(&mut self, root: &SpanNode) -> SpanPlace {
        match KnownTrace::of_tree(root) {
            Some(known) => SpanPlace { trace: known.trace(), span: known.cause() },
            None => SpanPlace { trace: [self.number(), self.number()], span: 0 },
        }
    }

    fn write(
        &mut self,
        node: &SpanNode,
        above: SpanPlace,
        thread: &ThreadTrees,
        names: &MethodNames,
        spans: &mut Vec<Span>,
    ) {
        // Recursion of the application is as deep as its stack, which may be deeper than ours.
        let mut open = vec![(node, above)];
        while let Some((node, above)) = open.pop() {
            let position = Position::of(node, above);
            let trace = position.trace;
            let times = (node.start, node.end);
            if trace[1] % 100 >= self.percent {
                // What it handed over belongs to the same trace, which is not taken.
                self.links.given(thread.thread, times, SpanPlace { trace, span: 0 });
                self.left_out += node.size() as u64;
                continue;
            }
            let span = position.span.unwrap_or_else(|| self.number());
            let place = SpanPlace { trace, span };
            self.links.given(thread.thread, times, place);
            open.extend(node.children.iter().rev().map(|child| (child, place)));
            spans.push(self.span(node, &position, span, thread, names));
        }
    }

    fn span(
        &mut self,
        node: &SpanNode,
        position: &Position,
        span: u64,
        thread: &ThreadTrees,
        names: &MethodNames,
    ) -> Span {
        let named = names.get(node.probe);
        let function = named.map_or("unknown", |named| named.function());
        let mut attributes = vec![
            attribute("code.function.name", function),
            whole_number("thread.id", i64::try_from(thread.thread).unwrap_or(0)),
        ];
        // At level watch a span begins and ends with ticks.
        attributes.extend(named.filter(|named| named.is_estimated()).map(|_| attribute("instr.precision", "estimate")));
        attributes.extend(thread.name.as_deref().map(|name| attribute("thread.name", name)));
        let function_of = |probe| names.get(probe).map(|named| named.function().to_owned());
        let semantics = semantics(node, function_of, &mut self.names);
        attributes.extend(semantics.attributes.into_iter().map(message));
        let unix = |time: u64| time.wrapping_add_signed(self.to_unix);
        Span {
            trace_id: trace_id(position.trace),
            span_id: span_id(span),
            parent_span_id: if position.parent == 0 { Vec::new() } else { span_id(position.parent) },
            name: semantics.name.unwrap_or_else(|| short_name(function).to_owned()),
            kind: semantics.kind.number(),
            start_time_unix_nano: unix(node.start),
            end_time_unix_nano: unix(node.end),
            attributes,
            dropped_attributes_count: 0,
            links: position.around.iter().map(link).collect(),
            status: semantics.is_error.then_some(Status { code: STATUS_ERROR }),
        }
    }

    /// Never 0, which means no identity.
    fn number(&mut self) -> u64 {
        self.made += 1;
        self.random.hash_one(self.made).max(1)
    }
}

impl WaitingTree {
    fn root(&self) -> Option<&SpanNode> {
        self.tree.roots.first()
    }

    fn size(&self) -> usize {
        self.tree.roots.iter().map(SpanNode::size).sum()
    }
}

fn trace_id(trace: [u64; 2]) -> Vec<u8> {
    trace.iter().flat_map(|half| half.to_be_bytes()).collect()
}

fn span_id(span: u64) -> Vec<u8> {
    span.to_be_bytes().to_vec()
}

fn link(place: &SpanPlace) -> SpanLink {
    SpanLink { trace_id: trace_id(place.trace), span_id: span_id(place.span) }
}

/// The outermost calls of a thread one by one: each may be of another task.
fn single_roots(trees: ThreadTrees) -> impl Iterator<Item = WaitingTree> {
    let ThreadTrees { thread, name, roots } = trees;
    roots
        .into_iter()
        .map(move |root| WaitingTree { tree: ThreadTrees { thread, name: name.clone(), roots: vec![root] }, rounds: 0 })
}

fn request(spans: Vec<Span>, sender: &Sender) -> ExportTraceServiceRequest {
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(sender.resource.clone()),
            scope_spans: vec![ScopeSpans { scope: Some(sender.scope.clone()), spans }],
        }],
    }
}

/// `com.acme.Order.total` is shown as `Order.total`.
fn short_name(function: &str) -> &str {
    let mut dots = function.rmatch_indices('.').map(|(at, _)| at);
    dots.nth(1).and_then(|dot| function.get(dot + 1..)).unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::probe_registry::ProbeRegistry;

    fn node(probe: u32, start: u64, end: u64, children: Vec<SpanNode>) -> SpanNode {
        SpanNode { probe, start, end, detail: None, children, depth: 1 }
    }

    #[test]
    fn children_name_their_parents_within_one_trace() {
        let names = MethodNames::new(Box::leak(Box::new(ProbeRegistry::default())));
        let inner = node(2, 20, 30, Vec::new());
        let roots = vec![node(1, 10, 40, vec![inner]), node(3, 50, 60, Vec::new())];
        let trees = [ThreadTrees { thread: 5, name: Some("main".into()), roots }];
        let mut writer = SpanWriter::new(1_000, 100);
        let requests = writer.requests(trees.into(), &names, &Sender::new("shop", None, &[]), false);
        assert_eq!((requests.len(), requests[0].1), (1, 3));
        let spans = &requests[0].0.resource_spans[0].scope_spans[0].spans;
        assert_eq!((spans[0].parent_span_id.len(), &spans[1].parent_span_id), (0, &spans[0].span_id));
        assert_eq!(spans[0].trace_id, spans[1].trace_id);
        assert_ne!(spans[0].trace_id, spans[2].trace_id);
        assert_eq!((spans[0].trace_id.len(), spans[0].span_id.len()), (16, 8));
        assert_eq!((spans[1].start_time_unix_nano, spans[1].end_time_unix_nano), (1_020, 1_030));
        // The clocks have drifted apart.
        writer.follow_clock(1_007);
        let later = [ThreadTrees { thread: 5, name: None, roots: vec![node(3, 70, 80, Vec::new())] }];
        let requests = writer.requests(later.into(), &names, &Sender::new("shop", None, &[]), false);
        assert_eq!(requests[0].0.resource_spans[0].scope_spans[0].spans[0].start_time_unix_nano, 1_077);
    }

    fn request(probe: u32, (start, end): (u64, u64), kind: u8, header: &str, children: Vec<SpanNode>) -> SpanNode {
        let text = match kind {
            b'H' => format!("GET\0/x\0\0http\0\0{header}"),
            _ => format!("GET\0http\0db\0/x\0\0{header}"),
        };
        let detail = Some(crate::spans::SpanDetail { kind, text, number: 200 });
        SpanNode { detail, ..node(probe, start, end, children) }
    }

    /// Name, trace, id and parent of each span, in hexadecimal; the ids that were made as letters in the order in which they appear.
    fn shown(roots: Vec<SpanNode>) -> Vec<String> {
        let names = MethodNames::new(Box::leak(Box::new(ProbeRegistry::default())));
        let trees = [ThreadTrees { thread: 5, name: None, roots }];
        let mut writer = SpanWriter::new(0, 100);
        let requests = writer.requests(trees.into(), &names, &Sender::new("shop", None, &[]), true);
        let spans = &requests[0].0.resource_spans[0].scope_spans[0].spans;
        let mut made: Vec<Vec<u8>> = Vec::new();
        let mut id = |bytes: &[u8]| match bytes {
            [] => "-".to_owned(),
            [.., 0, 0, last] => format!("{last}"),
            _ => {
                let at = made.iter().position(|known| known == bytes).unwrap_or(made.len());
                made.extend((at == made.len()).then(|| bytes.to_vec()));
                char::from(b'a' + at as u8).to_string()
            }
        };
        let line = |span: &Span| {
            let [trace, own, parent] = [&span.trace_id, &span.span_id, &span.parent_span_id].map(|bytes| id(bytes));
            let links: Vec<String> = span.links.iter().map(|link| format!(" link {}", id(&link.span_id))).collect();
            format!("{} {trace} {own} {parent}{}", span.name, links.concat())
        };
        spans.iter().map(line).collect()
    }

    fn header(trace: u8, span: u8) -> String {
        format!("00-00000000000000000000000000000{trace:03x}-0000000000000{span:03x}-01")
    }

    #[test]
    fn a_request_belongs_to_the_trace_that_it_came_with_and_those_it_sends_have_the_ids_that_they_took_along() {
        let sent = request(2, (20, 30), b'C', &header(7, 4), Vec::new());
        let answered = request(1, (10, 40), b'H', &header(7, 3), vec![sent]);
        assert_eq!(shown(vec![answered.clone()]), ["GET /x 7 a 3", "GET 7 4 a"]);
        // A filter around it is part of the same picture.
        assert_eq!(shown(vec![node(3, 5, 50, vec![answered])]), ["unknown 7 a 3", "GET /x 7 b a", "GET 7 4 b"]);
    }

    #[test]
    fn a_request_that_is_sent_outside_of_any_other_begins_the_trace_of_the_call_around_it() {
        let first = request(2, (20, 30), b'C', &header(7, 4), Vec::new());
        let second = request(2, (40, 50), b'C', &header(8, 5), Vec::new());
        let around = node(1, 10, 60, vec![first, second]);
        assert_eq!(shown(vec![around]), ["unknown 7 a -", "GET 7 4 a", "GET 8 5 - link a"]);
    }

    #[test]
    fn what_a_header_cannot_be_read_from_begins_a_trace() {
        let begins = request(1, (10, 40), b'H', &header(7, 0), Vec::new());
        assert_eq!(shown(vec![begins]), ["GET /x 7 a -"]);
        assert_eq!(shown(vec![request(1, (10, 40), b'H', "00-broken", Vec::new())]), ["GET /x a b -"]);
    }

    #[test]
    fn a_share_of_the_traces_is_taken_and_the_rest_counted() {
        let names = MethodNames::new(Box::leak(Box::new(ProbeRegistry::default())));
        let roots = (0..10_000).map(|at| node(1, at, at + 1, Vec::new())).collect();
        let trees = [ThreadTrees { thread: 5, name: None, roots }];
        let mut writer = SpanWriter::new(0, 10);
        let taken: usize = writer
            .requests(trees.into(), &names, &Sender::new("shop", None, &[]), false)
            .iter()
            .map(|part| part.1)
            .sum();
        assert!((700..1_300).contains(&taken), "{taken} of 10000");
        assert_eq!(taken as u64 + writer.left_out(), 10_000);
    }

    #[test]
    fn names_are_short() {
        assert_eq!(short_name("com.acme.Order.total"), "Order.total");
        assert_eq!((short_name("Order.total"), short_name("x")), ("Order.total", "x"));
    }
}
