//! `[[context]]`: probes that record only while certain methods are executing.

use instrument_core::config::{Boolean, Problems, Table as _, TableReader, located, parsed, read_tables, text, word};
use instrument_core::declare_table;
use instrument_core::level::Level;
use serde_spanned::Spanned;

use super::patterns::{condition, context, methods, name_for_hosts};

declare_table! {
    /// Probes that record only inside a context: while its methods are executing on the thread, in their order (docs/probes.md). There may be any number.
    pub struct ContextConfig = "context" {
        /// The methods of the context, the outermost first: `"a.B.c > d.E.f"`; 1 to 16, each as `package.Class.method` with `*` and `**`.
        within: Option<String> = key("in", parsed(context)),
        /// Only calls that the last method of `in` makes itself, not by way of other methods.
        direct: bool = key("direct", Boolean, false),
        /// Only if this holds for the call of the outermost method, or of the recorded one if there is no `in`: `"arg.0 = 'card'"` (docs/probes.md).
        when: Option<String> = key("when", parsed(condition)),
        /// Whether tasks that a thread hands to an executor inside the context, and threads that it starts there, are inside it, too.
        across_threads: bool = key("across-threads", Boolean, false),
        /// Requests that a thread sends inside the context with the JDK's clients of HTTP tell the receiver so, if `baggage-to` in `[conditions]` names its host: they
        /// have the entry `instr` with this name in the header `baggage`, for `when = "baggage.instr = 'NAME'"` there (docs/probes.md).
        across_hosts: Option<String> = key("across-hosts", parsed(name_for_hosts)),
        /// The methods whose calls are recorded there, as `package.Class.method` with `*` and `**`.
        methods: Option<String> = key("methods", parsed(methods)),
        /// The template, which must have a live variant; `timed` unless stated.
        template: Option<Spanned<String>> = key("template", located(text())),
        /// The level.
        level: Level = key("level", word::<Level>(), Level::Time),
    } and {
        /// Where the table begins in the file.
        line: usize,
    }
}

impl ContextConfig {
    /// Returns the name of the template.
    pub fn template_name(&self) -> &str {
        self.template.as_ref().map_or("timed", |template| template.get_ref())
    }
}

/// Reads the tables of a configuration.
pub(crate) fn read_contexts(top: &TableReader<'_, '_>, problems: &mut Problems) -> Vec<ContextConfig> {
    read_tables(top, problems, |table, span, problems| {
        let line = problems.source().line_at(span.start);
        for (key, example) in [("in", "a.B.c > d.E.f"), ("methods", "package.Class.method")] {
            if table.value(key).is_none() && (key == "methods" || table.value("when").is_none()) {
                let help = format!("add `{key} = \"{example}\"`");
                problems.error(span.clone(), format!("the context has no `{key}`"), Some(help));
            }
        }
        let context = ContextConfig { line, ..ContextConfig::read(table, problems) };
        if context.direct && table.value("in").is_none() {
            let help = "add `in = \"a.B.c\"`: its last method is the one that calls".to_owned();
            problems.error(table.span("direct"), "`direct` without `in`", Some(help));
        }
        if context.across_threads && table.value("in").is_none() {
            let help = "add `in = \"a.B.c\"`: tasks are inside it that are handed over there".to_owned();
            problems.error(table.span("across-threads"), "`across-threads` without `in`", Some(help));
        }
        if context.across_hosts.is_some() && table.value("in").is_none() && table.value("when").is_none() {
            let help = "add `in = \"a.B.c\"`: requests are inside it that are sent there".to_owned();
            problems.error(table.span("across-hosts"), "`across-hosts` without `in`", Some(help));
        }
        context
    })
}
