//! `[watch]`: how level `watch` looks.

use std::ops::RangeInclusive;

use instrument_core::config::{Boolean, number};
use instrument_core::declare_table;

/// Bounds of the tick in microseconds. Below, the ticker does little else than wake up; above, most calls are never seen.
const TICKS: RangeInclusive<u32> = 50..=100_000;

declare_table! {
    /// How level `watch` looks: a native thread ticks, and a call is recorded if a tick passes while it runs.
    pub struct WatchConfig = "watch" {
        /// Longest time between two ticks, in microseconds. Every call that takes longer is recorded, and of shorter ones a
        /// sample. Shorter ticks see more and cost more. Default: 1000 where waking up so often takes less than 0.7 % of the process's
        /// processor time, else as much longer as it needs for that, up to 20000.
        tick_us: Option<u32> = key("tick-us", number(TICKS)),
        /// Whether the ticking thread may ask Linux for the lowest real-time priority (`SCHED_FIFO`). It asks only if the process has the
        /// right to (`CAP_SYS_NICE` or a limit `RLIMIT_RTPRIO` above 0) and ticks are at least 0.5 ms apart. Without that priority, ticks are
        /// late while all processors are busy, and estimates have wider margins.
        real_time: bool = key("real-time", Boolean, true),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn a_tick_is_neither_so_short_that_it_costs_nor_so_long_that_it_sees_nothing() {
        let tick = |line: &str| {
            let text = format!("[watch]\n{line}\n[[rule]]\nclass = 'a.B'\n");
            parse(&text, "instr.toml").map(|(config, _)| config.watch.tick_us).map_err(|errors| errors[0].to_string())
        };
        assert_eq!((tick(""), tick("tick-us = 100")), (Ok(None), Ok(Some(100))));
        for wrong in ["tick-us = 49", "tick-us = 100001", "tick-us = 0"] {
            let error = tick(wrong).unwrap_err();
            assert!(error.contains("`tick-us` must be between 50 and 100000"), "{wrong}: {error}");
        }
        assert!(tick("tik-us = 500").unwrap_err().contains("did you mean `tick-us`?"));
    }

    #[test]
    fn real_time_priority_is_asked_for_unless_the_user_opts_out() {
        let real_time = |line: &str| {
            let text = format!("[watch]\n{line}\n[[rule]]\nclass = 'a.B'\n");
            parse(&text, "instr.toml").map(|(config, _)| config.watch.real_time).map_err(|errors| errors[0].to_string())
        };
        assert_eq!((real_time(""), real_time("real-time = false")), (Ok(true), Ok(false)));
        assert!(real_time("real-time = 'no'").unwrap_err().contains("real-time"));
    }
}
