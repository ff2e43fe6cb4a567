//! Explanations as text for a terminal.

use std::fmt;

use super::explain::{ClassExplanation, MethodExplanation, RuleAnswer};

impl fmt::Display for ClassExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "class {}", self.class)?;
        if let Some(reason) = &self.refused {
            return writeln!(f, "  left alone: {reason}");
        }
        if let Some(version) = &self.instrumented_ahead {
            let note = "its probes record where a rule takes their method, and the agent adds none";
            writeln!(f, "instrumented ahead of time by instr pre {version}: {note}")?;
        }
        writeln!(f, "rules:")?;
        let width = self.rules.iter().map(|answer| answer.rule.chars().count()).max().unwrap_or(0);
        for answer in &self.rules {
            write_answer(f, answer, width)?;
        }
        if self.rules.is_empty() {
            writeln!(f, "  none")?;
        }
        for name in &self.unresolved {
            writeln!(f, "not found: {name}; with it more rules may match")?;
        }
        writeln!(f, "methods:")?;
        if self.methods.is_empty() {
            writeln!(f, "  none")?;
        }
        self.methods.iter().try_for_each(|method| write_method(f, method))
    }
}

fn write_answer(f: &mut fmt::Formatter<'_>, answer: &RuleAnswer, width: usize) -> fmt::Result {
    let sign = if answer.matches { "yes" } else { "no " };
    writeln!(f, "  {sign} {:width$}  {} ({})", answer.rule, answer.reason, answer.origin)
}

fn write_method(f: &mut fmt::Formatter<'_>, method: &MethodExplanation) -> fmt::Result {
    match (&method.instrumented, &method.skipped) {
        (Some(chosen), _) => {
            writeln!(
                f,
                "  + {}: {} at level {}, {} (rule {})",
                method.signature,
                chosen.templates.join(" around "),
                chosen.level,
                chosen.mode,
                chosen.rule
            )?;
            if !chosen.captured.is_empty() {
                writeln!(f, "      with {}", chosen.captured.join(", "))?;
            }
            chosen.not_captured.iter().try_for_each(|note| writeln!(f, "      {note}"))?;
        }
        (None, Some(reason)) => writeln!(f, "  - {}: {reason}", method.signature)?,
        (None, None) => writeln!(f, "  - {}: {}", method.signature, method.refused.as_deref().unwrap_or("refused"))?,
    }
    method.rules.iter().try_for_each(|answer| {
        let sign = if answer.matches { "yes" } else { "no " };
        writeln!(f, "      {sign} {}: {}", answer.rule, answer.reason)
    })
}
