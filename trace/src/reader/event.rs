//! The events of a chunk, as far as reports know them.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::Chunk;
use super::ReadError;
use super::cursor::{Cursor, Text};
use super::diagnosis_events;
use super::metadata::Types;
use super::plan::{Plan, Values, Wanted};
use super::walk_events::{self, WalkPart};
use crate::chunk_header::HEADER_LENGTH;
use crate::{Diagnosis, DiagnosisNode, SlowCall, TaskStep};

/// A call: `instr.MethodCall`, and the part that events with details share with it. Keys are resolved by the [`Chunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Key for [`Chunk::thread`].
    pub thread: u64,
    /// Key for [`Chunk::method`].
    pub method: u64,
    /// Key for [`Chunk::template`]; 0 in events with details.
    pub template: u64,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds.
    pub duration: u64,
    /// False when start and duration are multiples of a tick.
    pub exact: bool,
}

/// An event that reports know.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'c> {
    /// `instr.MethodCall`
    MethodCall(Call),
    /// `instr.Statement`
    Statement {
        /// The call that executed it.
        call: Call,
        /// Text of the statement.
        statement: Cow<'c, str>,
    },
    /// `instr.HttpRequest`
    HttpRequest {
        /// The call that handled it.
        call: Call,
        /// GET, POST, ...
        http_method: Cow<'c, str>,
        /// Path of the URL.
        path: Cow<'c, str>,
        /// What the framework knows the path by (`/members/{id}`); empty if it knows none.
        route: Cow<'c, str>,
        /// Status of the answer.
        status: u64,
    },
    /// `instr.SocketTransfer`
    SocketTransfer {
        /// The call that moved the bytes.
        call: Call,
        /// Address of the other side.
        peer: Cow<'c, str>,
        /// Number of bytes.
        bytes: u64,
    },
    /// `instr.CallArguments`
    CallArguments {
        /// The call, of which there is an `instr.MethodCall`, too.
        call: Call,
        /// Its values, see [`crate::arguments`].
        arguments: Cow<'c, str>,
    },
    /// `instr.Loss`
    Loss {
        /// Key for [`Chunk::thread`].
        thread: u64,
        /// Number of lost records.
        lost: u64,
    },
    /// `instr.Task`
    Task {
        /// Key for [`Chunk::thread`].
        thread: u64,
        /// Nanoseconds since 1970.
        at: u64,
        /// What happened; `None` for a word of a later version.
        step: Option<TaskStep>,
        /// Identity hash of the task, or id of a thread.
        task: u64,
    },
    /// `instr.StartUpDone`
    StartUpDone {
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.Claim`: the level of a probe changes.
    Claim {
        /// Nanoseconds since 1970.
        at: u64,
        /// Key for [`super::Chunk::method`]; 0 if the change is one of all probes.
        method: u64,
        /// Key for [`super::Chunk::template`].
        template: u64,
        /// Who wants it: `rule`, `user`, `governor`, `breaker`.
        owner: Cow<'c, str>,
        /// Why.
        reason: Cow<'c, str>,
        /// The level before: that of a rule, `removed`, or `recording` of all probes.
        from: Cow<'c, str>,
        /// The level afterwards: the same, or `paused`.
        to: Cow<'c, str>,
    },
    /// `instr.BurstWindow`
    BurstWindow {
        /// Nanoseconds since 1970.
        start: u64,
        /// Nanoseconds.
        duration: u64,
    },
    /// `instr.LateTick`
    LateTick {
        /// Nanoseconds since 1970.
        start: u64,
        /// Nanoseconds to the next tick.
        duration: u64,
    },
    /// `instr.Retransform`: loaded classes were given other bodies in one call of the JVM.
    Retransform {
        /// Nanoseconds since 1970.
        at: u64,
        /// Classes that were presented to the JVM.
        classes: u64,
        /// Whether the JVM rejected them together.
        is_rejected: bool,
        /// The application was stopped for at most so many nanoseconds.
        stopped: u64,
        /// Why: `start`, `attach`, `reload`, `claim` and others.
        reason: Cow<'c, str>,
    },
    /// `instr.Diagnosis`: a diagnosis has ended.
    Diagnosis {
        /// Nanoseconds since 1970.
        at: u64,
        /// The diagnosis without the nodes of its tree.
        diagnosis: Box<Diagnosis>,
        /// How many nodes its tree has.
        nodes: u64,
    },
    /// `instr.DiagnosisNode`
    DiagnosisNode {
        /// That of its diagnosis.
        at: u64,
        /// That of its diagnosis.
        claim: u64,
        /// Its number in the tree.
        number: u64,
        /// The node; its parent is given by the number of that.
        node: Box<DiagnosisNode>,
    },
    /// `instr.SlowCall`: a slow call of a method that is diagnosed.
    SlowCall {
        /// When it began, in nanoseconds since 1970.
        at: u64,
        /// The call.
        call: Box<SlowCall>,
    },
    /// An event of a walk.
    Walk {
        /// Nanoseconds since 1970.
        at: u64,
        /// The number of the walk.
        walk: u64,
        /// What it says.
        part: Box<WalkPart>,
    },
    /// `instr.Configuration`
    Configuration {
        /// Name of the setting.
        key: Cow<'c, str>,
        /// Its value.
        value: Cow<'c, str>,
    },
    /// `instr.Note`
    Note {
        /// Nanoseconds since 1970.
        at: u64,
        /// A short word to sort by.
        kind: Cow<'c, str>,
        /// What to know.
        message: Cow<'c, str>,
    },
    /// `jdk.ExecutionSample`
    Sample {
        /// Key for [`Chunk::thread`].
        thread: u64,
        /// Key for [`Chunk::stack`].
        stack: u64,
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.FailedSample`
    FailedSample {
        /// Key for [`Chunk::thread`].
        thread: u64,
        /// Nanoseconds since 1970.
        at: u64,
        /// Why there is no stack.
        reason: Cow<'c, str>,
        /// The method or the native function that was executing; empty if it is not known.
        place: Cow<'c, str>,
    },
    /// `jdk.ObjectAllocationSample`
    AllocationSample {
        /// Key for [`Chunk::thread`].
        thread: u64,
        /// Key for [`Chunk::stack`].
        stack: u64,
        /// Key for [`Chunk::class`].
        class: u64,
        /// Bytes that the sample represents.
        weight: u64,
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.CompiledCode`
    CompiledCode {
        /// Key for [`Chunk::method`].
        method: u64,
        /// Where the code begins.
        address: u64,
        /// Its length in bytes.
        length: u64,
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.CompiledCodeUnload`
    CompiledCodeUnload {
        /// Where the code began.
        address: u64,
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.GeneratedCode`
    GeneratedCode {
        /// What the JVM calls it.
        name: Cow<'c, str>,
        /// Where the code begins.
        address: u64,
        /// Its length in bytes.
        length: u64,
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.NativeLibrary`
    NativeLibrary {
        /// Path of the file.
        name: Cow<'c, str>,
        /// Its build id in hexadecimal digits; empty if it has none, or nobody knows.
        build_id: Cow<'c, str>,
        /// Where its first byte lies.
        address: u64,
        /// Bytes up to the end of the last one.
        length: u64,
        /// Nanoseconds since 1970.
        at: u64,
    },
    /// `instr.Phase`
    Phase {
        /// Nanoseconds since 1970.
        at: u64,
        /// `initialisation`, `profiling` or `end`.
        phase: Cow<'c, str>,
        /// Why it begins.
        reason: Cow<'c, str>,
    },
    /// `jdk.JVMInformation`
    Jvm {
        /// Process id.
        pid: u64,
        /// Name of the JVM.
        name: Cow<'c, str>,
        /// Version of the JVM.
        version: Cow<'c, str>,
        /// Options of the JVM.
        options: Cow<'c, str>,
        /// Main class or jar with its arguments.
        command_line: Cow<'c, str>,
    },
    /// Any other event.
    Other,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    MethodCall,
    Statement,
    HttpRequest,
    SocketTransfer,
    CallArguments,
    Loss,
    Task,
    StartUpDone,
    BurstWindow,
    Claim,
    Retransform,
    Diagnosis,
    DiagnosisNode,
    SlowCall,
    Walk(walk_events::Kind),
    LateTick,
    Configuration,
    Note,
    Sample,
    FailedSample,
    AllocationSample,
    CompiledCode,
    CompiledCodeUnload,
    GeneratedCode,
    NativeLibrary,
    Phase,
    Jvm,
}

/// Fields 0 to 5 mean the same in all events.
const fn wanted(numbers: &'static [&'static str], texts: &'static [&'static str]) -> Wanted {
    Wanted { numbers, texts }
}

