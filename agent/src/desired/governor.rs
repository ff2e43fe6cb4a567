//! Keeps the cost of probes below a budget: which methods go down (from exact times to level `watch`, or from that to no probe), and
//! which may come back.
//!
//! The cost of a method is its calls times the price of one at its level (`probe_prices.rs`). The methods that cost most are lowered
//! first: few methods make most calls. One comes back when the rest takes less than half of the budget; if that was a mistake
//! it goes again, and each time it has to wait twice as long.

use std::collections::BTreeMap;
use std::time::Duration;

/// How far a governor goes, and how soon it takes that back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Above this much of the budget methods go down.
    limit: f64,
    /// After a demotion the cost is to be this much of the budget, so that the next interval does not demote again.
    aim: f64,
    /// A method that costs less than this much of the budget stays: many of them would have to go for little.
    least: f64,
    /// Below this much of the budget methods may come back.
    quiet: f64,
    /// How long a method stays down the first time.
    first_wait: Duration,
    /// ... and at most.
    longest_wait: Duration,
}

impl Manner {
    /// For a change of level, which takes no more than writing a byte.
    pub(crate) const OF_LEVELS: Manner = Manner {
        limit: 1.0,
        aim: 0.8,
        least: 0.0,
        quiet: 0.5,
        first_wait: Duration::from_secs(10),
        longest_wait: Duration::from_secs(600),
    };
    /// For probes that go altogether: the JVM has to compile the methods anew. And there are other costs to be paid by the same budget.
    pub(crate) const OF_PROBES: Manner = Manner {
        limit: 0.6,
        aim: 0.25,
        least: 0.03,
        quiet: 0.1,
        first_wait: Duration::from_secs(300),
        longest_wait: Duration::from_secs(7200),
    };
}

/// A process that does next to nothing is not governed: percents of nothing mean nothing.
const IDLE_CPU: f64 = 0.1;

/// What the governor is told about an interval.
#[derive(Debug)]
pub(crate) struct Interval<'a> {
    /// Since the recording began, at its end.
    pub(crate) at: Duration,
    /// How long it was.
    pub(crate) length: Duration,
    /// CPU time that the process used in it.
    pub(crate) cpu: Duration,
    /// The calls of each probe that may be governed.
    pub(crate) calls: &'a [ProbeCalls],
}

/// Calls of one probe in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProbeCalls {
    pub(crate) probe: u32,
    pub(crate) calls: u64,
    /// What they cost together, in nanoseconds.
    pub(crate) nanos: f64,
}

impl Interval<'_> {
    /// CPU time that percents are of.
    fn cpu_nanos(&self) -> f64 {
        (self.cpu.as_nanos() as f64).max(self.length.as_nanos() as f64 * IDLE_CPU)
    }

    /// What all calls cost together, in nanoseconds.
    fn cost(&self) -> f64 {
        // Not `sum`, which is -0.0 without calls.
        self.calls.iter().fold(0.0, |sum, calls| sum + calls.nanos)
    }

    /// The same in percent of the CPU time.
    pub(crate) fn percent(&self) -> f64 {
        100.0 * self.cost() / self.cpu_nanos()
    }

    /// What these calls of the interval cost, in percent of the CPU time.
    pub(crate) fn percent_of(&self, calls: &ProbeCalls) -> f64 {
        100.0 * calls.nanos / self.cpu_nanos()
    }
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Decision {
    /// Down, because it took so many percent of the process's CPU time.
    Demote { probe: u32, calls_per_second: f64, percent: f64 },
    /// Back up.
    Promote { probe: u32 },
}

/// A method that was demoted.
#[derive(Debug, Clone, Copy)]
struct Demoted {
    /// When it may come back; `None` if it is back at present.
    until: Option<Duration>,
    wait: Duration,
    nanos_per_second: f64,
}

/// The governor of one session.
#[derive(Debug)]
pub(crate) struct Governor {
    budget: f64,
    manner: Manner,
    demoted: BTreeMap<u32, Demoted>,
    percent: f64,
}

impl Governor {
    /// A governor with a budget in percent of the process's CPU time.
    pub(crate) fn new(budget_percent: u32, manner: Manner) -> Governor {
        let budget = f64::from(budget_percent) / 100.0;
        Governor { budget, manner, demoted: BTreeMap::new(), percent: 0.0 }
    }

