//! The configuration as types. The JSON Schema is generated from here, so the comments are its descriptions.

use std::ops::Range;
use std::sync::Arc;

use schemars::JsonSchema;
use serde_spanned::Spanned;

use super::allocation::AllocationConfig;
use super::capture_keys::argument_keys;
use super::file_pattern::FilePattern;
use super::governor_table::GovernorConfig;
use super::metrics_table::MetricsConfig;
use super::sampler::SamplerConfig;
use super::schema::string_or_list;
use super::source_text::SourceText;
use super::trace_table::TraceConfig;
use super::watch_table::WatchConfig;
use crate::level::{Level, Mode};
use crate::rules::capture::{ArgumentKey, Render};
use crate::rules::patterns::class_pattern::{ClassPattern, ExcludePattern, TypeName};
use crate::rules::patterns::method_pattern::MethodPattern;

/// Configuration of the instr agent: what is instrumented, with which template, and where the results go.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Config {
    /// The recording.
    #[schemars(default)]
    pub trace: TraceConfig,
    /// Figures of the running program, for monitoring systems.
    #[schemars(default)]
    pub metrics: MetricsConfig,
    /// The agent itself.
    #[schemars(default)]
    pub agent: AgentConfig,
    /// Samples of running threads, beside or without probes. Off unless this table is there.
    #[schemars(default)]
    pub sampler: SamplerConfig,
    /// Samples of allocations. Off unless this table is there.
    #[schemars(default)]
    pub allocation: AllocationConfig,
    /// Methods too small to be worth a probe at level `watch`.
    #[schemars(default)]
    pub filter: FilterConfig,
    /// What is never instrumented, whatever the rules say.
    #[schemars(default)]
    pub exclude: ExcludeConfig,
    /// What can be changed while the program runs.
    #[schemars(default)]
    pub control: ControlConfig,
    /// How level `watch` looks.
    #[schemars(default)]
    pub watch: WatchConfig,
    /// Keeps the cost of exact times below a budget.
    #[schemars(default)]
    pub governor: GovernorConfig,
    /// The rules, in order: the first that matches a method decides.
    #[schemars(default, rename = "rule")]
    pub rules: Vec<Rule>,
    /// The text it was read from.
    #[schemars(skip)]
    pub source: Arc<SourceText>,
}

/// How the agent behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AgentConfig {
    /// File for the figures at exit, as JSON: classes seen and rewritten, methods instrumented and refused, records, losses. `%p`, `%t`, `%h`
    /// and `%%` as in the name of the trace file; an earlier file is renamed to `NAME-1.json` and so on. `skipped` counts the methods that rules left alone, but none of `classes_unmatched`, which ended at their heads.
    #[schemars(with = "String")]
    pub stats: Option<FilePattern>,
    /// What happens when the agent cannot start, for instance because this file has an error. Default: `continue`.
    #[schemars(rename = "on_error")]
    pub on_error: OnError,
    /// Jars with templates of your own.
    #[schemars(schema_with = "string_or_list")]
    pub templates: Vec<Spanned<String>>,
    /// How much the agent tells on stderr. Default: `warn`.
    #[schemars(with = "LogLevel")]
    pub log: Option<LogLevel>,
    /// Directory that every rewritten class is written to, as `package/Name.class`, for looking into. A class
    /// replaces an earlier one of its name; with `%p` (and `%t`, `%h`, `%%`) each process has a directory of its own.
    #[schemars(with = "String")]
    pub dump: Option<FilePattern>,
    /// For measuring: compute every rewrite, then throw it away and let the application run unchanged.
    pub discard: bool,
}

