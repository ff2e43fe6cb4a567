//! The file with the claims that are kept for the next start: TOML, written by the agent, readable by people.

use core::time::Duration;
use std::fmt::Write as _;

use instrument_core::config::{
    Boolean, Diagnostic, Problems, Table as _, TableReader, number, parse_document, parsed, read_tables, text, time,
    word,
};
use instrument_core::declare_table;
use instrument_core::level::Level;
use instrument_core::rules::patterns::pattern_error::PatternError;
use serde_json::json;

use super::patterns::{condition, context, methods, name_for_hosts, plain_context};

const HEAD: &str = "# Probes that `instr probe --pin` keeps for the next start. instr rewrites this file; `instr remove` takes a claim out of it.\n";
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
const SHORTEST: Duration = Duration::from_secs(1);

declare_table! {
    /// A claim on probes.
    pub struct PinnedClaim = "claim" {
        /// Methods as `package.Class.method` with `*` and `**`.
        methods: Option<String> = key("methods", parsed(methods)),
        /// Calls are recorded only while these methods are executing, in this order: `a.B.c > d.E.f`.
        within: Option<String> = key("in", parsed(context)),
        /// Calls are recorded only if the last of these methods makes them itself.
        direct: bool = key("direct", Boolean, false),
        /// Calls are recorded only if this holds: `arg.0 = 'card'`.
        when: Option<String> = key("when", parsed(condition)),
        /// Tasks that are handed over inside the context are inside it on other threads.
        across_threads: bool = key("across-threads", Boolean, false),
        /// Requests that are sent inside the context tell other hosts so, under this name.
        across_hosts: Option<String> = key("across-hosts", parsed(name_for_hosts)),
        /// The template.
        template: String = key("template", text(), "timed".to_owned()),
        /// The level.
        level: Level = key("level", word::<Level>(), Level::Time),
        /// The claim ends after this time.
        time: Option<Duration> = key("for", time(SHORTEST..=LONGEST)),
        /// The claim ends after this number of recorded calls.
        calls: Option<u32> = key("calls", number(1..=u32::MAX)),
        /// The claim ends when the process has used this number of processor cycles.
        cycles: Option<u64> = key("cycles", parsed(cycles)),
        /// The claim ends when the application has been healthy for this time.
        healthy_for: Option<Duration> = key("healthy-for", time(SHORTEST..=LONGEST)),
        /// The claim ends when the application is in trouble.
        while_healthy: bool = key("while-healthy", Boolean, false),
    } and {
        /// Where the claim begins in the file.
        line: usize,
    }
}

impl PinnedClaim {
    /// Whether both want the same probes, whatever their limits.
    pub fn wants_the_same(&self, other: &PinnedClaim) -> bool {
        let wanted = |claim: &'_ PinnedClaim| {
            let within = claim.within.as_deref().map(plain_context);
            let kind = (claim.direct, claim.across_threads, claim.across_hosts.clone());
            (claim.methods.clone(), within, kind, claim.when.clone(), claim.template.clone(), claim.level)
        };
        wanted(self) == wanted(other)
    }
}

/// Reads the claims of a file, or all that is wrong with it. `file_name` is only shown in diagnostics.
pub fn parse_claims(text: &str, file_name: &str) -> Result<Vec<PinnedClaim>, Vec<Diagnostic>> {
    parse_document(text, file_name, &[PinnedClaim::TABLE], read_claims).map(|(claims, _)| claims)
}

fn read_claims(top: &TableReader<'_, '_>, problems: &mut Problems) -> Vec<PinnedClaim> {
    read_tables(top, problems, |table, span, problems| {
        let line = problems.source().line_at(span.start);
        if table.value("methods").is_none() {
            let help = "add `methods = \"package.Class.method\"`".to_owned();
            problems.error(span, "the claim names no methods", Some(help));
        }
        PinnedClaim { line, ..PinnedClaim::read(table, problems) }
    })
}