    /// Percent of the process's CPU time that the probes took in the last interval.
    pub(crate) fn percent(&self) -> f64 {
        self.percent
    }

    /// What probes took in an interval above what the governor aims at: what a change would have saved.
    pub(crate) fn excess(&self, interval: &Interval<'_>) -> Duration {
        let aim = self.budget * self.manner.aim * interval.cpu_nanos();
        Duration::from_nanos((interval.cost() - aim).max(0.0) as u64)
    }

    /// Decides at the end of an interval.
    pub(crate) fn decide(&mut self, interval: &Interval<'_>) -> Vec<Decision> {
        let (cpu, cost) = (interval.cpu_nanos(), interval.cost());
        self.percent = 100.0 * cost / cpu;
        if cost > self.budget * self.manner.limit * cpu {
            self.demote(interval, cost, cpu)
        } else if cost < self.budget * cpu * self.manner.quiet {
            self.promote(interval.at, self.budget * self.manner.aim - cost / cpu)
        } else {
            Vec::new()
        }
    }

    fn demote(&mut self, interval: &Interval<'_>, mut cost: f64, cpu: f64) -> Vec<Decision> {
        let mut by_cost = interval.calls.to_vec();
        by_cost.sort_unstable_by(|a, b| b.nanos.total_cmp(&a.nanos).then(a.probe.cmp(&b.probe)));
        let seconds = interval.length.as_secs_f64();
        let mut decisions = Vec::new();
        for ProbeCalls { probe, calls, nanos: own } in by_cost {
            if cost <= self.budget * self.manner.aim * cpu || calls == 0 {
                break;
            }
            if own < self.budget * self.manner.least * cpu {
                break;
            }
            cost -= own;
            let wait = self.demoted.get(&probe).map(|before| (before.wait * 2).min(self.manner.longest_wait));
            let wait = wait.unwrap_or(self.manner.first_wait);
            let demoted = Demoted { until: Some(interval.at + wait), wait, nanos_per_second: own / seconds };
            self.demoted.insert(probe, demoted);
            decisions.push(Decision::Demote {
                probe,
                calls_per_second: calls as f64 / seconds,
                percent: 100.0 * own / cpu,
            });
        }
        decisions
    }

    /// The one that cost least, if its time is over and it would fit.
    fn promote(&mut self, at: Duration, room: f64) -> Vec<Decision> {
        let waited = |demoted: &Demoted| demoted.until.is_some_and(|until| until <= at);
        let candidates = self.demoted.iter().filter(|(_, demoted)| waited(demoted));
        let cheapest = candidates.min_by(|(_, a), (_, b)| a.nanos_per_second.total_cmp(&b.nanos_per_second));
        let Some((&probe, _)) = cheapest.filter(|_| room > 0.0) else { return Vec::new() };
        if let Some(demoted) = self.demoted.get_mut(&probe) {
            demoted.until = None;
        }
        vec![Decision::Promote { probe }]
    }

    /// A person changed this method's level: it is not the governor's business any more.
    pub(crate) fn forget(&mut self, probe: u32) {
        self.demoted.remove(&probe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What a governor decides at the end of a second.
    fn decide(governor: &mut Governor, at: u64, cpu_millis: u64, price: f64, calls: &[(u32, u64)]) -> Vec<Decision> {
        let calls: Vec<ProbeCalls> = calls
            .iter()
            .map(|(probe, calls)| ProbeCalls { probe: *probe, calls: *calls, nanos: *calls as f64 * price })
            .collect();
        let (at, cpu) = (Duration::from_secs(at), Duration::from_millis(cpu_millis));
        governor.decide(&Interval { at, length: SECOND, cpu, calls: &calls })
    }

    fn probes(decisions: &[Decision]) -> Vec<i64> {
        let number = |decision: &Decision| match decision {
            Decision::Demote { probe, .. } => -i64::from(*probe),
            Decision::Promote { probe } => i64::from(*probe),
        };
        decisions.iter().map(number).collect()
    }

    #[test]
    fn an_interval_without_calls_costs_nothing_and_not_less() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        assert!(decide(&mut governor, 1, 1000, 50.0, &[]).is_empty());
        assert_eq!(format!("{:.2}", governor.percent()), "0.00");
    }

    #[test]
    fn the_hottest_go_until_the_rest_fits() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        // 50 ns a call of 1 s of CPU: 600,000 calls are the budget, 480,000 the aim.
        let decisions =
            decide(&mut governor, 1, 1000, 50.0, &[(1, 100_000), (2, 2_000_000), (3, 300_000), (4, 400_000)]);
        assert_eq!(probes(&decisions), [-2, -4]);
        assert!((governor.percent() - 14.0).abs() < 0.01, "{}", governor.percent());
        assert!(matches!(decisions[0], Decision::Demote { percent, .. } if (percent - 10.0).abs() < 0.01));
    }