/// What `instr status`, `instr top` and `instr level` may do with the running program.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ControlConfig {
    /// Probes whose level can be changed at any time, without touching the class again. Only templates with a live variant, such as the
    /// built-in ones, can do that.
    pub live: bool,
    /// How long a window of level `burst` is open, in milliseconds. Default: 1.
    #[schemars(range(min = 1, max = 10000))]
    pub burst_open_ms: u32,
    /// From the beginning of a window to that of the next, in milliseconds; longer than `burst-open-ms`. Default: 100.
    #[schemars(range(min = 2, max = 60000))]
    pub burst_period_ms: u32,
    /// Listen to the same user's `instr` commands on a Unix domain socket in `/tmp/instr-<user id>`. Default: true.
    pub socket: bool,
    /// Keep the call tree of all calls up to now in memory, for `instr top PID --tree`. Costs the recorder's thread some 50 ns a
    /// call, the application nothing. Default: false.
    pub call_tree: bool,
}

impl Default for ControlConfig {
    fn default() -> ControlConfig {
        ControlConfig { live: false, burst_open_ms: 1, burst_period_ms: 100, socket: true, call_tree: false }
    }
}

/// What happens when the agent cannot start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum OnError {
    /// Say so on stderr; the application runs un-instrumented.
    #[default]
    Continue,
    /// Say so on stderr and end the JVM.
    Abort,
}

/// How much the agent tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What went wrong.
    Error,
    /// Also what may go wrong.
    Warn,
    /// Also the milestones.
    Info,
    /// Also each decision.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The name used in the file, which is also the directive of `tracing`.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Off => "off",
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        }
    }
}

/// Methods that get no probe because it would cost more than it tells. Applies at level `watch` (and `off`) to methods
/// that a rule takes by a wildcard or without any method pattern; a method named in full is never left out.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FilterConfig {
    /// Leave out methods that call nothing, lock nothing and have no loop.
    pub leaf: bool,
    /// Leave out methods with at most this many bytes of bytecode, unless they call a part of the JDK that may wait (files,
    /// sockets, locks, sleep); 0 switches this off.
    #[schemars(range(max = 65535))]
    pub max_bytes: u32,
    /// The same for well-known libraries (Spring, Hibernate, Tomcat, Netty, drivers, parsers, logging, ...), where a rule says neither
    /// which classes nor which methods it is about: their small methods are many and tell little to those who use them. A rule whose
    /// `class` names the library takes them as `max-bytes` says, and so do all rules where this is 0, as it is by default with
    /// `max-bytes = 0`.
    #[schemars(range(max = 65535))]
    pub library_max_bytes: u32,
}

/// Most methods of a framework are smaller, and they are what costs (decision 021 has the figures).
pub(super) const DEFAULT_LIBRARY_MAX_BYTES: u32 = 200;

/// Bodies up to this size hold a getter, a setter or a few forwarding calls. Most of their time is that of their callees,
/// which are watched themselves (decision 006 has the figures).
pub const DEFAULT_MAX_BYTES: u32 = 50;

impl Default for FilterConfig {
    fn default() -> FilterConfig {
        FilterConfig { leaf: true, max_bytes: DEFAULT_MAX_BYTES, library_max_bytes: DEFAULT_LIBRARY_MAX_BYTES }
    }
}

/// What is never instrumented.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ExcludeConfig {
    /// Classes, as globs: `*` inside a package, `**` across packages.
    #[schemars(schema_with = "string_or_list")]
    pub class: Vec<Spanned<ClassPattern>>,
}

