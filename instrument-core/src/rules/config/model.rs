//! `[[rule]]`, `[filter]` and `[exclude]`. The comments of keys are also their descriptions in the JSON Schema and `docs/configuration.md`.

use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;

use super::capture_keys::Arguments;
use super::source_text::SourceText;
use super::value_kind::{Boolean, list, located, number, parsed, text, texts, word};
use crate::declare_table;
use crate::level::{Level, Mode};
use crate::rules::capture::{ArgumentKey, DEFAULT_VALUE_LENGTH, LONGEST_VALUE, Render};
use crate::rules::patterns::call_pattern::CallPattern;
use crate::rules::patterns::class_pattern::{ClassPattern, ExcludePattern, TypeName};
use crate::rules::patterns::delegate_kind::DelegateKind;
use crate::rules::patterns::flag_pattern::FlagPattern;
use crate::rules::patterns::method_pattern::MethodPattern;
use crate::rules::patterns::size_range::SizeRange;
use crate::rules::patterns::text_pattern::TextPattern;

/// What selection compiles.
#[derive(Clone, Copy, Debug)]
pub struct RuleTables<'c> {
    /// The rules, in order.
    pub rules: &'c [Rule],
    /// `[filter]`
    pub filter: &'c FilterConfig,
    /// `[exclude]`
    pub exclude: &'c ExcludeConfig,
}

/// Most methods of frameworks are smaller. There are many of them, and their number is what costs (decision 030 has the figures).
const DEFAULT_WILDCARD_MAX_BYTES: u32 = 200;

/// Bodies up to this size hold a getter, a setter or a few forwarding calls. Most of their time is that of their callees,
/// which are watched themselves (decision 006 has the figures).
const DEFAULT_MAX_BYTES: u32 = 50;

declare_table! {
    /// Methods that get no probe because it would cost more than it is worth. Applies at level `watch` (and `off`) to methods
    /// that a rule takes by a wildcard or without any method pattern; a method named in full is never left out.
    pub struct FilterConfig = "filter" {
        /// Leave out methods that call nothing, lock nothing and have no loop.
        leaf: bool = key("leaf", Boolean, true),
        /// Leave out methods with at most this many bytes of bytecode, unless they call a part of the JDK that may wait (files,
        /// sockets, locks, sleep); 0 switches this off.
        max_bytes: u32 = key("max-bytes", number(0..=65_535), DEFAULT_MAX_BYTES),
        /// The same where a rule names neither packages nor methods (no `class`, `extends`, `annotated`, `module`, `jar`, `method` or `calls`,
        /// or only `class = "**"`). A rule whose `class` names a package takes its methods as `max-bytes` says, and so do all rules
        /// where this is 0, as it is by default with `max-bytes = 0`.
        wildcard_max_bytes: u32 = key("wildcard-max-bytes", number(0..=65_535), DEFAULT_WILDCARD_MAX_BYTES),
    }
}

declare_table! {
    /// What is never instrumented.
    pub struct ExcludeConfig = "exclude" {
        /// Classes, as globs: `*` inside a package, `**` across packages.
        class: Vec<Spanned<ClassPattern>> = key("class", list(ClassPattern::parse), Vec::new()),
    }
}

