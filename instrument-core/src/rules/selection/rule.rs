//! A rule as it is applied.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use crate::level::{Level, Mode};
use crate::rules::capture::Capture;
use crate::rules::patterns::call_pattern::CallPattern;
use crate::rules::patterns::class_pattern::{ClassPattern, ExcludePattern};
use crate::rules::patterns::delegate_kind::DelegateKind;
use crate::rules::patterns::flag_pattern::FlagPattern;
use crate::rules::patterns::method_pattern::MethodPattern;
use crate::rules::patterns::size_range::SizeRange;
use crate::rules::patterns::text_pattern::TextPattern;
use crate::weave::template::TemplateId;

/// A rule with its names looked up, presets expanded.
#[derive(Debug)]
pub struct CompiledRule {
    pub(super) name: String,
    pub(super) origin: String,
    /// Number of the `[[rule]]` of the file that states it or its preset, and the place of that one.
    pub(super) number_in_file: usize,
    pub(super) place_in_file: String,
    pub(super) class: Vec<ClassPattern>,
    /// Names of super types, with the numbers under which the walk of the hierarchy reports them.
    pub(super) extends: Vec<(String, usize)>,
    /// Internal names of annotations.
    pub(super) annotated: Vec<Vec<u8>>,
    pub(super) module: Vec<TextPattern>,
    pub(super) jar: Vec<TextPattern>,
    pub(super) loader: Vec<TextPattern>,
    pub(super) method_annotated: Vec<Vec<u8>>,
    pub(super) method: Vec<MethodPattern>,
    pub(super) flags: Vec<FlagPattern>,
    pub(super) size: Option<SizeRange>,
    pub(super) calls: Vec<CallPattern>,
    /// Takes the delegates of the methods, not these themselves.
    pub(super) delegates: Option<DelegateKind>,
    pub(super) exclude: Vec<ExcludePattern>,
    pub(super) template_names: Vec<String>,
    /// Hashes of what they were read from.
    pub(super) template_contents: Vec<u64>,
    pub(super) templates: Arc<[TemplateId]>,
    pub(super) level: Level,
    /// Whether somebody wrote the level down.
    pub(super) states_level: bool,
    pub(super) mode: Mode,
    pub(super) constructors: bool,
    pub(super) class_initialisers: bool,
    pub(super) bridges: bool,
    pub(super) governed: bool,
    pub(super) outermost: bool,
    pub(super) capture: Option<Arc<Capture>>,
}

impl CompiledRule {
    /// Its name; rules of a preset are named `preset/rule`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// File and line of the rule.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Number of the `[[rule]]` of the file that states it or its preset, from 0.
    pub fn number_in_file(&self) -> usize {
        self.number_in_file
    }

    /// Its patterns of classes as they are written; `**` if it has none.
    pub fn class_text(&self) -> String {
        let sign = |pattern: &ClassPattern| if pattern.negated { "!" } else { "" };
        let texts = self.class.iter().map(|pattern| format!("{}{}", sign(pattern), pattern.glob.text()));
        or_else(texts.collect::<Vec<_>>().join(", "), "**")
    }

    /// Its patterns of methods as they are written; `*` if it has none.
    pub fn method_text(&self) -> String {
        or_else(self.method.iter().map(MethodPattern::text).collect::<Vec<_>>().join(", "), "*")
    }

    /// The templates by name, outermost first.
    pub fn template_names(&self) -> &[String] {
        &self.template_names
    }

    /// The templates, outermost first.
    pub fn templates(&self) -> &[TemplateId] {
        &self.templates
    }

    /// What its probes do.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether its level, or that of its preset, is written in the file; otherwise it is the default.
    pub fn states_level(&self) -> bool {
        self.states_level
    }

    /// How its templates are attached.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the governor may change the level of its methods.
    pub fn is_governed(&self) -> bool {
        self.governed
    }

    /// Whether calls of its methods within another call of the same category are not counted again.
    pub fn counts_outermost(&self) -> bool {
        self.outermost
    }

