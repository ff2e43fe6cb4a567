//! What can be asked for.

use std::fmt;

use instrument_core::facts::call_sites::CallKind;
use instrument_core::level::Level;
use instrument_core::words::Words;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::message::{Described, Field, Types, object, words};
use crate::{
    CallTree, CallTreeDone, CallTreePart, Callees, Callers, CallersSource, Changed, ClaimList, Diagnosis, Dumped,
    Explained, Hello, HotBy, HotSpots, InventoryDone, InventoryPart, MethodsDone, MethodsPart, Probed, Reloaded,
    Removed, Status, Stopped, SuspectList, Switched, Walk,
};

/// Declares the requests: each with its fields, its verb and the message that answers it, in one line or also in parts.
macro_rules! requests {
    ($(
        $(#[doc = $about:literal])+
        $request:ident $({ $(
            $(#[doc = $what:literal])+
            $(#[serde($($serde:tt)+)])?
            $field:ident: $type:ty,
        )+ })? = $verb:literal, answered by $answer:ty $(, in parts by $part:ty, then $done:ty)?;
    )+) => {
        /// A request: one line of JSON.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "ask")]
        pub enum Request { $(
            $(#[doc = $about])+
            #[serde(rename = $verb)]
            $request $({ $(
                $(#[doc = $what])+
                $(#[serde($($serde)+)])?
                $field: $type,
            )+ })?,
        )+ }

        impl Request {
            /// The verbs of all requests.
            pub const VERBS: [&str; [$($verb),+].len()] = [$($verb),+];

            /// Returns the verb of the request.
            #[must_use]
            pub fn verb(&self) -> &'static str {
                match self {
                    $( Request::$request { .. } => $verb, )+
                }
            }

            /// Returns the descriptions of all requests and their answers by verb.
            pub(crate) fn describe_all(types: &mut Types) -> Json {
                let requests = [$({
                    let fields = [$($(Field {
                        name: stringify!($field),
                        about: concat!($($what),+),
                        serde: concat!($(stringify!($($serde)+))?),
                        describe: <$type as Described>::describe,
                    }),+)?];
                    let request = object(concat!($($about),+), &fields, types);
                    let answer = <$answer as Described>::describe(types);
                    #[allow(unused_mut, reason = "only some answers have parts")]
                    let mut parts = json!({});
                    $( parts = json!({
                        "part": <$part as Described>::describe(types),
                        "done": <$done as Described>::describe(types),
                    }); )?
                    describe($verb, request, answer, parts)
                }),+];
                requests.into_iter().collect()
            }
        }
    };
}

requests! {
    /// What the agent can do.
    Hello = "hello", answered by Hello;

    /// What the agent has done and decided.
    Status {
        /// Most methods in the answer; without it the agent chooses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        methods: Option<usize>,
        /// Whether the answer has how long calls took since the last request of this kind: for clients that ask again and again.
        #[serde(default)]
        durations: bool,
    } = "status", answered by Status;

    /// Changes the level of live probes.
    Level {
        /// Methods as `package.Class.method` with `*` and `**`, or `category:NAME`.
        methods: String,
        /// Their new level.
        level: WantedLevel,
    } = "level", answered by Changed;

    /// Switches all probes off, whatever their level.
    Pause = "pause", answered by Switched;

    /// Reverses `pause`.
    Resume = "resume", answered by Switched;

    /// The call tree up to now.
    CallTree {
        /// Whether the answer may have several lines.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stream: bool,
    } = "call-tree", answered by CallTree, in parts by CallTreePart, then CallTreeDone;

    /// Writes what the ring holds.
    DumpTrace = "dump-trace", answered by Dumped;

    /// Inserts probes for a while, whether a rule takes the methods or not.
    Probe {
        /// Methods as `package.Class.method` with `*` and `**`.
        methods: String,
        /// Their level; time unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<Level>,
        /// The template; `timed` unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        template: Option<String>,
        /// Calls are recorded only while these methods are executing on the thread, in this order: `a.B.c > d.E.f`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
        /// Calls are recorded only if the last method of `within` makes them itself, not by way of other methods.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        direct: bool,
        /// Calls are recorded only if this holds for the call of the outermost method of `within`, or of the method itself: `arg.0 = 'card'`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<String>,
        /// Tasks that a thread hands to an executor while it executes the methods of `within`, and threads that it starts then, are inside these methods, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        across_threads: bool,
        /// Requests that a thread sends with the JDK's clients of HTTP while it executes the methods of `within`, to hosts of `baggage-to`, have the entry `instr` with this value in the header `baggage`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        across_hosts: Option<String>,
        /// The claim ends after this time. Without any limit it ends after 10 minutes or 1,000 calls; of several limits the first one counts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
        /// The claim ends after this number of recorded calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        calls: Option<u64>,
        /// The claim ends when the process has used this number of processor cycles.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cycles: Option<u64>,
        /// The claim ends when no limit of the breaker has been exceeded for this time without interruption.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        healthy_seconds: Option<u64>,
        /// The claim ends when a limit of the breaker has been exceeded for 1.5 s without interruption.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        while_healthy: bool,
        /// The claim ends with the connection of this request, which must have an id.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        while_connected: bool,
        /// The claim is kept for the next start, in the file of `[claims]`. Without a limit it does not end by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pin: bool,
        /// Most methods of loaded classes that the pattern may match; 1,000 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<usize>,
    } = "probe", answered by Probed;

    /// The methods that carry probes.
    Methods {
        /// Only methods `package.Class.method` with `*` and `**`, or `category:NAME`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        methods: Option<String>,
        /// Most probes in the answer; 1,000 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<usize>,
    } = "methods", answered by MethodsDone, in parts by MethodsPart, then MethodsDone;

    /// Which loaded classes are instrumented, and why not the others.
    Inventory {
        /// Only classes `package.Class` with `*` and `**`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes: Option<String>,
        /// Whether the methods of the classes that a rule matches are listed.
        #[serde(default)]
        methods: bool,
        /// Whether classes of the JDK are listed that a rule may take.
        #[serde(default)]
        jdk: bool,
        /// Most classes and methods in the answer; 50,000 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<usize>,
    } = "inventory", answered by InventoryDone, in parts by InventoryPart, then InventoryDone;

    /// Why the methods of a loaded class have probes, or have none.
    Explain {
        /// The class as `package.Class`, or one of its methods as `package.Class.method`; the class may have `*` and `**`.
        class: String,
    } = "explain", answered by Explained;

    /// Which methods a loaded method may call, whether it ever does or not. Changes nothing.
    Callees {
        /// The method as `package.Class.method`, or `package.Class.method(int, String)` if only one of its overloads is meant.
        method: String,
        /// Only of class loaders of this name or class, with `*`; all that have such a class unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loader: Option<String>,
        /// How many levels; 1 unless stated, 20 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<usize>,
        /// Which instructions count; all unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opcodes: Option<Vec<CallKind>>,
        /// Most methods in the answer; 1,000 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<usize>,
        /// Most methods that are listed because they override or implement the one that a call names; 8 for each call unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        implementers: Option<usize>,
        /// Classes whose constants or file are larger are not looked into, in KiB; 1,024 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class_kb: Option<u64>,
    } = "callees", answered by Callees;

    /// Finds out which branch makes slow calls of a method slow. Ends by itself when that is known, or with its claim.
    Diagnose {
        /// The method as `package.Class.method`, or `package.Class.method(int, String)` if only one of its overloads is meant.
        method: String,
        /// Only of class loaders of this name or class, with `*`; all that have such a class unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loader: Option<String>,
        /// Only calls while these methods are executing on the thread, in this order: `a.B.c > d.E.f`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
        /// Only calls for which this expression holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<String>,
        /// Calls that take longer than this are slow, in microseconds; unless stated, that is learnt from the calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slower_than_us: Option<u64>,
        /// Whether the descent goes on in tasks that executors run on other threads, where a call waits for one; calls on such threads are inside `within`, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        across_threads: bool,
        /// How many levels below the method are looked into; 40 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        depth: Option<usize>,
        /// Whether nothing is to be inserted below the method: its own calls are measured, and the descent ends there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        report_only: bool,
        /// It ends after this time, whatever is known; 10 minutes unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
        /// It ends with the connection of this request, which must have an id.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        while_connected: bool,
    } = "diagnose", answered by Diagnosis;

    /// How far a diagnosis has come.
    Diagnosis {
        /// The number of its claim.
        claim: u32,
    } = "diagnosis", answered by Diagnosis;

    /// Which methods that record their calls have slow ones. Calls are watched from the first request on, as long as requests follow each other within a minute, or
    /// always if the configuration has `[monitor]`.
    Suspects {
        /// Only methods `package.Class.method` with `*` and `**`, or `category:NAME`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        methods: Option<String>,
        /// Calls that take longer than this are slow, in microseconds; unless stated, the configuration says so, or it is learnt from the calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slower_than_us: Option<u64>,
    } = "suspects", answered by SuspectList;

    /// Which methods are hot. The answer comes when they have been looked for long enough; one such request is carried out at a time. Changes no class.
    Hot {
        /// Hot by what; processor time unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<HotBy>,
        /// For how long to look, in seconds; 10 unless stated, 240 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
        /// Methods with this share, in percent, are hot; 5 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_percent: Option<u32>,
        /// If none has that share, so many with the largest shares are listed; 5 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        top: Option<usize>,
    } = "hot", answered by HotSpots;

    /// Who calls a method, by samples: the answer comes when they have been taken for long enough; one such request, or one for hot methods, is carried out at
    /// a time. Or by a hook, which is inserted into the method, and removed before the answer comes, or when the client disconnects.
    Callers {
        /// The method as `package.Class.method`, or `package.Class.method(int, String)` if only one of its overloads is meant.
        method: String,
        /// Only of class loaders of this name or class, with `*`; all that have such a class unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loader: Option<String>,
        /// Shares of what: `cpu`, or `wall`; of a hook also `allocated`, `cycles` or `instructions`. Processor time by samples, and time by a hook, unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<HotBy>,
        /// For how long to look, in seconds; 10 unless stated, 240 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
        /// Classes `package.Class` with `*` and `**`, through whose methods one looks at their callers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        through: Vec<String>,
        /// Most callers in the answer; 20 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<usize>,
        /// `samples`, which change no class; `finder`, a hook that counts calls; or `auto`: samples, and a hook if they are biased or too few. Samples unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<CallersSource>,
        /// Calls that a hook counts, at most; 2500 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hits: Option<u64>,
        /// Whether the caller of what a task or thread begins with is who has handed that over. A hook finds that, and no sample.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        across_threads: bool,
    } = "callers", answered by Callers;

    /// Walks up from hot methods: who calls them, and who calls these, level by level, by samples and by probes in two levels at a time. The answer comes when
    /// all levels have been measured, and all probes are removed; one such request is carried out at a time. It ends with the connection.
    Walk {
        /// The method to begin at, as `package.Class.method`, or `package.Class.method(int, String)`; the hot ones unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// The number of hot methods; 3 unless stated, 8 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        top: Option<usize>,
        /// For how long samples are taken first, in seconds; 10 unless stated, 240 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
        /// For how long each level is measured, in milliseconds; 3000 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period_ms: Option<u64>,
        /// A level ends early when this number of its calls has been measured; 20000 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        calls: Option<u64>,
        /// Most levels; 8 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        levels: Option<usize>,
        /// Callers with this share of the processor time of a method are followed, in percent; 5 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        percent: Option<u32>,
        /// The most callers of one method that are followed; all unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_callers: Option<usize>,
        /// Most probes at a time; 16 unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hooks: Option<usize>,
        /// The part of one processor that recording calls may take, in percent; 2 unless stated. Methods that are called more often are recorded in windows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<u32>,
        /// Counting calls of a method ends early when they have used this much of the metric: cycles, instructions, bytes, or nanoseconds of processor time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<u64>,
        /// Classes `package.Class` with `*` and `**`, through whose methods one looks at their callers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        through: Vec<String>,
        /// Classes at whose methods the walk ends.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        boundary: Vec<String>,
        /// By what calls are measured: `wall`, by probes; or, by hooks, `cpu`, `allocated`, `cycles` or `instructions`. `wall` unless stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metric: Option<HotBy>,
        /// Whether the walk goes on from tasks and threads to who hands them over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        across_threads: bool,
    } = "walk", answered by Walk;

    /// How far the walk has come that is under way, or what the last one has found.
    WalkProgress = "walk-progress", answered by Walk;

    /// Who wants which probes.
    Claims = "claims", answered by ClaimList;

    /// Ends a claim.
    Remove {
        /// Its number.
        claim: u32,
    } = "remove", answered by Removed;

    /// Reads the configuration file again: rules and templates are replaced.
    Reload = "reload", answered by Reloaded;

    /// Ends the recording; the application goes on.
    Stop = "stop", answered by Stopped;
}

impl Request {
    /// Whether it changes something, apart from pausing, which waits for nothing. An agent carries out one such request at a time and answers others
    /// meanwhile; only `stop` waits for none of them.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        !matches!(
            self,
            Request::Hello
                | Request::Status { .. }
                | Request::CallTree { .. }
                | Request::Claims
                | Request::Methods { .. }
                | Request::Inventory { .. }
                | Request::Explain { .. }
                | Request::Callees { .. }
                | Request::Diagnosis { .. }
                | Request::Suspects { .. }
                | Request::Hot { .. }
                | Request::Callers { .. }
                | Request::Walk { .. }
                | Request::WalkProgress
                | Request::Pause
                | Request::Resume
        )
    }

    /// Whether its answer may take long.
    #[must_use]
    pub fn takes_long(&self) -> bool {
        self.is_slow()
            || matches!(
                self,
                Request::Inventory { .. }
                    | Request::Explain { .. }
                    | Request::Callees { .. }
                    | Request::Hot { .. }
                    | Request::Callers { .. }
                    | Request::Walk { .. }
            )
    }
}

fn describe(verb: &str, mut request: Json, answer: Json, parts: Json) -> (String, Json) {
    if let Some(properties) = request.get_mut("properties").and_then(Json::as_object_mut) {
        properties.insert("ask".to_owned(), json!({ "const": verb }));
    }
    if let Some(required) = request.get_mut("required").and_then(Json::as_array_mut) {
        required.insert(0, "ask".into());
    }
    let mut described = json!({ "request": request, "answer": answer });
    if let (Some(described), Json::Object(parts)) = (described.as_object_mut(), parts) {
        described.extend(parts);
    }
    (verb.to_owned(), described)
}

/// The level that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "a level is `off`, `watch`, `burst`, `time`, `full` or `auto`")]
pub enum WantedLevel {
    /// That of the rule, which the governor may lower.
    Auto,
    /// This one.
    #[serde(untagged)]
    Exact(Level),
}

impl Described for Level {
    fn describe(_: &mut Types) -> Json {
        words::<Level>()
    }
}

impl Described for WantedLevel {
    fn describe(_: &mut Types) -> Json {
        let levels = Level::WORDS.iter().map(|(_, word, _)| *word);
        json!({ "enum": levels.chain(["auto"]).collect::<Vec<_>>() })
    }
}

impl fmt::Display for WantedLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WantedLevel::Auto => f.write_str("auto"),
            WantedLevel::Exact(level) => level.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_as_they_are_read() {
        let requests = [
            (r#"{"ask":"status","durations":false}"#, Request::Status { methods: None, durations: false }),
            (r#"{"ask":"status","methods":7,"durations":true}"#, Request::Status { methods: Some(7), durations: true }),
            (r#"{"ask":"level","methods":"a.B.*","level":"off"}"#, level(WantedLevel::Exact(Level::Off))),
            (r#"{"ask":"level","methods":"a.B.*","level":"auto"}"#, level(WantedLevel::Auto)),
            (r#"{"ask":"call-tree"}"#, Request::CallTree { stream: false }),
            (r#"{"ask":"pause"}"#, Request::Pause),
            (
                r#"{"ask":"callees","method":"a.B.c","opcodes":["static","dynamic"]}"#,
                Request::Callees {
                    method: "a.B.c".to_owned(),
                    loader: None,
                    depth: None,
                    opcodes: Some(vec![CallKind::Static, CallKind::Dynamic]),
                    most: None,
                    implementers: None,
                    class_kb: None,
                },
            ),
        ];
        for (text, request) in requests {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
            assert!(text.contains(&format!("\"{}\"", request.verb())));
        }
    }

    #[test]
    fn what_is_left_out_has_a_default_and_unknown_levels_are_refused() {
        let status = serde_json::from_str::<Request>(r#"{"ask":"status"}"#).unwrap();
        assert_eq!(status, Request::Status { methods: None, durations: false });
        assert!(serde_json::from_str::<Request>(r#"{"ask":"level","methods":"a","level":"loud"}"#).is_err());
    }

    fn level(level: WantedLevel) -> Request {
        Request::Level { methods: "a.B.*".to_owned(), level }
    }
}
