//! `[[rule]]`, `[filter]` and `[exclude]` as types. The JSON Schema is generated from them, so the comments are its descriptions.

use std::ops::Range;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_spanned::Spanned;

use super::capture_keys::argument_keys;
use super::source_text::SourceText;
use crate::level::{Level, Mode};
use crate::rules::capture::{ArgumentKey, Render};
use crate::rules::patterns::class_pattern::{ClassPattern, ExcludePattern, TypeName};
use crate::rules::patterns::method_pattern::MethodPattern;

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

/// Methods that get no probe because it would cost more than it is worth. Applies at level `watch` (and `off`) to methods
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
    /// The same where a rule names neither packages nor methods (no `class`, `extends`, `annotated` or `method`, or only `class = "**"`).
    /// A rule whose `class` names a package takes its methods as `max-bytes` says, and so do all rules
    /// where this is 0, as it is by default with `max-bytes = 0`.
    #[schemars(range(max = 65535))]
    pub wildcard_max_bytes: u32,
}

/// Most methods of frameworks are smaller. There are many of them, and their number is what costs (decision 030 has the figures).
pub(super) const DEFAULT_WILDCARD_MAX_BYTES: u32 = 200;

/// Bodies up to this size hold a getter, a setter or a few forwarding calls. Most of their time is that of their callees,
/// which are watched themselves (decision 006 has the figures).
pub const DEFAULT_MAX_BYTES: u32 = 50;

impl Default for FilterConfig {
    fn default() -> FilterConfig {
        FilterConfig { leaf: true, max_bytes: DEFAULT_MAX_BYTES, wildcard_max_bytes: DEFAULT_WILDCARD_MAX_BYTES }
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
    /// Classes by name: `*` matches any text inside a package, `**` across packages, a leading `!` excludes classes.
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
    /// Methods: a name with `*`, or `name(type, *) return` where `*` is one type and `..` any number of types; a
    /// leading `!` excludes methods. A type without a package is that class in any package (`String`).
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
    /// without a variant for the level uses its live one, which serves all levels; if it has none either, a warning names the level that is used.
    #[schemars(with = "Level")]
    pub level: Option<Spanned<Level>>,
    /// `inline` (default) puts the template into the method, `wrapper` puts a new method around it, which is possible only while
    /// a class is loaded (docs/modes.md).
    #[schemars(with = "Mode")]
    pub mode: Option<Mode>,
    /// Rules that come with the agent: `api`, `async`, `ejb`, `http-server`, `jdbc`, `jsp`, `logging`, `servlet` or `socket`. They are
    /// inserted in place of this rule; only `name`, `level` and `outermost` can be given with it.
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
    /// Position of the rule in the file.
    #[schemars(skip)]
    pub span: Range<usize>,
    /// The text it was read from.
    #[schemars(skip)]
    pub source: Arc<SourceText>,
}

/// Returns the schema of a string, or a list of strings.
pub fn string_or_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
    })
}