    #[test]
    fn probes_that_go_altogether_go_sooner_but_not_for_next_to_nothing() {
        let mut governor = Governor::new(3, Manner::OF_PROBES);
        // 1 ns a call of 1 s of CPU: from 18 million calls on some go until 7.5 million are left, but none with less than 900,000.
        assert!(decide(&mut governor, 1, 1000, 1.0, &[(1, 17_000_000)]).is_empty());
        let many: Vec<(u32, u64)> = (2..40).map(|probe| (probe, 800_000)).collect();
        let calls = [&[(1, 3_000_000)], many.as_slice()].concat();
        assert_eq!(probes(&decide(&mut governor, 2, 1000, 1.0, &calls)), [-1]);
    }

    #[test]
    fn what_costs_most_is_lowered_although_others_are_called_more_often() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        let full = ProbeCalls { probe: 1, calls: 50_000, nanos: 50_000.0 * 1_300.0 };
        let time = ProbeCalls { probe: 2, calls: 300_000, nanos: 300_000.0 * 50.0 };
        let decisions = governor.decide(&Interval { at: SECOND, length: SECOND, cpu: SECOND, calls: &[time, full] });
        assert_eq!(probes(&decisions), [-1]);
    }

    #[test]
    fn within_the_budget_nothing_happens() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        assert!(decide(&mut governor, 1, 1000, 50.0, &[(1, 500_000)]).is_empty());
        // The same calls in a process that hardly runs are more than 3 % of its time, but of 100 ms at least.
        assert!(decide(&mut governor, 2, 1, 50.0, &[(1, 50_000)]).is_empty());
    }

    #[test]
    fn who_comes_back_too_early_waits_longer() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        assert_eq!(probes(&decide(&mut governor, 1, 1000, 50.0, &[(7, 5_000_000)])), [-7]);
        assert!(decide(&mut governor, 10, 1000, 50.0, &[]).is_empty(), "10 s are not over");
        assert_eq!(probes(&decide(&mut governor, 11, 1000, 50.0, &[])), [7]);
        assert_eq!(probes(&decide(&mut governor, 12, 1000, 50.0, &[(7, 5_000_000)])), [-7]);
        assert!(decide(&mut governor, 31, 1000, 50.0, &[]).is_empty(), "20 s are not over");
        assert_eq!(probes(&decide(&mut governor, 32, 1000, 50.0, &[])), [7]);
    }

    #[test]
    fn they_come_back_one_by_one_the_cheapest_first_and_only_when_it_is_quiet() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        decide(&mut governor, 1, 1000, 50.0, &[(1, 5_000_000), (2, 2_000_000)]);
        assert!(decide(&mut governor, 20, 1000, 50.0, &[(3, 400_000)]).is_empty(), "two thirds of the budget are used");
        assert_eq!(probes(&decide(&mut governor, 21, 1000, 50.0, &[(3, 1000)])), [2]);
        assert_eq!(probes(&decide(&mut governor, 22, 1000, 50.0, &[(3, 1000)])), [1]);
        assert!(decide(&mut governor, 23, 1000, 50.0, &[]).is_empty(), "all are back");
    }

    #[test]
    fn what_a_person_set_is_left_alone() {
        let mut governor = Governor::new(3, Manner::OF_LEVELS);
        decide(&mut governor, 1, 1000, 50.0, &[(1, 5_000_000)]);
        governor.forget(1);
        assert!(decide(&mut governor, 60, 1000, 50.0, &[]).is_empty());
    }
}
