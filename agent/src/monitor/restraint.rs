//! How often the monitor may begin a diagnosis.

use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3_600);

/// What the configuration allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Restraint {
    pub(crate) per_hour: usize,
    pub(crate) at_once: usize,
    /// The same method is not diagnosed again before.
    pub(crate) again_after: Duration,
}

/// What the monitor has begun.
#[derive(Debug, Default)]
pub(crate) struct Restraints {
    begun: Vec<Begun>,
}

#[derive(Debug)]
struct Begun {
    at: Instant,
    method: String,
    /// Why it could not be begun.
    refused: Option<String>,
}

impl Restraints {
    /// Notes that a diagnosis of a method was begun, or could not be.
    pub(crate) fn note(&mut self, method: &str, refused: Option<&str>, now: Instant, restraint: Restraint) {
        let longest = restraint.again_after.max(HOUR);
        self.begun.retain(|begun| now.saturating_duration_since(begun.at) < longest);
        let refused = refused.map(str::to_owned);
        self.begun.push(Begun { at: now, method: method.to_owned(), refused });
    }

    /// Why the monitor begins no diagnosis of a method now; `under_way` are those that it has begun and that have not ended.
    pub(crate) fn why_not(&self, method: &str, now: Instant, under_way: usize, restraint: Restraint) -> Option<String> {
        let since = |begun: &Begun| now.saturating_duration_since(begun.at);
        let of_method = self.begun.iter().rev().find(|begun| begun.method == method);
        if let Some(begun) = of_method.filter(|begun| since(begun) < restraint.again_after) {
            let minutes = since(begun).as_secs() / 60;
            return Some(match &begun.refused {
                Some(reason) => format!("it could not be begun {minutes} min ago: {reason}"),
                None => format!("diagnosed {minutes} min ago (`again-after`)"),
            });
        }
        if under_way >= restraint.at_once {
            return Some(format!("{under_way} under way (`at-once`)"));
        }
        let lately = self.begun.iter().filter(|begun| begun.refused.is_none() && since(begun) < HOUR).count();
        (lately >= restraint.per_hour).then(|| format!("{lately} within the hour (`diagnoses-per-hour`)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_rests_and_an_hour_and_a_moment_have_their_limits() {
        let restraint = Restraint { per_hour: 2, at_once: 1, again_after: HOUR * 3 };
        let (mut begun, start) = (Restraints::default(), Instant::now());
        let why_not = |begun: &Restraints, method: &str, minutes: u64, under_way: usize| {
            begun.why_not(method, start + Duration::from_secs(minutes * 60), under_way, restraint)
        };
        assert_eq!(why_not(&begun, "a", 0, 0), None);
        begun.note("a", None, start, restraint);
        assert!(why_not(&begun, "b", 1, 1).unwrap().contains("at-once"));
        assert_eq!(why_not(&begun, "b", 1, 0), None);
        begun.note("b", None, start, restraint);
        assert!(why_not(&begun, "c", 59, 0).unwrap().contains("diagnoses-per-hour"));
        assert_eq!(why_not(&begun, "c", 61, 0), None);
        assert!(why_not(&begun, "a", 179, 0).unwrap().contains("again-after"));
        assert_eq!(why_not(&begun, "a", 181, 0), None);
        begun.note("d", Some("it is a constructor"), start, restraint);
        assert!(why_not(&begun, "d", 61, 0).unwrap().contains("could not be begun 61 min ago: it is a constructor"));
    }
}
