//! `[monitor]` and `[[slow-calls]]`: which calls are slow, and whether they are looked into without being asked.

use core::time::Duration;

use instrument_core::config::{
    Boolean, Problems, Table as _, TableReader, located, number, parsed, read_tables, time, word,
};
use instrument_core::rules::patterns::pattern_error::PatternError;
use instrument_core::template::category;
use instrument_core::{declare_table, declare_words};
use serde_spanned::Spanned;

use crate::claims::methods;

const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(86_400);
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

declare_table! {
    /// Watches the calls that probes record, for `instr suspects` and, if it may, to diagnose methods with slow calls by itself (docs/suspects.md). Which calls
    /// are slow: `[[slow-calls]]`.
    pub struct MonitorConfig = "monitor" {
        /// Whether the method that loses most time by slow calls is diagnosed without being asked.
        diagnose: bool = key("diagnose", Boolean, false),
        /// Most diagnoses that it begins within an hour.
        per_hour: u32 = key("diagnoses-per-hour", number(1..=1_000), 6),
        /// Most of its diagnoses that are under way at the same time.
        at_once: u32 = key("at-once", number(1..=4), 1),
        /// A method is not diagnosed again before this time has passed.
        again_after: Duration = key("again-after", time(MINUTE..=LONGEST), MINUTE * 60),
    }
}

declare_words! {
    /// How much more is recorded of methods with slow calls.
    pub enum Detail {
        /// every call, where level watch sees the long ones
        Time = "time",
        /// also exceptions, processor time, allocation and concurrency
        Full = "full",
    }
}

declare_table! {
    /// From which length on calls are slow. The first table that has the method counts; there may be any number. Without any, it is learnt for every
    /// method that records its calls.
    pub struct SlowCallsConfig = "slow-calls" {
        /// Methods as `package.Class.method` with `*` and `**`, or `category:NAME`. Default: all that record their calls.
        methods: Option<Spanned<String>> = key("methods", located(parsed(selection))),
        /// Calls that take longer are slow. Default: learnt from earlier calls of the method.
        slower_than: Option<Duration> = key("slower-than", time(SHORTEST..=LONGEST)),
        /// The level to which a method with slow calls is raised for its next calls, in the context in which they were slow. Default: none. Setting it makes all probes of rules live.
        detail: Option<Detail> = key("detail", word::<Detail>()),
        /// Slow calls that raise it, no two of them further apart than `detail-for`.
        detail_after: u32 = key("detail-after", number(1..=1_000_000), 3),
        /// It has its former level again after this number of calls without a slow one, ...
        detail_calls: u32 = key("detail-calls", number(1..=1_000_000_000), 1_000),
        /// ... or after this time without one.
        detail_for: Duration = key("detail-for", time(SECOND..=LONGEST), MINUTE * 5),
        /// Most methods that are raised at the same time.
        detail_methods: u32 = key("detail-methods", number(1..=1_000), 10),
    }
}

/// Reads `[[slow-calls]]`.
pub(crate) fn read_slow_calls(top: &TableReader<'_, '_>, problems: &mut Problems) -> Vec<SlowCallsConfig> {
    read_tables(top, problems, |table, _, problems| SlowCallsConfig::read(table, problems))
}

fn selection(text: &str) -> Result<String, PatternError> {
    match text.strip_prefix(category::PREFIX) {
        Some("") => Err(PatternError::new(0..text.len(), "no category after `category:`")),
        Some(_) => Ok(text.to_owned()),
        None => methods(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn read(lines: &str) -> Result<(Option<MonitorConfig>, Vec<SlowCallsConfig>), String> {
        let text = format!("{lines}\n[[rule]]\nclass = 'a.B'\n");
        let config = parse(&text, "instr.toml").map_err(|errors| errors[0].to_string())?.0;
        Ok((config.monitor, config.slow_calls))
    }

    #[test]
    fn a_monitor_looks_but_diagnoses_only_if_it_may() {
        assert_eq!(read("").unwrap(), (None, Vec::new()));
        let (monitor, _) = read("[monitor]").unwrap();
        assert_eq!(monitor, Some(MonitorConfig::default()));
        assert!(!MonitorConfig::default().diagnose);
        let (monitor, _) = read("[monitor]\ndiagnose = true\nat-once = 2").unwrap();
        assert_eq!(monitor.map(|monitor| (monitor.diagnose, monitor.at_once)), Some((true, 2)));
    }

    #[test]
    fn slow_calls_are_those_of_methods_or_categories() {
        let (_, slow) =
            read("[[slow-calls]]\nmethods = 'category:database'\nslower-than = '200 ms'\n[[slow-calls]]").unwrap();
        assert_eq!(slow[0].methods.as_ref().map(|methods| methods.get_ref().as_str()), Some("category:database"));
        assert_eq!((slow[0].slower_than, slow[1].slower_than), (Some(Duration::from_millis(200)), None));
        let (_, slow) = read("[[slow-calls]]\ndetail = 'full'\ndetail-calls = 50").unwrap();
        assert_eq!((slow[0].detail, slow[0].detail_calls, slow[0].detail_after), (Some(Detail::Full), 50, 3));
        for (wrong, said) in [
            ("detail = 'watch'", "watch"),
            ("detail-after = 0", "detail-after"),
            ("methods = 'category:'", "no category"),
            ("methods = 'transfer'", "names no class"),
            ("slower-than = '5'", "not a time"),
            ("slowr-than = '5 s'", "slower-than"),
        ] {
            let error = read(&format!("[[slow-calls]]\n{wrong}")).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
