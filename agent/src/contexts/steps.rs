//! Which bits of the words are whose step.

use super::memory::{STEP_BITS, WARM_UP_STEP, WORDS};

/// The bits that are nobody's.
#[derive(Debug)]
pub(super) struct FreeSteps([u64; WORDS]);

impl Default for FreeSteps {
    fn default() -> FreeSteps {
        let mut free = FreeSteps([STEP_BITS; WORDS]);
        free.set(WARM_UP_STEP, false);
        free
    }
}

impl FreeSteps {
    /// Takes this number of steps one after the other in one word, since an anchor shifts a word; `None` if no word has them. Steps are numbered
    /// through all words.
    pub(super) fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let (word, first) = self.0.iter().enumerate().find_map(|(word, free)| {
            let starts =
                (1..count).fold(*free, |starts, distance| starts & free.checked_shr(distance as u32).unwrap_or(0));
            (starts != 0).then(|| (word, starts.trailing_zeros() as usize))
        })?;
        let steps: Vec<u8> = (0..count).filter_map(|step| u8::try_from(word * 64 + first + step).ok()).collect();
        steps.iter().for_each(|step| self.set(*step, false));
        Some(steps)
    }

    /// Gives steps back.
    pub(super) fn give_back(&mut self, steps: &[u8]) {
        steps.iter().for_each(|step| self.set(*step, true));
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn set(&mut self, step: u8, is_free: bool) {
        if let Some(word) = self.0.get_mut(word_of(step)) {
            *word = if is_free { *word | bit_of(step) } else { *word & !bit_of(step) };
        }
    }
}

/// Returns the word in which a step is.
pub(super) fn word_of(step: u8) -> usize {
    usize::from(step >> 6)
}

/// Returns the bit of a step in its word.
pub(super) fn bit_of(step: u8) -> u64 {
    1 << (step & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_192_steps_and_contexts_of_16_fill_them() {
        let mut free = FreeSteps::default();
        assert!(free.count() >= 192, "{}", free.count());
        let taken: Vec<Vec<u8>> = std::iter::from_fn(|| free.take(16)).collect();
        assert_eq!(taken.len(), 3 * WORDS);
        let mut all = taken.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16 * taken.len(), "no step twice");
        assert!(all.iter().all(|step| step & 63 >= 3 && *step != WARM_UP_STEP), "none of the runtime's bits");
        assert!(taken.iter().all(|steps| steps.iter().all(|step| word_of(*step) == word_of(steps[0]))), "of one word");
        free.give_back(&taken[5]);
        assert_eq!((free.take(16).as_ref(), free.take(16)), (Some(&taken[5]), None));
    }

    #[test]
    fn what_is_left_between_others_is_used() {
        let mut free = FreeSteps::default();
        let [first, second] = [free.take(3).unwrap(), free.take(3).unwrap()];
        assert_eq!(first[2] + 1, second[0]);
        free.give_back(&first);
        assert_ne!(free.take(4).unwrap()[0], first[0]);
        assert_eq!(free.take(2).unwrap(), first[..2]);
    }
}
