//! How often each probe recorded, for those who ask while the program runs.

/// Calls of a probe since the recording began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Records.
    pub(crate) count: u64,
    /// Their durations together, in nanoseconds.
    pub(crate) nanos: u64,
}

/// Calls by probe number.
#[derive(Debug, Default)]
pub(crate) struct CallRates {
    calls: Vec<Calls>,
}

const PROBE_MASK: u64 = 0x00ff_ffff;

impl CallRates {
    /// Counts ring records: start, duration << 24 | probe.
    pub(crate) fn add(&mut self, records: &[[u64; 2]]) {
        for [_, word] in records {
            self.add_call((word & PROBE_MASK) as usize, word >> 24);
        }
    }

    /// Counts one call.
    pub(crate) fn add_call(&mut self, probe: usize, nanos: u64) {
        if self.calls.len() <= probe && probe <= PROBE_MASK as usize {
            self.calls.resize((probe + 1).next_power_of_two(), Calls::default());
        }
        if let Some(calls) = self.calls.get_mut(probe) {
            calls.count += 1;
            calls.nanos = calls.nanos.saturating_add(nanos);
        }
    }

    /// The figures at this moment, at the position of the probe's number.
    pub(crate) fn snapshot(&self) -> Vec<Calls> {
        self.calls.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_time_are_counted_for_each_probe() {
        let mut rates = CallRates::default();
        rates.add(&[[1, 10 << 24 | 3], [2, 5 << 24 | 3], [3, 7 << 24 | 1]]);
        rates.add_call(900, 1 << 41);
        let calls = rates.snapshot();
        assert_eq!(calls[3], Calls { count: 2, nanos: 15 });
        assert_eq!(calls[1], Calls { count: 1, nanos: 7 });
        assert_eq!(calls[900], Calls { count: 1, nanos: 1 << 41 });
        assert_eq!(calls[2], Calls::default());
    }
}
