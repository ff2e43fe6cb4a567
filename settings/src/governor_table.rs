//! `[governor]`: what probes may cost, and when the JVM has other worries.

use schemars::JsonSchema;

use instrument_core::config::{Problems, TableReader};

/// Budget in percent of the process's CPU time unless said otherwise.
const DEFAULT_BUDGET: u32 = 3;
/// Share of the time in garbage collections above which nothing is recorded any more.
const DEFAULT_GC: u32 = 30;
/// Share of the heap in use after garbage collections above which nothing is recorded any more.
const DEFAULT_HEAP: u32 = 95;

/// Keeps the cost of live probes below a budget: the methods that cost most are set to level `watch`, and back when it is
/// quiet. Probes of rules with level `time` or `full` are live for that. A breaker stops all probes while the JVM is short of heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GovernorConfig {
    /// Whether there is a governor. Without one, probes of rules with level `time` or `full` keep this level. Default: true.
    pub enabled: bool,
    /// Most of the process's CPU time that probes may take, in percent; 0: no budget. Setting this key makes all probes live, as `live`
    /// in `[control]` does. Default: 3, for probes that are live anyway.
    #[schemars(with = "u32", range(max = 100))]
    pub budget_percent: Option<u32>,
    /// The breaker opens, and no probe records, when garbage collections stop the application for more than this percentage
    /// of the last 5 seconds; 0: never. Default: 30.
    #[schemars(range(max = 100))]
    pub gc_percent: u32,
    /// ... or when more than this percentage of the heap is in use after each collection of the last 5 seconds; 0: never. Default: 95.
    #[schemars(range(max = 100))]
    pub heap_percent: u32,
    /// The breaker closes again after this many seconds without trouble. Default: 30.
    #[schemars(range(min = 1, max = 3600))]
    pub recovery_seconds: u32,
}

impl Default for GovernorConfig {
    fn default() -> GovernorConfig {
        GovernorConfig {
            enabled: true,
            budget_percent: None,
            gc_percent: DEFAULT_GC,
            heap_percent: DEFAULT_HEAP,
            recovery_seconds: 30,
        }
    }
}

impl GovernorConfig {
    /// The budget in percent of the process's CPU time; `None`: nobody keeps to one.
    pub fn budget(&self) -> Option<u32> {
        Some(self.budget_percent.unwrap_or(DEFAULT_BUDGET)).filter(|percent| self.enabled && *percent > 0)
    }

    /// Whether the file asks for probes whose level can change, so that there is something to govern.
    pub fn wants_live(&self) -> bool {
        self.budget_percent.is_some() && self.budget().is_some()
    }

    /// Whether something opens the breaker.
    pub fn has_breaker(&self) -> bool {
        self.enabled && (self.gc_percent > 0 || self.heap_percent > 0)
    }
}

pub(super) fn read_governor(table: &TableReader<'_, '_>, problems: &mut Problems) -> GovernorConfig {
    let default = GovernorConfig::default();
    GovernorConfig {
        enabled: table.boolean("enabled", problems).unwrap_or(default.enabled),
        budget_percent: table.number("budget-percent", 0..101, problems),
        gc_percent: table.number("gc-percent", 0..101, problems).unwrap_or(default.gc_percent),
        heap_percent: table.number("heap-percent", 0..101, problems).unwrap_or(default.heap_percent),
        recovery_seconds: table.number("recovery-seconds", 1..3601, problems).unwrap_or(default.recovery_seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn governor(lines: &str) -> GovernorConfig {
        let text = format!("{lines}\n[[rule]]\nclass = 'a.B'\n");
        parse(&text, "instr.toml").unwrap().0.governor
    }

    #[test]
    fn three_percent_unless_said_otherwise_and_nothing_is_made_live_by_default() {
        let default = governor("");
        assert_eq!((default.budget(), default.wants_live(), default.has_breaker()), (Some(3), false, true));
        let given = governor("[governor]\nbudget-percent = 5");
        assert_eq!((given.budget(), given.wants_live()), (Some(5), true));
    }

    #[test]
    fn zero_and_enabled_false_switch_it_off() {
        let no_budget = governor("[governor]\nbudget-percent = 0");
        assert_eq!((no_budget.budget(), no_budget.wants_live(), no_budget.has_breaker()), (None, false, true));
        let off = governor("[governor]\nenabled = false\nbudget-percent = 5");
        assert_eq!((off.budget(), off.wants_live(), off.has_breaker()), (None, false, false));
        assert!(!governor("[governor]\ngc-percent = 0\nheap-percent = 0").has_breaker());
    }
}
