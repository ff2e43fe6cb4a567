//! What happens to the methods of a class, with the listings of both forms.

use std::fmt::{self, Write};

use anyhow::{Context, Result};
use classfile::{ClassFile, Member, ModifiedUtf8};
use instrument_core::level::Mode;
use instrument_core::rules::patterns::method_pattern::MethodPattern;
use instrument_core::selection::signature::signature;
use instrument_core::selection::{ClassExplanation, Instrumentation, MethodExplanation};
use instrument_core::{OffsetMap, Outcome, Rewritten, RewrittenMethod};
use serde::Serialize;

use crate::listing::{Listing, Merged, Paint, Way, write_listing};

/// What is to be shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'w> {
    /// These methods; `None` for all that are instrumented.
    pub(crate) methods: Option<&'w MethodPattern>,
    pub(crate) before: bool,
    pub(crate) after: bool,
    pub(crate) offset_map: bool,
}

/// A class with the methods that are shown.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ClassDump {
    class: String,
    methods: Vec<MethodDump>,
    /// Methods that are not shown, because they stay as they are, and why.
    left_alone: Vec<LeftAlone>,
}

#[derive(Debug, Serialize)]
struct LeftAlone {
    signature: String,
    reason: String,
}

/// One method.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct MethodDump {
    name: String,
    descriptor: String,
    signature: String,
    /// How it is instrumented, if a rule takes it.
    chosen: Option<Instrumentation>,
    /// Why it stays as it is.
    left_alone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Listing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Listing>,
    change: Option<Change>,
}

/// What instrumenting did to the code.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Change {
    bytes_before: u32,
    bytes_after: u32,
    layout_passes: u32,
    /// The name of the original body, if a wrapper took its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed: Option<String>,
    /// Stretches of code that moved as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    offset_map: Vec<Stretch>,
}

#[derive(Debug, Serialize)]
struct Stretch {
    was: u32,
    is: u32,
    length: u32,
}

impl ClassDump {
    /// Lists the wanted methods of a class with what the engine made of it.
    pub(crate) fn new(
        class: &ClassFile<'_>,
        explanation: ClassExplanation,
        outcome: Outcome,
        wanted: &Wanted<'_>,
    ) -> Result<ClassDump> {
        let (rewritten, refused) = match outcome {
            Outcome::Rewritten(rewritten) => {
                let refused = rewritten.refused.clone();
                (Some(rewritten), refused)
            }
            Outcome::Unchanged { refused } => (None, refused),
        };
        let new_class = rewritten.as_ref().map(|rewritten| ClassFile::parse(&rewritten.bytes)).transpose();
        let new_class = new_class.context("instr wrote a class that it cannot read; please report it")?;
        let mut dump = ClassDump { class: explanation.class, methods: Vec::new(), left_alone: Vec::new() };
        for (index, (method, explained)) in class.methods().iter().zip(explanation.methods).enumerate() {
            let reason = refused.iter().find(|refused| refused.method_index == index);
            let reason = reason.map(|refused| refused.reason.to_string());
            let reason = reason.or_else(|| explained.skipped.map(|reason| reason.to_string()));
            let named = wanted.methods.map(|pattern| matches(pattern, method));
            if let (None, Some(reason)) = (named, &reason) {
                dump.left_alone.push(LeftAlone { signature: explained.signature, reason: reason.clone() });
                continue;
            }
            if named != Some(false) {
                let new = new_class.as_ref().zip(rewritten.as_ref()).filter(|_| reason.is_none());
                let forms = Forms { class, method, new, index };
                let shown = method_dump(&forms, explained, reason, wanted);
                let shown = shown.with_context(|| format!("cannot read {}{}", method.name, method.descriptor))?;
                let original = new.filter(|_| !wanted.before).and_then(|(new, _)| shown.original(new));
                dump.methods.push(shown);
                if let Some((new, method)) = original {
                    dump.methods.push(original_body(new, method)?);
                }
            }
        }
        Ok(dump)
    }
}

fn matches(pattern: &MethodPattern, method: &Member<'_>) -> bool {
    pattern.matches(method.name.as_bytes(), method.descriptor.as_bytes())
}

/// A method in its class, and the class once rewritten.
struct Forms<'f, 'a, 'n> {
    class: &'f ClassFile<'a>,
    method: &'f Member<'a>,
    new: Option<(&'f ClassFile<'n>, &'f Rewritten)>,
    index: usize,
}

