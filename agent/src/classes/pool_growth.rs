//! Classes whose constant pool grows with each retransformation (JDK-8308762: HotSpot adds entries of a class that has resolved some class beforehand, such as
//! `Throwable` in a handler, and does not recognise them the next time). What is added stays for as long as the class.

/// The constant pool is checked once in this number of retransformations.
const BETWEEN_LOOKS: u32 = 32;
/// The least size of an entry in bytes.
const SMALLEST_ENTRY: usize = 3;
/// Different probes need some constants each, which are added once. A pool that has grown by an entry each time between this number of checks grows for ever.
const LOOKS: u8 = 4;

/// What is known of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PoolGrowth {
    retransformed: u32,
    /// The size of the pool at the last look, in bytes.
    size: usize,
    /// How many looks in a row have found that it grows.
    grew: u8,
}

impl PoolGrowth {
    /// The class was retransformed; `size` looks at its constant pool.
    pub(crate) fn note(&mut self, size: impl FnOnce() -> Option<usize>) {
        self.retransformed = self.retransformed.saturating_add(1);
        if !self.retransformed.is_multiple_of(BETWEEN_LOOKS) {
            return;
        }
        let Some(size) = size() else { return };
        let least = self.size + SMALLEST_ENTRY * BETWEEN_LOOKS as usize;
        let grows = self.size > 0 && size >= least;
        self.grew = if grows { self.grew.saturating_add(1) } else { 0 };
        self.size = size;
    }

    /// Returns how often the class was retransformed, if its pool grows each time.
    pub(crate) fn too_often(self) -> Option<u32> {
        (self.grew >= LOOKS).then_some(self.retransformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: u32, size: impl Fn(u32) -> usize) -> PoolGrowth {
        let mut growth = PoolGrowth::default();
        (1..=times).for_each(|time| growth.note(|| Some(size(time))));
        growth
    }

    #[test]
    fn a_pool_that_grows_each_time_is_found_after_some_looks() {
        let size = |time: u32| 2_000 + 5 * time as usize;
        assert_eq!(after(5 * BETWEEN_LOOKS - 1, size).too_often(), None);
        assert_eq!(after(5 * BETWEEN_LOOKS, size).too_often(), Some(160));
    }

    #[test]
    fn constants_of_many_different_probes_are_no_such_growth() {
        let growth = after(10_000, |time| 2_000 + 1_000 * (time.min(90) as usize));
        assert_eq!((growth.retransformed, growth.too_often()), (10_000, None));
    }
}