declare_table! {
    /// A rule takes the methods that fulfil all conditions it states. Without `class` it takes every class outside the JDK, or those of
    /// the JDK's modules that `module` names.
    pub struct Rule = "rule" {
        /// Name of the rule in reports and explanations. Default: `rule-<number>`.
        name: Option<Spanned<String>> = key("name", located(text())),
        /// Classes by name: `*` matches any text inside a package, `**` across packages, a leading `!` excludes classes.
        /// A name without `*` is one class; a nested class is written `Outer$Nested`.
        class: Vec<Spanned<ClassPattern>> = key("class", list(ClassPattern::parse).not_empty(), Vec::new()),
        /// Classes that are, extend or implement one of these types, at any depth.
        extends: Vec<Spanned<TypeName>> = key("extends", list(TypeName::parse).not_empty(), Vec::new()),
        /// Classes that carry one of these annotations themselves.
        annotated: Vec<Spanned<TypeName>> = key("annotated", list(TypeName::parse).not_empty(), Vec::new()),
        /// Classes in one of these named modules; `*` is any text, a leading `!` excludes modules. A class that is loaded from the class
        /// path is in no named module. A module of the JDK must be named up to its first dot at least (`java.sql`, `jdk.*`).
        module: Vec<Spanned<TextPattern>> = key("module", list(TextPattern::module).not_empty(), Vec::new()),
        /// Classes from a jar with one of these file names, or from a directory of this name; `*` is any text, a leading `!` excludes jars.
        /// A library within an executable jar has its own file name. Classes of the JDK are in no jar.
        jar: Vec<Spanned<TextPattern>> = key("jar", list(TextPattern::jar).not_empty(), Vec::new()),
        /// Classes defined by one of these class loaders: `boot`, `platform`, `app`, another loader's name, or the class of the loader; `*` is
        /// any text, a leading `!` excludes loaders. Known only in a running program.
        loader: Vec<Spanned<TextPattern>> = key("loader", list(TextPattern::loader).not_empty(), Vec::new()),
        /// Methods that carry one of these annotations themselves.
        method_annotated: Vec<Spanned<TypeName>> = key("method-annotated", list(TypeName::parse).not_empty(), Vec::new()),
        /// Methods: a name with `*`, or `name(type, *) return` where `*` is one type and `..` any number of types; a
        /// leading `!` excludes methods. A type without a package is that class in any package (`String`).
        method: Vec<Spanned<MethodPattern>> = key("method", list(MethodPattern::parse).not_empty(), Vec::new()),
        /// Methods that have all of these flags, or with a leading `!` do not have them: `public`, `protected`, `private`, `static`, `final`,
        /// `synchronized`, `bridge`, `varargs`, `strictfp`, `synthetic`. The flag `bridge` takes bridge methods as `bridges = true` does.
        flags: Vec<Spanned<FlagPattern>> = key("flags", list(FlagPattern::parse).not_empty().of(FlagPattern::words), Vec::new()),
        /// Methods with so many bytes of bytecode: `>=200`, `>200`, `<=50`, `<50`, or `50-200` with both ends in it. For this rule
        /// `max-bytes` and `wildcard-max-bytes` of `[filter]` do not apply.
        size: Option<SizeRange> = key("size", parsed(SizeRange::parse).form(SizeRange::FORM)),
        /// Methods whose body calls one of these methods: `package.Class.method` with `*` inside a name and `**` across names, a leading `!`
        /// excludes calls. The class is the one on which the source calls the method, as the class file names it: a call of
        /// `PreparedStatement.execute` is no call of `Statement.execute`. `[filter]` does not apply to this rule.
        calls: Vec<Spanned<CallPattern>> = key("calls", list(CallPattern::parse).not_empty(), Vec::new()),
        /// Instead of the methods that the other keys select, the rule takes their delegates: the lambdas, method references and objects that they create,
        /// wherever their code is. `sinks` takes those that they hand to an executor, a thread, a timer or a method `*Async` of
        /// `CompletableFuture`; `any` takes all (docs/delegates.md).
        delegates: Option<DelegateKind> = key("delegates", word::<DelegateKind>()),
        /// Of the methods this rule takes, those that are not instrumented, not by a later rule either: a class glob
        /// (`com.acme.dto.**`), or a class glob, `#` and a method pattern (`com.acme.**#toString()`).
        exclude: Vec<Spanned<ExcludePattern>> = key("exclude", list(ExcludePattern::parse), Vec::new()),
        /// The template, or several, outermost first; `category:database/oracle` is the one for this category or, if there is none, for
        /// `database` (docs/templates.md). Default: `timed`.
        template: Vec<Spanned<String>> = key("template", texts().not_empty(), Vec::new()),
        /// What a probe does; `burst` is for live probes only. A template without a variant for the level uses its live one, which serves all
        /// levels; if it has none either, a warning names the level that is used. Default: `watch`.
        level: Option<Spanned<Level>> = key("level", located(word::<Level>())),
        /// `inline` puts the template into the method, `wrapper` puts a new method around it, which is possible only while
        /// a class is loaded (docs/modes.md).
        mode: Mode = key("mode", word::<Mode>(), Mode::Inline),
        /// Rules that come with the agent: `api`, `async`, `ejb`, `http-client`, `http-server`, `jdbc`, `jsp`, `logging`, `postgresql`,
        /// `servlet`, `socket` or `spring-mvc`. They are inserted in place of this rule; only `name`, `level`, `outermost` and `propagate` can be given with it.
        preset: Option<Spanned<String>> = key("preset", located(text())),
        /// Take constructors, too; a pattern `<init>` takes them as well. Timing every `new` costs a start-up a tenth more.
        constructors: bool = key("constructors", Boolean, false),
        /// Take class initialisers (`<clinit>`).
        class_initialisers: bool = key("class-initialisers", Boolean, false),
        /// Take bridge methods, which the compiler makes and which only forward.
        bridges: bool = key("bridges", Boolean, false),
        /// Whether the governor may change the level of this rule's methods.
        governed: bool = key("governed", Boolean, true),
        /// Whether a statement, request or socket transfer within another one of the same category is a call only and is not counted
        /// again: a pool's wrapper and the driver run the same statement. Default: false; true in the presets `jdbc`,
        /// `postgresql`, `http-client`, `http-server` and `socket`, unless it is given beside `preset`.
        outermost: Option<bool> = key("outermost", Boolean),
        /// Whether requests of the preset `http-client` carry the trace in the header `traceparent`, so that what other processes do for them
        /// belongs to the same trace (docs/metrics.md). It changes what the application sends. Default: false.
        propagate: Option<Spanned<bool>> = key("propagate", located(Boolean)),
        /// Arguments that are recorded with each recorded call: `"all"`, or a list of numbers (from 0), names of parameters, and `"this"`; `!` in
        /// front leaves a parameter out (docs/arguments.md). They may be personal data.
        arguments: Vec<Spanned<ArgumentKey>> = key("arguments", Arguments, Vec::new()),
        /// Whether the result is recorded with each recorded call, too. Default: false.
        result: Option<Spanned<bool>> = key("result", located(Boolean)),
        /// Characters of a value that are kept.
        argument_length: u32 = key("argument-length", number(1..=LONGEST_VALUE), DEFAULT_VALUE_LENGTH),
        /// How objects are shown: `identity` as class and identity hash, `to-string` as their `toString()` says.
        render: Render = key("render", word::<Render>(), Render::Identity),
    } and {
        /// Position of the rule in the file.
        span: Range<usize>,
        /// The text it was read from.
        source: Arc<SourceText>,
    }
}
