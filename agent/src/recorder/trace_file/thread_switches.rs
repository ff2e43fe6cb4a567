//! How often threads have left their processors, as the kernel counts it: looked up for threads that go on, by the drainer.

use rustc_hash::FxHashMap;

/// What has been reported of each thread, by the operating system's number.
#[derive(Debug, Default)]
pub(super) struct ThreadSwitches {
    told: FxHashMap<u64, (u64, u64)>,
}

impl ThreadSwitches {
    /// Looks at threads, each given by its Java id and the operating system's number; reports those whose counts have changed.
    pub(super) fn look(&mut self, threads: &[(u64, u64)], mut tell: impl FnMut(u64, (u64, u64))) {
        let mut told = FxHashMap::default();
        for (java_id, os_thread) in threads {
            let Some(counts) = of_thread(*os_thread) else { continue };
            if self.told.get(os_thread) != Some(&counts) {
                tell(*java_id, counts);
            }
            told.insert(*os_thread, counts);
        }
        self.told = told;
    }
}

/// Switches because the thread had to wait, and because another took its place; `None` if it has ended.
fn of_thread(os_thread: u64) -> Option<(u64, u64)> {
    counts_in(&std::fs::read_to_string(format!("/proc/self/task/{os_thread}/status")).ok()?)
}

fn counts_in(status: &str) -> Option<(u64, u64)> {
    let count = |name: &str| status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some((count("voluntary_ctxt_switches:")?, count("nonvoluntary_ctxt_switches:")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::current_thread_id;

    #[test]
    fn counts_are_found_by_their_names() {
        let status = "Name:\tmain\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(counts_in(status), Some((12, 3)));
        assert_eq!(counts_in("Name:\tmain\n"), None);
    }

    #[test]
    fn a_thread_is_told_when_it_has_waited_and_one_that_is_gone_is_not() {
        let mut switches = ThreadSwitches::default();
        let own = current_thread_id();
        let mut told = Vec::new();
        switches.look(&[(7, own), (8, u64::from(u32::MAX))], |id, _| told.push(id));
        let first = std::mem::take(&mut told);
        while told.is_empty() {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
            switches.look(&[(7, own)], |id, _| told.push(id));
        }
        assert_eq!((first, told), (vec![7], vec![7]));
    }
}