    /// The values of a call that are captured.
    pub fn capture(&self) -> Option<&Arc<Capture>> {
        self.capture.as_ref()
    }

    /// Returns a number that differs, as good as certainly, for rules that take other methods or do something else to them. Names and places do
    /// not count.
    pub(super) fn digest(&self) -> u64 {
        // All fields by name: one that is added must be thought of here.
        let CompiledRule {
            name: _,
            origin: _,
            number_in_file: _,
            place_in_file: _,
            class,
            extends,
            annotated,
            module,
            jar,
            loader,
            method_annotated,
            method,
            flags,
            size,
            calls,
            delegates,
            exclude,
            template_names,
            template_contents,
            templates: _,
            level,
            states_level,
            mode,
            constructors,
            class_initialisers,
            bridges,
            governed,
            outermost,
            capture,
        } = self;
        let extends: Vec<&str> = extends.iter().map(|(name, _)| name.as_str()).collect();
        let classes = format!("{class:?} {extends:?} {annotated:?} {module:?} {jar:?} {loader:?}");
        let methods = format!("{method_annotated:?} {method:?} {flags:?} {size:?} {calls:?} {delegates:?} {exclude:?}");
        let done = what_is_done(
            (template_names, template_contents),
            *level,
            *mode,
            capture.as_deref(),
            [*states_level, *governed, *outermost],
        );
        FxBuildHasher.hash_one((classes, methods, done, constructors, class_initialisers, bridges))
    }

    /// Returns a number that differs, as good as certainly, for rules that do something else to their methods.
    pub(super) fn effect(&self) -> u64 {
        let switches = [self.states_level, self.governed, self.outermost];
        let templates = (&*self.template_names, &*self.template_contents);
        what_is_done(templates, self.level, self.mode, self.capture.as_deref(), switches)
    }

    /// True if the rule does not say by name which classes it is about; it then leaves the JDK's alone.
    pub(super) fn names_no_class(&self) -> bool {
        self.class.is_empty()
    }

    /// True if the rule has no class patterns and names no module of the JDK, whose classes it then leaves alone.
    pub(super) fn leaves_jdk_alone(&self) -> bool {
        let is_jdk = |name: &[u8]| name.starts_with(b"java.") || name.starts_with(b"jdk.");
        let names_jdk = |pattern: &TextPattern| !pattern.negated && is_jdk(pattern.glob.literal_prefix());
        self.class.is_empty() && !self.module.iter().any(names_jdk)
    }

    /// True if the rule depends on the module, the jar or the loader of a class.
    pub(super) fn asks_for_origin(&self) -> bool {
        !self.module.is_empty() || !self.jar.is_empty() || !self.loader.is_empty()
    }

    /// True if the rule takes whatever there is, and says nothing of what it is about.
    pub(super) fn sweeps(&self) -> bool {
        let names_nothing = |pattern: &ClassPattern| pattern.negated || pattern.glob.literal_prefix().is_empty();
        let is_any = |pattern: &TextPattern| pattern.negated || pattern.glob.text() == "*";
        self.class.iter().all(names_nothing)
            && self.module.iter().chain(&self.jar).all(is_any)
            && self.calls.is_empty()
            && self.extends.is_empty()
            && self.annotated.is_empty()
            && self.method.is_empty()
    }

    /// The `!` pattern of `class` that takes this class away, if any.
    pub(super) fn class_taken_away(&self, name: &[u8]) -> Option<&ClassPattern> {
        self.class.iter().find(|pattern| pattern.negated && pattern.glob.matches(name))
    }

    /// True if `exclude` names the whole class.
    pub(super) fn excludes_class(&self, name: &[u8]) -> bool {
        self.exclude.iter().any(|pattern| pattern.method.is_none() && pattern.class.matches(name))
    }
}

fn what_is_done(
    templates: (&[String], &[u64]),
    level: Level,
    mode: Mode,
    capture: Option<&Capture>,
    switches: [bool; 3],
) -> u64 {
    FxBuildHasher.hash_one((templates, format!("{level} {mode:?} {capture:?}"), switches))
}

fn or_else(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}