fn method_dump(
    forms: &Forms<'_, '_, '_>,
    explained: MethodExplanation,
    left_alone: Option<String>,
    wanted: &Wanted<'_>,
) -> Result<MethodDump> {
    let before = Listing::of(forms.class, forms.method, None)?;
    let (mut after, mut change) = (None, None);
    if let (Some((class, rewritten)), Some(before)) = (forms.new, &before)
        && let Some(done) = rewritten.methods.iter().find(|done| done.method_index == forms.index)
        && let Some(method) = class.methods().get(forms.index)
    {
        let probes: Vec<usize> = rewritten.probes.iter().map(|slot| slot.offset).collect();
        let renamed = done.renamed.as_ref().map(|name| ModifiedUtf8(name).to_string());
        let way = renamed.as_deref().map_or(Way::Inline(&done.offset_map), Way::Wrapper);
        after = Listing::of(class, method, Some(Merged { before, way, probes: &probes }))?;
        change = Some(Change::of(done, wanted.offset_map));
    }
    Ok(MethodDump {
        name: explained.name,
        descriptor: explained.descriptor,
        signature: explained.signature,
        chosen: explained.instrumented,
        // A method that stays as it is has one form only.
        before: before.filter(|_| wanted.before || after.is_none()),
        after: after.filter(|_| wanted.after),
        left_alone,
        change,
    })
}

/// What a wrapper calls: a method that the class has only once it is instrumented. Its code is that of the method as it was.
fn original_body(class: &ClassFile<'_>, method: &Member<'_>) -> Result<MethodDump> {
    Ok(MethodDump {
        name: method.name.to_string(),
        descriptor: method.descriptor.to_string(),
        signature: signature(method),
        chosen: None,
        left_alone: None,
        before: None,
        after: Listing::of(class, method, None)?,
        change: None,
    })
}

impl Change {
    fn of(done: &RewrittenMethod, with_map: bool) -> Change {
        let stretches =
            |map: &OffsetMap| map.stretches().map(|(was, is, length)| Stretch { was, is, length }).collect();
        Change {
            bytes_before: done.length_before,
            bytes_after: done.length_after,
            layout_passes: done.passes,
            renamed: done.renamed.as_ref().map(|name| ModifiedUtf8(name).to_string()),
            offset_map: if with_map { stretches(&done.offset_map) } else { Vec::new() },
        }
    }
}

impl ClassDump {
    /// For a terminal.
    pub(crate) fn text(&self, paint: Paint) -> Result<String> {
        let mut out = String::new();
        writeln!(out, "{}", paint.strong(&format!("class {}", self.class)))?;
        for method in &self.methods {
            method.write(&mut out, paint)?;
        }
        if !self.left_alone.is_empty() {
            writeln!(out, "\nleft alone:")?;
        }
        for LeftAlone { signature, reason } in &self.left_alone {
            writeln!(out, "  - {signature}: {reason}")?;
        }
        Ok(out)
    }
}

impl MethodDump {
    /// The method of the new class that holds this one's own code, if a wrapper took its name.
    fn original<'f, 'n>(&self, new: &'f ClassFile<'n>) -> Option<(&'f ClassFile<'n>, &'f Member<'n>)> {
        let name = self.change.as_ref()?.renamed.as_deref()?;
        let mut methods = new.methods().iter();
        let is_it = |method: &&Member<'_>| method.name == name && method.descriptor.to_string() == self.descriptor;
        Some((new, methods.find(is_it)?))
    }

    fn write(&self, out: &mut String, paint: Paint) -> fmt::Result {
        writeln!(out, "\n{}", paint.strong(&self.signature))?;
        writeln!(out, "  {}", self.headline())?;
        if let Some(listing) = &self.before {
            write_listing(out, if self.change.is_some() { "before" } else { "as it is" }, listing, paint)?;
        }
        if let Some(listing) = &self.after {
            write_listing(out, if self.change.is_some() { "after" } else { "as it was" }, listing, paint)?;
        }
        let map = self.change.iter().flat_map(|change| &change.offset_map);
        for (at, Stretch { was, is, length }) in map.enumerate() {
            if at == 0 {
                writeln!(out, "    offset map (was -> is, bytes):")?;
            }
            writeln!(out, "      {was:5} -> {is:5}  {length:5}")?;
        }
        Ok(())
    }

    fn headline(&self) -> String {
        match (&self.chosen, &self.left_alone, &self.change) {
            (_, Some(reason), _) => format!("left alone: {reason}"),
            (Some(chosen), None, Some(change)) => format!(
                "{} at level {}, {} (rule {}); {} -> {} bytes ({:+}), layout passes: {}{}",
                chosen.templates.join(" around "),
                chosen.level,
                if change.renamed.is_some() { Mode::Wrapper } else { chosen.mode },
                chosen.rule,
                change.bytes_before,
                change.bytes_after,
                i64::from(change.bytes_after) - i64::from(change.bytes_before),
                change.layout_passes,
                change.renamed.as_ref().map(|name| format!("; the original is {name}")).unwrap_or_default()
            ),
            _ => "the original body, which a wrapper calls".to_owned(),
        }
    }
}
