//! `[governor]`: what probes may cost, and when the JVM has other worries.

use instrument_core::config::{Boolean, number};
use instrument_core::declare_table;

/// Budget in percent of the process's CPU time unless said otherwise.
const DEFAULT_BUDGET: u32 = 3;
/// Limits of the breaker unless said otherwise.
const DEFAULT_GC_PERCENT: u32 = 30;
const DEFAULT_HEAP_PERCENT: u32 = 95;
const DEFAULT_RECOVERY_SECONDS: u32 = 30;

declare_table! {
    /// Keeps the cost of live probes below a budget: the methods that cost most are set to level `watch`, and back when it is
    /// quiet. Probes of rules with level `time` or `full` are live for that. A breaker stops all probes while the JVM is short of heap: where `live = true` is
    /// in `[control]`, or a key of this table is stated, other than `enabled`.
    pub struct GovernorConfig = "governor" {
        /// Whether there is a governor. Without one, probes of rules with level `time` or `full` keep this level.
        enabled: bool = key("enabled", Boolean, true),
        /// Most of the process's CPU time that probes may take, in percent; 0: no budget. Setting this key makes all probes live, as `live`
        /// in `[control]` does. Default: 3, for probes that are live anyway.
        budget_percent: Option<u32> = key("budget-percent", number(0..=100)),
        /// The breaker opens, and no probe records, when garbage collections stop the application for more than this percentage
        /// of the last 5 seconds; 0: never. Default: 30.
        gc_percent: Option<u32> = key("gc-percent", number(0..=100)),
        /// ... or when more than this percentage of the heap is in use after each collection of the last 5 seconds; 0: never. Default: 95.
        heap_percent: Option<u32> = key("heap-percent", number(0..=100)),
        /// The breaker closes again after this many seconds without trouble. Default: 30.
        recovery_seconds: Option<u32> = key("recovery-seconds", number(1..=3600)),
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

    /// The share of time in collections at which the breaker opens, in percent; 0: at none.
    pub fn gc_percent(&self) -> u32 {
        self.gc_percent.unwrap_or(DEFAULT_GC_PERCENT)
    }

    /// The share of the heap in use at which the breaker opens, in percent; 0: at none.
    pub fn heap_percent(&self) -> u32 {
        self.heap_percent.unwrap_or(DEFAULT_HEAP_PERCENT)
    }

    /// The time without trouble after which the breaker closes, in seconds.
    pub fn recovery_seconds(&self) -> u32 {
        self.recovery_seconds.unwrap_or(DEFAULT_RECOVERY_SECONDS)
    }

    /// Whether something opens the breaker.
    pub fn has_breaker(&self) -> bool {
        self.enabled && (self.gc_percent() > 0 || self.heap_percent() > 0)
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
