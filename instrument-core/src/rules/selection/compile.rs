//! Configuration -> rules: presets expanded, templates and types looked up.

use std::sync::Arc;

use serde_spanned::Spanned;

use super::first_look::AskedAnnotations;
use super::hierarchy::WantedTypes;
use super::jdk_packages::may_match_jdk;
use super::name_index::NameIndex;
use super::rule::CompiledRule;
use super::rule_set::RuleSet;
use super::template_catalog::TemplateCatalog;
use crate::level::Level;
use crate::rules::config::{Diagnostic, Rule, RuleFile, RuleTables};
use crate::rules::nearest_name::suggest;
use crate::rules::patterns::class_pattern::TypeName;
use crate::weave::template::category;

/// The catch-all, used by rules that name no template.
const DEFAULT_TEMPLATE: &str = "timed";

impl RuleSet {
    /// Compiles rules. `presets` are pairs of name and rule file.
    /// `Err` holds everything that is wrong with them, in the order of the rules.
    pub fn compile(
        config: RuleTables<'_>,
        catalog: &dyn TemplateCatalog,
        presets: &[(&str, &str)],
    ) -> Result<RuleSet, Vec<Diagnostic>> {
        let mut compiler =
            Compiler { catalog, presets, wanted: WantedTypes::default(), rules: Vec::new(), problems: Vec::new() };
        for (number, rule) in config.rules.iter().enumerate() {
            let name = rule.name.as_ref().map_or_else(|| format!("rule-{}", number + 1), |name| name.get_ref().clone());
            match &rule.preset {
                Some(preset) => compiler.expand(number, rule, preset),
                None => {
                    compiler.refuse_propagate(rule);
                    compiler.compile(number, rule, name, rule);
                }
            }
        }
        if !compiler.problems.is_empty() {
            return Err(compiler.problems);
        }
        Ok(rule_set(config, compiler.rules, compiler.wanted))
    }
}

fn rule_set(config: RuleTables<'_>, rules: Vec<CompiledRule>, wanted: WantedTypes) -> RuleSet {
    let named = |(number, rule): (usize, &CompiledRule)| -> Vec<_> {
        let positive = rule.class.iter().filter(|pattern| !pattern.negated);
        positive.map(|pattern| (number, pattern.glob.clone())).collect()
    };
    let patterns: Vec<_> = rules.iter().enumerate().flat_map(named).collect();
    let unnamed: Vec<usize> =
        (0..rules.len()).filter(|at| rules.get(*at).is_some_and(CompiledRule::names_no_class)).collect();
    let takes_jdk = |at: &usize| rules.get(*at).is_some_and(|rule| !rule.leaves_jdk_alone());
    let unnamed_of_jdk: Vec<usize> = unnamed.iter().copied().filter(takes_jdk).collect();
    RuleSet {
        may_match_jdk: !unnamed_of_jdk.is_empty() || patterns.iter().any(|(_, glob)| may_match_jdk(glob)),
        index: NameIndex::new(patterns),
        unnamed,
        unnamed_of_jdk,
        exclude: config.exclude.class.iter().map(|pattern| pattern.get_ref().glob.clone()).collect(),
        filter: config.filter.clone(),
        annotations: AskedAnnotations::of(&rules),
        rules,
        wanted,
    }
}

struct Compiler<'p> {
    catalog: &'p dyn TemplateCatalog,
    presets: &'p [(&'p str, &'p str)],
    wanted: WantedTypes,
    rules: Vec<CompiledRule>,
    problems: Vec<Diagnostic>,
}

