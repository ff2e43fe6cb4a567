//! Random numbers that need no quality but must not keep a rhythm, which programs have, too.

use std::hash::{BuildHasher, RandomState};

/// A source of random numbers, seeded by the standard library.
#[derive(Debug, Clone, Default)]
pub(crate) struct Random {
    state: RandomState,
    drawn: u64,
}

impl Random {
    /// From 0 to 1.
    pub(crate) fn part(&mut self) -> f64 {
        self.drawn += 1;
        f64::from(self.state.hash_one(self.drawn) as u32) / f64::from(u32::MAX)
    }

    /// Moves `count` elements, each as likely as the others, to the beginning.
    pub(crate) fn choose<T>(&mut self, elements: &mut [T], count: usize) {
        for at in 0..count.min(elements.len()) {
            let others = elements.len() - at;
            let chosen = at + ((self.part() * others as f64) as usize).min(others - 1);
            elements.swap(at, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_chosen_as_often_as_the_others() {
        let (mut random, mut counts) = (Random::default(), [0; 10]);
        for _ in 0..10_000 {
            let mut elements: [usize; 10] = std::array::from_fn(|at| at);
            random.choose(&mut elements, 3);
            elements.iter().take(3).for_each(|chosen| counts[*chosen] += 1);
            elements.sort_unstable();
            assert_eq!(elements, std::array::from_fn(|at| at), "none is lost");
        }
        assert!(counts.iter().all(|count| (2_700..3_300).contains(count)), "{counts:?}");
    }
}