const CALL: Wanted = wanted(&["startTime", "duration", "eventThread", "method", "template", "exact"], &[]);

const CODE: Wanted = wanted(&["startTime", "length", "", "method", "", "", "address"], &["name"]);

const KINDS: &[(&str, Kind, Wanted)] = &[
    ("instr.MethodCall", Kind::MethodCall, CALL),
    ("instr.Statement", Kind::Statement, wanted(CALL.numbers, &["statement"])),
    (
        "instr.HttpRequest",
        Kind::HttpRequest,
        wanted(
            &["startTime", "duration", "eventThread", "method", "", "exact", "status"],
            &["httpMethod", "path", "route"],
        ),
    ),
    (
        "instr.SocketTransfer",
        Kind::SocketTransfer,
        wanted(&["startTime", "duration", "eventThread", "method", "", "exact", "bytes"], &["peer"]),
    ),
    ("instr.CallArguments", Kind::CallArguments, wanted(CALL.numbers, &["arguments"])),
    ("instr.Loss", Kind::Loss, wanted(&["startTime", "", "eventThread", "", "", "", "lost"], &[])),
    ("instr.Task", Kind::Task, wanted(&["startTime", "", "eventThread", "", "", "", "task"], &["step"])),
    ("instr.StartUpDone", Kind::StartUpDone, wanted(&["startTime"], &[])),
    ("instr.BurstWindow", Kind::BurstWindow, wanted(&["startTime", "duration"], &[])),
    (
        "instr.Claim",
        Kind::Claim,
        wanted(&["startTime", "", "", "method", "template"], &["owner", "reason", "from", "to"]),
    ),
    (
        "instr.Retransform",
        Kind::Retransform,
        wanted(&["startTime", "duration", "rejected", "", "", "", "classes", "stopped"], &["reason"]),
    ),
    ("instr.Diagnosis", Kind::Diagnosis, diagnosis_events::DIAGNOSIS),
    ("instr.DiagnosisNode", Kind::DiagnosisNode, diagnosis_events::NODE),
    ("instr.SlowCall", Kind::SlowCall, diagnosis_events::SLOW_CALL),
    ("instr.HotSpot", Kind::Walk(walk_events::Kind::HotSpot), walk_events::HOT_SPOT),
    ("instr.WalkLevel", Kind::Walk(walk_events::Kind::Level), walk_events::LEVEL),
    ("instr.WalkEdge", Kind::Walk(walk_events::Kind::Edge), walk_events::EDGE),
    ("instr.HookGauge", Kind::Walk(walk_events::Kind::Gauge), walk_events::GAUGE),
    ("instr.WalkEnd", Kind::Walk(walk_events::Kind::End), walk_events::END),
    ("instr.LateTick", Kind::LateTick, wanted(&["startTime", "duration"], &[])),
    ("instr.Configuration", Kind::Configuration, wanted(&["startTime"], &["key", "value"])),
    ("instr.Note", Kind::Note, wanted(&["startTime"], &["kind", "message"])),
    ("jdk.ExecutionSample", Kind::Sample, wanted(&["startTime", "", "sampledThread", "stackTrace"], &[])),
    ("instr.FailedSample", Kind::FailedSample, wanted(&["startTime", "", "eventThread"], &["reason", "place"])),
    (
        "jdk.ObjectAllocationSample",
        Kind::AllocationSample,
        wanted(&["startTime", "objectClass", "eventThread", "stackTrace", "", "", "weight"], &[]),
    ),
    ("instr.CompiledCode", Kind::CompiledCode, CODE),
    ("instr.CompiledCodeUnload", Kind::CompiledCodeUnload, CODE),
    ("instr.GeneratedCode", Kind::GeneratedCode, CODE),
    (
        "instr.NativeLibrary",
        Kind::NativeLibrary,
        wanted(&["startTime", "length", "", "", "", "", "address"], &["name", "buildId"]),
    ),
    ("instr.Phase", Kind::Phase, wanted(&["startTime"], &["phase", "reason"])),
    (
        "jdk.JVMInformation",
        Kind::Jvm,
        wanted(&["startTime", "", "", "", "", "", "pid"], &["jvmName", "jvmVersion", "jvmArguments", "javaArguments"]),
    ),
];