impl Compiler<'_> {
    fn refuse_propagate(&mut self, rule: &Rule) {
        if let Some(stated) = &rule.propagate {
            let message = "`propagate` can be given beside `preset` only".to_owned();
            self.problems.push(rule.source.error(stated.span(), message));
        }
    }

    fn expand(&mut self, number_in_file: usize, rule: &Rule, preset: &Spanned<String>) {
        let Some((name, text)) = self.presets.iter().find(|(name, _)| name == preset.get_ref()) else {
            let names: Vec<&str> = self.presets.iter().map(|(name, _)| *name).collect();
            let message = format!("unknown preset `{}`", preset.get_ref());
            let suggestion = suggest(preset.get_ref(), &names);
            self.problems.push(Diagnostic { suggestion, ..rule.source.error(preset.span(), message) });
            return;
        };
        let prefix = rule.name.as_ref().map_or(*name, |name| name.get_ref());
        match RuleFile::parse(text, &format!("preset {name}")) {
            Err(mut problems) => self.problems.append(&mut problems),
            Ok((file, _)) => {
                let propagates = |rule: &Rule| rule.propagate.as_ref().is_some_and(|propagate| *propagate.get_ref());
                if let Some(stated) = rule.propagate.as_ref().filter(|_| !file.rules.iter().any(propagates)) {
                    let message = format!("the preset `{name}` sends no requests that could carry a trace");
                    self.problems.push(rule.source.error(stated.span(), message));
                }
                for (number, inner) in file.rules.iter().enumerate() {
                    let number = (number + 1).to_string();
                    let own = inner.name.as_ref().map_or(number.as_str(), |name| name.get_ref());
                    if let Some(nested) = &inner.preset {
                        let message = "a preset cannot name another".to_owned();
                        self.problems.push(inner.source.error(nested.span(), message));
                        continue;
                    }
                    if !propagates(inner) || propagates(rule) {
                        self.compile(number_in_file, inner, format!("{prefix}/{own}"), rule);
                    }
                }
            }
        }
    }

    /// Compiles a rule. What `user` states, the rule that names the preset or this rule itself, has precedence.
    fn compile(&mut self, number_in_file: usize, rule: &Rule, name: String, user: &Rule) {
        let stated = user.level.as_ref().or(rule.level.as_ref()).map(|level| *level.get_ref());
        let level = stated.unwrap_or(Level::Watch);
        let default = [Spanned::new(rule.span.clone(), DEFAULT_TEMPLATE.to_owned())];
        let templates = if rule.template.is_empty() { &default } else { rule.template.as_slice() };
        let templates: Vec<_> = templates.iter().filter_map(|template| self.of_category(rule, template)).collect();
        let templates = templates.as_slice();
        let mut ids = Vec::with_capacity(templates.len());
        let capture = rule.capture().map(Arc::new);
        let mut captures = false;
        for template in templates {
            let capturing = capture.as_ref().and_then(|_| self.catalog.find_capturing(template.get_ref(), level));
            captures |= self.catalog.find_capturing(template.get_ref(), level.max(Level::Watch)).is_some();
            match capturing.or_else(|| self.catalog.find(template.get_ref(), level)) {
                Some(id) => ids.push(id),
                None => self.problems.push(self.no_template(rule, template, level)),
            }
        }
        if capture.is_some() && !captures && !ids.is_empty() && ids.len() == templates.len() {
            self.problems.push(no_capture(rule, templates));
        }
        let types = |names: &[Spanned<TypeName>]| names.iter().map(|name| name.get_ref().internal().to_vec()).collect();
        let extends = rule.extends.iter().map(Spanned::get_ref);
        let compiled = CompiledRule {
            name,
            origin: place(rule),
            number_in_file,
            place_in_file: place(user),
            class: plain(&rule.class),
            extends: extends.map(|name| (name.text().to_owned(), self.wanted.number(name.internal()))).collect(),
            annotated: types(&rule.annotated),
            method_annotated: types(&rule.method_annotated),
            module: plain(&rule.module),
            jar: plain(&rule.jar),
            loader: plain(&rule.loader),
            method: plain(&rule.method),
            flags: plain(&rule.flags),
            size: rule.size.clone(),
            calls: plain(&rule.calls),
            delegates: rule.delegates,
            exclude: plain(&rule.exclude),
            template_names: plain(templates),
            template_contents: ids.iter().map(|id| self.catalog.content(*id)).collect(),
            templates: Arc::from(ids),
            level,
            states_level: stated.is_some(),
            mode: rule.mode,
            constructors: rule.constructors,
            class_initialisers: rule.class_initialisers,
            bridges: rule.bridges,
            governed: rule.governed,
            outermost: user.outermost.or(rule.outermost).unwrap_or(false),
            capture,
        };
        self.rules.push(compiled);
    }

    /// Returns the template itself, or the one that `category:NAME` means; `None` after the problem was noted.
    fn of_category(&mut self, rule: &Rule, template: &Spanned<String>) -> Option<Spanned<String>> {
        let Some(category) = template.get_ref().strip_prefix(category::PREFIX) else { return Some(template.clone()) };
        if let Some(name) = self.catalog.of_category(category) {
            return Some(Spanned::new(template.span(), name));
        }
        let known = self.catalog.categories();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let message = format!("no template has the category `{category}`, nor one that it refines");
        let suggestion = suggest(category, &known);
        self.problems.push(Diagnostic { suggestion, ..rule.source.error(template.span(), message) });
        None
    }

    fn no_template(&self, rule: &Rule, template: &Spanned<String>, level: Level) -> Diagnostic {
        let name = template.get_ref();
        let names = self.catalog.names();
        let error = |message: String| rule.source.error(template.span(), message);
        if names.contains(name) {
            return error(format!("template `{name}` has no variant for level `{level}`"));
        }
        if rule.template.is_empty() {
            return error(format!("the rule names no template and there is no template `{name}`"));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Diagnostic { suggestion: suggest(name, &names), ..error(format!("unknown template `{name}`")) }
    }
}

/// File and line.
fn place(rule: &Rule) -> String {
    format!("{}:{}", rule.source.file(), rule.source.line_at(rule.span.start))
}

fn plain<P: Clone>(items: &[Spanned<P>]) -> Vec<P> {
    items.iter().map(|item| item.get_ref().clone()).collect()
}

/// None of the templates takes values.
fn no_capture(rule: &Rule, templates: &[Spanned<String>]) -> Diagnostic {
    let names: Vec<String> = templates.iter().map(|template| format!("`{}`", template.get_ref())).collect();
    let span = rule.arguments.first().map(Spanned::span).or_else(|| Some(rule.result.as_ref()?.span()));
    let message = format!("{} takes no values of calls", names.join(" and "));
    let help = "use the template `timed`, or one of your own that asks for `Target.captured()`".to_owned();
    Diagnostic { suggestion: Some(help), ..rule.source.error(span.unwrap_or_else(|| rule.span.clone()), message) }
}