/// Returns the text of a file with these claims.
pub fn claims_text(claims: &[PinnedClaim]) -> String {
    let mut file = HEAD.to_owned();
    for claim in claims {
        let PinnedClaim { methods, within, direct, when, across_threads, across_hosts, template, level, .. } = claim;
        let PinnedClaim { time, calls, cycles, healthy_for, while_healthy, .. } = claim;
        let seconds = |time: &Duration| json!(format!("{} s", time.as_secs()));
        let keys = [
            ("methods", methods.as_ref().map(|methods| json!(methods))),
            ("in", within.as_ref().map(|within| json!(within))),
            ("direct", direct.then(|| json!(true))),
            ("when", when.as_ref().map(|when| json!(when))),
            ("across-threads", across_threads.then(|| json!(true))),
            ("across-hosts", across_hosts.as_ref().map(|name| json!(name))),
            ("template", Some(json!(template))),
            ("level", Some(json!(level.name()))),
            ("for", time.as_ref().map(seconds)),
            ("calls", calls.map(|calls| json!(calls))),
            ("cycles", cycles.map(|cycles| json!(cycles.to_string()))),
            ("healthy-for", healthy_for.as_ref().map(seconds)),
            ("while-healthy", while_healthy.then(|| json!(true))),
        ];
        file.push_str("\n[[claim]]\n");
        for (key, value) in keys.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            // JSON and TOML write these values alike. Writing to a string cannot fail.
            let _ = writeln!(file, "{key} = {value}");
        }
    }
    file
}

fn cycles(text: &str) -> Result<u64, PatternError> {
    let cycles = text.parse().ok().filter(|cycles| *cycles > 0);
    cycles.ok_or_else(|| {
        PatternError::new(0..text.len(), "a number of cycles is written in digits, such as `20000000000`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_is_written_otherwise_is_the_same() {
        let within = |context: &str| PinnedClaim { within: Some(context.to_owned()), ..PinnedClaim::default() };
        assert!(within("a.B.c>d.E.f").wants_the_same(&within("a.B.c > d.E.f")));
        assert!(
            !within("a.B.c").wants_the_same(&within("d.E.f"))
                && !within("a.B.c").wants_the_same(&PinnedClaim::default())
        );
        let direct = PinnedClaim { direct: true, ..within("a.B.c") };
        assert!(!direct.wants_the_same(&within("a.B.c")), "only what its last method calls itself");
        assert!(context(&vec!["a.B.c"; 16].join(">")).is_ok() && context(&vec!["a.B.c"; 17].join(">")).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let simple = PinnedClaim { methods: Some("com.acme.Shop.*".to_owned()), ..PinnedClaim::default() };
        let limited = PinnedClaim {
            within: Some("com.acme.Web.handle > com.acme.Cart.pay".to_owned()),
            direct: true,
            when: Some("arg.0 = 'it''s \"5\"'".to_owned()),
            across_threads: true,
            across_hosts: Some("slow-orders".to_owned()),
            methods: Some("a.Odd.say \"hello\\\"".to_owned()),
            template: "mine".to_owned(),
            level: Level::Full,
            time: Some(Duration::from_secs(7_200)),
            calls: Some(u32::MAX),
            cycles: Some(u64::MAX),
            healthy_for: Some(Duration::from_secs(61)),
            while_healthy: true,
            line: 0,
        };
        let text = claims_text(&[simple.clone(), limited.clone()]);
        assert!(text.contains(
            "\n[[claim]]\nmethods = \"com.acme.Shop.*\"\ntemplate = \"timed\"\nlevel = \"time\"\n\n[[claim]]"
        ));
        assert!(text.contains("\nfor = \"7200 s\"\ncalls = 4294967295\ncycles = \"18446744073709551615\"\n"), "{text}");
        let read = parse_claims(&text, "claims.toml").unwrap();
        assert_eq!(read.iter().map(|claim| claim.line).collect::<Vec<_>>(), [3, 8]);
        let read: Vec<PinnedClaim> = read.into_iter().map(|claim| PinnedClaim { line: 0, ..claim }).collect();
        assert_eq!(read, [simple, limited]);
        assert_eq!(parse_claims(&claims_text(&[]), "claims.toml"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        let cases = [
            ("[[claim]]\nmethods = 'a.B.c'\nlevl = 'time'\n", "claims.toml:3:1", "did you mean `level`?"),
            ("\n[[claim]]\nmethods = 'a.B;.c'\n", "claims.toml:3:15", "`;`"),
            ("[[claim]]\nmethods = 'run'\n", "claims.toml:2:12", "names no class"),
            ("[[claim]]\nlevel = 'time'\n", "claims.toml:1:1", "the claim names no methods"),
            ("[[claim]]\nmethods = 'a.B.c'\ncycles = '20G'\n", "claims.toml:3:11", "in digits"),
            ("[claim]\nmethods = 'a.B.c'\n", "claims.toml:1:1", "write `[[claim]]` on a line of its own"),
            ("methods: a.B.c\n", "claims.toml:1:", "not valid TOML"),
        ];
        for (text, place, reason) in cases {
            let errors = parse_claims(text, "claims.toml").unwrap_err();
            let errors: String = errors.iter().map(ToString::to_string).collect();
            assert!(errors.contains(place) && errors.contains(reason), "{text}: {errors}");
        }
    }
}