#[derive(Debug)]
struct EventPlan {
    kind: Kind,
    /// Whether the type has the field `exact`; without it times count as exact.
    says_exact: bool,
    plan: Plan,
}

/// The known event types of a chunk by id.
#[derive(Debug, Default)]
pub(super) struct EventPlans(FxHashMap<u64, EventPlan>);

impl EventPlans {
    pub(super) fn new(types: &Types) -> EventPlans {
        let plans = types.iter().filter_map(|(type_id, declared)| {
            let (_, kind, wanted) = KINDS.iter().find(|(name, _, _)| *name == declared.name)?;
            let says_exact = declared.fields.iter().any(|field| field.name == "exact");
            Some((*type_id, EventPlan { kind: *kind, says_exact, plan: Plan::new(types, *type_id, *wanted)? }))
        });
        EventPlans(plans.collect())
    }
}

/// Iterates over the events of a chunk, in the order of the file. Ends at the first error.
#[derive(Debug)]
pub struct Events<'c> {
    chunk: &'c Chunk,
    position: usize,
    /// Type of the event read last, and how it is read: events of a type come in runs.
    last: Option<(u64, &'c EventPlan)>,
}

impl<'c> Events<'c> {
    pub(super) fn new(chunk: &'c Chunk) -> Events<'c> {
        Events::at(chunk, HEADER_LENGTH)
    }

    pub(super) fn at(chunk: &'c Chunk, position: usize) -> Events<'c> {
        Events { chunk, position, last: None }
    }

    /// Where the next event, or something to be skipped before it, begins.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// The next event that is no metadata and no checkpoint: the place of its fields and its type.
    fn next_place(&mut self) -> Result<Option<(Cursor<'c>, u64)>, ReadError> {
        loop {
            let mut cursor = Cursor::new(&self.chunk.bytes, self.position);
            if self.position >= self.chunk.bytes.len() {
                return Ok(None);
            }
            let size = cursor.varint()?;
            let end = usize::try_from(size).ok().and_then(|size| self.position.checked_add(size));
            let type_id = cursor.varint()?;
            match end.and_then(|end| self.chunk.bytes.get(..end)) {
                Some(until_end) if until_end.len() >= cursor.position() => {
                    self.position = until_end.len();
                    if type_id > 1 {
                        return Ok(Some((Cursor::new(until_end, cursor.position()), type_id)));
                    }
                }
                _ => return Err(cursor.error("an event has an impossible size")),
            }
        }
    }

    #[inline]
    fn plan(&mut self, type_id: u64) -> Option<&'c EventPlan> {
        match self.last {
            Some((last, plan)) if last == type_id => Some(plan),
            _ => {
                let plan = self.chunk.event_plans.0.get(&type_id)?;
                self.last = Some((type_id, plan));
                Some(plan)
            }
        }
    }

    fn read(&mut self, mut cursor: Cursor<'c>, type_id: u64) -> Result<Event<'c>, ReadError> {
        let Some(event) = self.plan(type_id) else { return Ok(Event::Other) };
        if let Kind::MethodCall = event.kind {
            let numbers = event.plan.read_numbers(&mut cursor, &self.chunk.types)?;
            return Ok(Event::MethodCall(self.call(&numbers, event.says_exact)));
        }
        if let Kind::Diagnosis | Kind::DiagnosisNode | Kind::SlowCall | Kind::Walk(_) = event.kind {
            let Values { numbers, texts } = event.plan.read(&mut cursor, &self.chunk.types)?;
            let at = self.chunk.epoch_nanos(numbers[0]);
            let texts = texts.map(|text| self.text(text));
            return Ok(match event.kind {
                Kind::Walk(kind) => walk_events::part(kind, at, &numbers, &texts),
                Kind::SlowCall => diagnosis_events::slow_call(at, self.chunk.nanos(numbers[1]), &numbers, &texts),
                Kind::DiagnosisNode => diagnosis_events::node(at, &numbers, &texts),
                _ => diagnosis_events::diagnosis(at, &numbers, &texts),
            });
        }
        let Values { numbers, texts }: Values<'_> = event.plan.read(&mut cursor, &self.chunk.types)?;
        let [start, second_number, thread, fourth_number, _, _, extra, last] = numbers;
        let call = self.call(&numbers, event.says_exact);
        let at = self.chunk.epoch_nanos(start);
        let [first, second, third, fourth] = texts.map(|text| self.text(text));
        Ok(match event.kind {
            Kind::MethodCall => Event::MethodCall(call),
            Kind::Statement => Event::Statement { call, statement: first },
            Kind::HttpRequest => {
                Event::HttpRequest { call, http_method: first, path: second, route: third, status: extra }
            }
            Kind::SocketTransfer => Event::SocketTransfer { call, peer: first, bytes: extra },
            Kind::CallArguments => Event::CallArguments { call, arguments: first },
            Kind::Loss => Event::Loss { thread, lost: extra },
            Kind::Task => Event::Task { thread, at, step: TaskStep::of_name(&first), task: extra },
            Kind::StartUpDone => Event::StartUpDone { at },
            Kind::BurstWindow => Event::BurstWindow { start: at, duration: call.duration },
            Kind::Claim => Event::Claim {
                at,
                method: call.method,
                template: call.template,
                owner: first,
                reason: second,
                from: third,
                to: fourth,
            },
            Kind::Retransform => Event::Retransform {
                at,
                classes: extra,
                is_rejected: thread != 0,
                stopped: self.chunk.nanos(last),
                reason: first,
            },
            // Read above.
            Kind::Diagnosis | Kind::DiagnosisNode | Kind::SlowCall | Kind::Walk(_) => Event::Other,
            Kind::LateTick => Event::LateTick { start: at, duration: call.duration },
            Kind::Configuration => Event::Configuration { key: first, value: second },
            Kind::Note => Event::Note { at, kind: first, message: second },
            // The fourth field that is kept is the stack here.
            Kind::Sample => Event::Sample { thread, stack: call.method, at },
            Kind::FailedSample => Event::FailedSample { thread, at, reason: first, place: second },
            Kind::AllocationSample => {
                Event::AllocationSample { thread, stack: fourth_number, class: second_number, weight: extra, at }
            }
            Kind::CompiledCode => {
                Event::CompiledCode { method: fourth_number, address: extra, length: second_number, at }
            }
            Kind::CompiledCodeUnload => Event::CompiledCodeUnload { address: extra, at },
            Kind::GeneratedCode => Event::GeneratedCode { name: first, address: extra, length: second_number, at },
            Kind::NativeLibrary => {
                Event::NativeLibrary { name: first, build_id: second, address: extra, length: second_number, at }
            }
            Kind::Phase => Event::Phase { at, phase: first, reason: second },
            Kind::Jvm => Event::Jvm { pid: extra, name: first, version: second, options: third, command_line: fourth },
        })
    }

    #[inline]
    fn call(&self, numbers: &[u64; 8], says_exact: bool) -> Call {
        let [start, duration, thread, method, template, exact, ..] = *numbers;
        Call {
            thread,
            method,
            template,
            start: self.chunk.epoch_nanos(start),
            duration: self.chunk.nanos(duration),
            exact: !says_exact || exact != 0,
        }
    }

    fn text(&self, text: Text<'c>) -> Cow<'c, str> {
        match text {
            Text::Null => Cow::Borrowed(""),
            Text::Inline(text) => text,
            Text::Pooled(key) => Cow::Borrowed(self.chunk.constants.string(key).unwrap_or("")),
        }
    }
}

impl<'c> Iterator for Events<'c> {
    type Item = Result<Event<'c>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let result = match self.next_place() {
            Ok(None) => return None,
            Ok(Some((cursor, type_id))) => self.read(cursor, type_id),
            Err(error) => Err(error),
        };
        if result.is_err() {
            self.position = self.chunk.bytes.len();
        }
        Some(result)
    }
}
