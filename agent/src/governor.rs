//! Keeps the cost of probes below a budget: which methods go down (from exact times to level `watch`, or from that to no probe), and
//! which may come back.
//!
//! The cost of a method is its calls times the cost of one, which was measured at the start. The methods that are called most go
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
    /// Probe that may be governed, and its calls in the interval.
    pub(crate) calls: &'a [(u32, u64)],
}

impl Interval<'_> {
    /// CPU time that percents are of.
    fn cpu_nanos(&self) -> f64 {
        (self.cpu.as_nanos() as f64).max(self.length.as_nanos() as f64 * IDLE_CPU)
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
    nanos_per_call: f64,
    manner: Manner,
    demoted: BTreeMap<u32, Demoted>,
    percent: f64,
}

impl Governor {
    /// A governor with a budget in percent of the process's CPU time.
    pub(crate) fn new(budget_percent: u32, nanos_per_call: f64, manner: Manner) -> Governor {
        let budget = f64::from(budget_percent) / 100.0;
        Governor { budget, nanos_per_call, manner, demoted: BTreeMap::new(), percent: 0.0 }
    }

    /// Percent of the process's CPU time that the probes took in the last interval.
    pub(crate) fn percent(&self) -> f64 {
        self.percent
    }

    /// What one call is taken to cost.
    pub(crate) fn nanos_per_call(&self) -> f64 {
        self.nanos_per_call
    }

    /// What probes took in an interval above what the governor aims at: what a change would have saved.
    pub(crate) fn excess(&self, interval: &Interval<'_>) -> Duration {
        let aim = self.budget * self.manner.aim * interval.cpu_nanos();
        Duration::from_nanos((self.cost(interval) - aim).max(0.0) as u64)
    }

    /// In nanoseconds.
    fn cost(&self, interval: &Interval<'_>) -> f64 {
        let calls: u64 = interval.calls.iter().map(|(_, calls)| calls).sum();
        calls as f64 * self.nanos_per_call
    }

    /// Decides at the end of an interval.
    pub(crate) fn decide(&mut self, interval: &Interval<'_>) -> Vec<Decision> {
        let (cpu, cost) = (interval.cpu_nanos(), self.cost(interval));
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
        let mut by_calls = interval.calls.to_vec();
        by_calls.sort_unstable_by_key(|(probe, calls)| (std::cmp::Reverse(*calls), *probe));
        let seconds = interval.length.as_secs_f64();
        let mut decisions = Vec::new();
        for (probe, calls) in by_calls {
            if cost <= self.budget * self.manner.aim * cpu || calls == 0 {
                break;
            }
            let own = calls as f64 * self.nanos_per_call;
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

    fn second<'a>(at: u64, cpu_millis: u64, calls: &'a [(u32, u64)]) -> Interval<'a> {
        Interval { at: Duration::from_secs(at), length: SECOND, cpu: Duration::from_millis(cpu_millis), calls }
    }

    fn probes(decisions: &[Decision]) -> Vec<i64> {
        let number = |decision: &Decision| match decision {
            Decision::Demote { probe, .. } => -i64::from(*probe),
            Decision::Promote { probe } => i64::from(*probe),
        };
        decisions.iter().map(number).collect()
    }

    #[test]
    fn the_hottest_go_until_the_rest_fits() {
        let mut governor = Governor::new(3, 50.0, Manner::OF_LEVELS);
        // 50 ns a call of 1 s of CPU: 600,000 calls are the budget, 480,000 the aim.
        let decisions = governor.decide(&second(1, 1000, &[(1, 100_000), (2, 2_000_000), (3, 300_000), (4, 400_000)]));
        assert_eq!(probes(&decisions), [-2, -4]);
        assert!((governor.percent() - 14.0).abs() < 0.01, "{}", governor.percent());
        assert!(matches!(decisions[0], Decision::Demote { percent, .. } if (percent - 10.0).abs() < 0.01));
    }

    #[test]
    fn probes_that_go_altogether_go_sooner_but_not_for_next_to_nothing() {
        let mut governor = Governor::new(3, 1.0, Manner::OF_PROBES);
        // 1 ns a call of 1 s of CPU: from 18 million calls on some go until 7.5 million are left, but none with less than 900,000.
        assert!(governor.decide(&second(1, 1000, &[(1, 17_000_000)])).is_empty());
        let many: Vec<(u32, u64)> = (2..40).map(|probe| (probe, 800_000)).collect();
        let calls = [&[(1, 3_000_000)], many.as_slice()].concat();
        assert_eq!(probes(&governor.decide(&second(2, 1000, &calls))), [-1]);
    }

    #[test]
    fn within_the_budget_nothing_happens() {
        let mut governor = Governor::new(3, 50.0, Manner::OF_LEVELS);
        assert!(governor.decide(&second(1, 1000, &[(1, 500_000)])).is_empty());
        // The same calls in a process that hardly runs are more than 3 % of its time, but of 100 ms at least.
        assert!(governor.decide(&second(2, 1, &[(1, 50_000)])).is_empty());
    }

    #[test]
    fn who_comes_back_too_early_waits_longer() {
        let mut governor = Governor::new(3, 50.0, Manner::OF_LEVELS);
        assert_eq!(probes(&governor.decide(&second(1, 1000, &[(7, 5_000_000)]))), [-7]);
        assert!(governor.decide(&second(10, 1000, &[])).is_empty(), "10 s are not over");
        assert_eq!(probes(&governor.decide(&second(11, 1000, &[]))), [7]);
        assert_eq!(probes(&governor.decide(&second(12, 1000, &[(7, 5_000_000)]))), [-7]);
        assert!(governor.decide(&second(31, 1000, &[])).is_empty(), "20 s are not over");
        assert_eq!(probes(&governor.decide(&second(32, 1000, &[]))), [7]);
    }

    #[test]
    fn they_come_back_one_by_one_the_cheapest_first_and_only_when_it_is_quiet() {
        let mut governor = Governor::new(3, 50.0, Manner::OF_LEVELS);
        governor.decide(&second(1, 1000, &[(1, 5_000_000), (2, 2_000_000)]));
        assert!(governor.decide(&second(20, 1000, &[(3, 400_000)])).is_empty(), "two thirds of the budget are used");
        assert_eq!(probes(&governor.decide(&second(21, 1000, &[(3, 1000)]))), [2]);
        assert_eq!(probes(&governor.decide(&second(22, 1000, &[(3, 1000)]))), [1]);
        assert!(governor.decide(&second(23, 1000, &[])).is_empty(), "all are back");
    }

    #[test]
    fn what_a_person_set_is_left_alone() {
        let mut governor = Governor::new(3, 50.0, Manner::OF_LEVELS);
        governor.decide(&second(1, 1000, &[(1, 5_000_000)]));
        governor.forget(1);
        assert!(governor.decide(&second(60, 1000, &[])).is_empty());
    }
}
