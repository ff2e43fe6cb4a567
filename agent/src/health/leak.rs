//! Whether what is in use of the heap grows and grows: the least that was in use between two major collections, again and
//! again larger than before.

use std::collections::VecDeque;

/// So many of the lowest levels in a row must grow.
const IN_A_ROW: usize = 6;
/// ... and by so much of the heap's limit, all together.
const GROWTH: f64 = 0.05;

/// Follows the lowest levels.
#[derive(Debug, Default)]
pub(crate) struct LeakWatch {
    major_collections: Option<u64>,
    /// Least in use since the last major collection.
    lowest: u64,
    /// The levels before, the latest last.
    levels: VecDeque<u64>,
    told: bool,
}

impl LeakWatch {
    /// Takes a reading: major collections since the start of the JVM, bytes in use, the heap's limit. Returns a text when
    /// growth is seen for the first time, or again after it had stopped.
    pub(crate) fn see(&mut self, major_collections: u64, used: u64, limit: u64) -> Option<String> {
        if self.major_collections == Some(major_collections) {
            self.lowest = self.lowest.min(used);
            return None;
        }
        let is_first = self.major_collections.replace(major_collections).is_none();
        let ended = std::mem::replace(&mut self.lowest, used);
        // What came before the first collection is mostly garbage.
        if is_first {
            self.lowest = u64::MAX;
            return None;
        }
        if ended == u64::MAX {
            return None;
        }
        self.levels.push_back(ended);
        if self.levels.len() > IN_A_ROW {
            self.levels.pop_front();
        }
        self.judge(limit)
    }

    /// Least in use since the last major collection that was seen; `None` before the first.
    pub(crate) fn lowest(&self) -> Option<u64> {
        Some(self.lowest).filter(|lowest| *lowest != u64::MAX && self.major_collections.is_some())
    }

    /// Bytes that the lowest level has grown by over the last major collections, if it grew each time; 0 otherwise.
    pub(crate) fn growth(&self, limit: u64) -> u64 {
        let grows = self.levels.iter().zip(self.levels.iter().skip(1)).all(|(before, after)| before < after);
        match (self.levels.front(), self.levels.back()) {
            (Some(first), Some(last)) if grows && self.levels.len() == IN_A_ROW => {
                let growth = last - first;
                if growth as f64 >= GROWTH * limit as f64 { growth } else { 0 }
            }
            _ => 0,
        }
    }

    fn judge(&mut self, limit: u64) -> Option<String> {
        let growth = self.growth(limit);
        let is_new = growth > 0 && !self.told;
        self.told = growth > 0;
        is_new.then(|| {
            format!(
                "perhaps a memory leak: the heap in use after major collections grew {} times in a row, by {:.1} MB",
                IN_A_ROW - 1,
                growth as f64 / 1e6
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lowest level after each major collection; returns at which of them it is told, and the last growth.
    fn told(levels: &[u64]) -> (Vec<usize>, u64) {
        let mut watch = LeakWatch::default();
        watch.see(0, 90, 1000);
        let mut told = Vec::new();
        for (number, level) in (1..).zip(levels) {
            for used in [*level + 300, *level, *level + 500] {
                if watch.see(number as u64, used, 1000).is_some() {
                    told.push(number);
                }
            }
        }
        (told, watch.growth(1000))
    }

    #[test]
    fn five_rises_in_a_row_are_told_once() {
        // The level of a collection is known when the next one comes.
        assert_eq!(told(&[100, 110, 125, 140, 150, 160, 170, 180]), (vec![7], 60));
    }

    #[test]
    fn a_fall_in_between_or_a_small_rise_is_no_leak() {
        assert_eq!(told(&[100, 110, 125, 120, 150, 160, 170, 180]), (vec![], 0));
        assert_eq!(told(&[100, 101, 102, 103, 104, 105, 106, 107]), (vec![], 0));
    }

    #[test]
    fn it_is_told_again_after_it_had_stopped() {
        let levels = [100, 120, 140, 160, 180, 200, 100, 120, 140, 160, 180, 200, 220];
        assert_eq!(told(&levels).0, [7, 13]);
        let mut watch = LeakWatch::default();
        [(3, 50), (3, 40), (4, 30), (4, 20), (4, 60)]
            .into_iter()
            .for_each(|(major, used)| drop(watch.see(major, used, 1000)));
        assert_eq!(watch.lowest(), Some(20));
    }
}
