//! How much processor time the JIT has taken up to now: the price of code that has to be compiled anew.
//!
//! The operating system knows it for each thread, and HotSpot's compiler threads by their names. Asking the JVM (JMX) would load half
//! a thousand classes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustc_hash::FxHashMap;

/// Part of the names of `C1 CompilerThread0`, `C2 CompilerThread1`, `JVMCI CompilerThread0`, of which the kernel keeps 15 bytes.
const NAME: &str = "CompilerThre";

/// What is known of compiler threads. HotSpot starts and ends them as it needs them.
#[derive(Debug, Default)]
pub(crate) struct CompilerTime {
    by_thread: FxHashMap<u32, Duration>,
}

impl CompilerTime {
    /// Processor time of all compiler threads that were ever seen. Looks at each thread of the process: some microseconds a thread.
    pub(crate) fn read(&mut self) -> Duration {
        self.read_at(Path::new("/proc/self/task"))
    }

    fn read_at(&mut self, tasks: &Path) -> Duration {
        let threads = fs::read_dir(tasks).into_iter().flatten().flatten();
        for (number, path) in threads.filter_map(|task| Some((task.file_name().to_str()?.parse().ok()?, task.path()))) {
            if let Some(time) = compiling(&path) {
                self.by_thread.insert(number, time);
            }
        }
        self.by_thread.values().sum()
    }
}

/// Processor time of the thread with this directory; `None` if it does not compile.
fn compiling(thread: &Path) -> Option<Duration> {
    if !fs::read_to_string(thread.join("comm")).ok()?.contains(NAME) {
        return None;
    }
    // Nanoseconds on a processor, those of waiting for one, number of turns.
    let nanos = fs::read_to_string(thread.join("schedstat")).ok()?.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_compile_count_also_when_they_are_gone() {
        let tasks = std::env::temp_dir().join(format!("instr-compiler-time-{}", std::process::id()));
        let thread = |number: &str, name: &str, nanos: u64| {
            let directory = tasks.join(number);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("comm"), format!("{name}\n")).unwrap();
            fs::write(directory.join("schedstat"), format!("{nanos} 5 7\n")).unwrap();
            directory
        };
        let first = thread("17", "C2 CompilerThre", 1_000);
        thread("18", "C1 CompilerThre", 200);
        thread("19", "http-nio-8080-e", 90_000);
        let mut time = CompilerTime::default();
        assert_eq!(time.read_at(&tasks).as_nanos(), 1_200);
        fs::remove_dir_all(first).unwrap();
        thread("18", "C1 CompilerThre", 300);
        assert_eq!(time.read_at(&tasks).as_nanos(), 1_300);
        fs::remove_dir_all(tasks).unwrap();
    }

    #[test]
    fn an_operating_system_that_does_not_tell_has_no_time() {
        assert_eq!(CompilerTime::default().read_at(Path::new("/nowhere")), Duration::ZERO);
        assert_eq!(CompilerTime::default().read(), Duration::ZERO, "no thread of this test compiles");
    }
}