/// A rule takes the methods that fulfil all conditions it states. Without `class` it takes every class outside the JDK.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Rule {
    /// Name of the rule in reports and explanations. Default: `rule-<number>`.
    #[schemars(with = "String")]
    pub name: Option<Spanned<String>>,
    /// Classes by name: `*` stands for any text inside a package, `**` across packages, `!` in front takes classes away.
    /// A name without `*` is one class; a nested class is written `Outer$Nested`.
    #[schemars(schema_with = "string_or_list")]
    pub class: Vec<Spanned<ClassPattern>>,
    /// Classes that are, extend or implement one of these types, at any depth.
    #[schemars(schema_with = "string_or_list")]
    pub extends: Vec<Spanned<TypeName>>,
    /// Classes that carry one of these annotations themselves.
    #[schemars(schema_with = "string_or_list")]
    pub annotated: Vec<Spanned<TypeName>>,
    /// Methods that carry one of these annotations themselves.
    #[schemars(schema_with = "string_or_list")]
    pub method_annotated: Vec<Spanned<TypeName>>,
    /// Methods: a name with `*`, or `name(type, *) return` where `*` is one type and `..` any number of types; `!` in
    /// front takes methods away. A type without a package is that class in any package (`String`).
    #[schemars(schema_with = "string_or_list")]
    pub method: Vec<Spanned<MethodPattern>>,
    /// Of the methods this rule takes, those that are not instrumented, not by a later rule either: a class glob
    /// (`com.acme.dto.**`), or a class glob, `#` and a method pattern (`com.acme.**#toString()`).
    #[schemars(schema_with = "string_or_list")]
    pub exclude: Vec<Spanned<ExcludePattern>>,
    /// The template, or several, outermost first. Default: `timed`.
    #[schemars(schema_with = "string_or_list")]
    pub template: Vec<Spanned<String>>,
    /// What a probe does: `off`, `watch` (default), `burst` (live probes only), `time` or `full`. A template
    /// without a variant for the level uses its live one, which is for all; where it has none either, a warning says which level is used.
    #[schemars(with = "Level")]
    pub level: Option<Spanned<Level>>,
    /// `inline` (default) puts the template into the method, `wrapper` puts a new method around it, which is possible only while
    /// a class is loaded (docs/modes.md).
    #[schemars(with = "Mode")]
    pub mode: Option<Mode>,
    /// Rules that come with the agent: `api`, `async`, `ejb`, `http-server`, `jdbc`, `jsp`, `logging`, `servlet` or `socket`. They stand where this rule
    /// stands; only `name`, `level` and `outermost` can be given with it.
    #[schemars(with = "String")]
    pub preset: Option<Spanned<String>>,
    /// Take constructors, too. Default: false; a pattern `<init>` takes them as well. Timing every `new` costs a start-up a tenth more.
    #[schemars(with = "bool")]
    pub constructors: Option<bool>,
    /// Take class initialisers (`<clinit>`). Default: false.
    #[schemars(with = "bool")]
    pub class_initialisers: Option<bool>,
    /// Take bridge methods, which the compiler makes and which only forward. Default: false.
    #[schemars(with = "bool")]
    pub bridges: Option<bool>,
    /// Whether the governor may change the level of this rule's methods. Default: true.
    #[schemars(with = "bool")]
    pub governed: Option<bool>,
    /// Whether a statement, request or socket transfer within another one of the same category is a call only and is not counted
    /// again: a pool's wrapper and the driver run the same statement. Default: false; true in the presets `jdbc`, `http-server` and
    /// `socket`, unless it is given beside `preset`.
    #[schemars(with = "bool")]
    pub outermost: Option<bool>,
    /// Arguments that are recorded with each recorded call: `"all"`, or a list of numbers (from 0), names of parameters, and `"this"`; `!` in
    /// front leaves a parameter out (docs/arguments.md). They may be personal data.
    #[schemars(schema_with = "argument_keys")]
    pub arguments: Vec<Spanned<ArgumentKey>>,
    /// Whether the result is recorded with each recorded call, too. Default: false.
    #[schemars(with = "bool")]
    pub result: Option<Spanned<bool>>,
    /// Characters of a value that are kept. Default: 100.
    #[schemars(with = "u16", range(min = 1, max = 1000))]
    pub argument_length: Option<u16>,
    /// How objects are shown: `identity` (default) as class and identity hash, `to-string` as their `toString()` says.
    #[schemars(with = "Render")]
    pub render: Option<Render>,
    /// Where the rule stands.
    #[schemars(skip)]
    pub span: Range<usize>,
    /// The text it was read from.
    #[schemars(skip)]
    pub source: Arc<SourceText>,
}
