//! Processor time of the JVM's own threads, which have no samples: the operating system knows it, and HotSpot's threads by their names.

use std::fs;
use std::path::Path;
use std::time::Duration;

use control::JvmThreads;
use rustc_hash::FxHashMap;

/// What threads do, by how their names begin, of which the kernel keeps 15 bytes.
const ROLES: [(&str, &[&str]); 3] = [
    ("compiler", &["C1 Compiler", "C2 Compiler", "JVMCI Compiler", "JVMCI-native Co"]),
    (
        "collector",
        &[
            "GC Thread#",
            "G1 Main Marker",
            "G1 Conc#",
            "G1 Refine#",
            "G1 Service",
            "ZDirector",
            "ZDriver",
            "ZWorker",
            "ZStat",
            "ZUncommitter",
            "ZUnmapper",
            "XDirector",
            "XDriver",
            "XWorker",
            "XStat",
            "Shenandoah",
            "CMS ",
        ],
    ),
    // Stops the others and works while they stand; the serial collector is a part of it.
    ("VM", &["VM Thread"]),
];

/// Processor time of the JVM's threads that were there at a moment.
#[derive(Debug)]
pub(crate) struct JvmThreadTimes {
    /// By number of the thread.
    times: FxHashMap<u32, (&'static str, Duration)>,
}

impl JvmThreadTimes {
    /// Looks at each thread of the process: some microseconds a thread.
    pub(crate) fn read() -> JvmThreadTimes {
        JvmThreadTimes::read_at(Path::new("/proc/self/task"))
    }

    fn read_at(tasks: &Path) -> JvmThreadTimes {
        let threads = fs::read_dir(tasks).into_iter().flatten().flatten();
        let numbered = threads.filter_map(|task| Some((task.file_name().to_str()?.parse().ok()?, task.path())));
        JvmThreadTimes { times: numbered.filter_map(|(number, path)| Some((number, time_in_role(&path)?))).collect() }
    }

    /// What the JVM's threads have used since; those that have ended meanwhile are left out.
    pub(crate) fn used_until(&self, end: &JvmThreadTimes) -> Vec<JvmThreads> {
        let used = |(number, (role, time)): (&u32, &(&'static str, Duration))| {
            // The kernel may have given the number of a thread that has ended to another one.
            let before = self.times.get(number).filter(|(before, at)| before == role && at <= time);
            (*role, time.saturating_sub(before.map_or(Duration::ZERO, |(_, at)| *at)))
        };
        let used: Vec<(&str, Duration)> = end.times.iter().map(used).collect();
        let of_role = |role: &str| used.iter().filter(|(of, _)| *of == role).map(|(_, time)| *time).sum::<Duration>();
        let roles = ROLES.iter().map(|(role, _)| (*role, of_role(role))).filter(|(_, time)| !time.is_zero());
        roles.map(|(role, time)| JvmThreads { threads: role.to_owned(), cpu_ms: time.as_secs_f64() * 1e3 }).collect()
    }
}

/// What the thread with this directory does, and for how long it has; `None` if it is none of the JVM's.
fn time_in_role(thread: &Path) -> Option<(&'static str, Duration)> {
    let name = fs::read_to_string(thread.join("comm")).ok()?;
    let (role, _) = ROLES.iter().find(|(_, names)| names.iter().any(|begin| name.starts_with(begin)))?;
    // Nanoseconds on a processor, those of waiting for one, number of turns.
    let nanos = fs::read_to_string(thread.join("schedstat")).ok()?.split(' ').next()?.parse().ok()?;
    Some((role, Duration::from_nanos(nanos)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(tasks: &Path, number: u32, name: &str, millis: u64) {
        let directory = tasks.join(number.to_string());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("comm"), format!("{name}\n")).unwrap();
        fs::write(directory.join("schedstat"), format!("{} 5 7\n", millis * 1_000_000)).unwrap();
    }

    #[test]
    fn threads_count_from_the_first_look_to_the_second() {
        let tasks = tempfile::tempdir().unwrap();
        let tasks = tasks.path();
        write(tasks, 1, "C2 CompilerThre", 100);
        write(tasks, 2, "GC Thread#0", 50);
        write(tasks, 3, "G1 in my name", 70);
        write(tasks, 4, "VM Thread", 5);
        let begin = JvmThreadTimes::read_at(tasks);
        write(tasks, 1, "C2 CompilerThre", 130);
        write(tasks, 5, "C1 CompilerThre", 9);
        write(tasks, 3, "G1 in my name", 700);
        // Its number was given again.
        write(tasks, 2, "G1 Conc#0", 20);
        let used = begin.used_until(&JvmThreadTimes::read_at(tasks));
        let used: Vec<(&str, f64)> = used.iter().map(|of| (of.threads.as_str(), of.cpu_ms.round())).collect();
        assert_eq!(used, [("compiler", 39.0), ("collector", 20.0)]);
    }

    #[test]
    fn an_operating_system_that_does_not_say_has_none() {
        let nowhere = JvmThreadTimes::read_at(Path::new("/nowhere"));
        assert!(nowhere.used_until(&nowhere).is_empty());
    }
}
