//! What part of the requests that carry a context each JVM answers.

use std::time::{Duration, Instant};

/// A rate over a shorter time is not known: the agents are asked twice a second.
const LEAST_TIME: Duration = Duration::from_secs(1);
/// A rate of fewer requests is not known.
const FEWEST: u64 = 10;
/// JVMs that answer so much of the requests answer all: rates of two JVMs are never of exactly the same time.
const NEARLY_ALL: f64 = 0.8;

/// How fast a number of requests grows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rate {
    first: Option<(Instant, u64)>,
    last: Option<(Instant, u64)>,
}

impl Rate {
    /// Takes the number that was read at this time.
    pub(super) fn note(&mut self, at: Instant, requests: u64) {
        self.first.get_or_insert((at, requests));
        self.last = Some((at, requests));
    }

    /// Returns how many there are in a second; `None` if too little is known.
    fn per_second(&self) -> Option<f64> {
        let ((begin, before), (end, after)) = (self.first?, self.last?);
        let (time, requests) = (end.saturating_duration_since(begin), after.saturating_sub(before));
        (time >= LEAST_TIME && requests >= FEWEST).then(|| requests as f64 / time.as_secs_f64())
    }
}

/// The requests with the context that a JVM has answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) requests: u64,
    pub(super) rate: Rate,
}

/// Returns the part of the requests sent that each JVM answers. If a rate is not known, these JVMs answer all of them.
pub(super) fn parts(sent: &Rate, answered: &[Answered]) -> Vec<f64> {
    let rates: Option<Vec<f64>> = answered.iter().map(|of| of.rate.per_second()).collect();
    match (sent.per_second(), rates) {
        (Some(sent), Some(rates)) => {
            let all = rates.iter().sum::<f64>();
            let whole = if all >= sent * NEARLY_ALL { all } else { sent };
            rates.iter().map(|rate| rate / whole).collect()
        }
        _ => {
            let all = answered.iter().map(|of| of.requests).sum::<u64>().max(1);
            answered.iter().map(|of| of.requests as f64 / all as f64).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(seconds: u64, requests: u64) -> Rate {
        let (mut rate, now) = (Rate::default(), Instant::now());
        rate.note(now, 3);
        rate.note(now + Duration::from_secs(seconds), 3 + requests);
        rate
    }

    fn answered(seconds: u64, requests: u64) -> Answered {
        Answered { requests, rate: rate(seconds, requests) }
    }

    #[test]
    fn requests_that_other_jvms_answer_count_by_what_was_sent() {
        assert_eq!(parts(&rate(10, 200), &[answered(5, 50)]), [0.5]);
        assert_eq!(parts(&rate(10, 200), &[answered(5, 25), answered(10, 50)]), [0.25, 0.25]);
    }

    #[test]
    fn rates_that_are_nearly_the_same_are_of_the_same_requests() {
        assert_eq!(parts(&rate(10, 200), &[answered(5, 90)]), [1.0]);
        assert_eq!(parts(&rate(10, 200), &[answered(5, 120)]), [1.0]);
        assert_eq!(parts(&rate(10, 200), &[answered(5, 75), answered(5, 25)]), [0.75, 0.25]);
    }

    #[test]
    fn without_rates_the_jvms_answer_all() {
        assert_eq!(parts(&rate(10, 9), &[answered(5, 5)]), [1.0]);
        assert_eq!(parts(&rate(10, 200), &[answered(5, 50), answered(0, 150)]), [0.25, 0.75]);
        assert_eq!(parts(&Rate::default(), &[answered(5, 0)]), [0.0]);
    }
}
