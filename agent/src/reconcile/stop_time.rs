//! For how long the JVM has stopped the application up to now, as HotSpot publishes it for `jstat`: what is done to classes takes far longer than the
//! application is stopped for it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use performance_data::PerformanceData;

/// The file of this process; `None` if the JVM does not publish anything (`-XX:-UsePerfData`, `-XX:+PerfDisableSharedMem`).
static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Returns the time of all safepoints of this JVM up to now; `None` if the JVM does not publish it.
pub(super) fn total() -> Option<Duration> {
    let file = FILE.get_or_init(|| mapped_file(&fs::read_to_string("/proc/self/maps").ok()?));
    total_of(&PerformanceData::parse(&fs::read(file.as_ref()?).ok()?)?)
}

/// Returns the file that this process has mapped, according to its list of mappings, unless another file has its name meanwhile.
fn mapped_file(mappings: &str) -> Option<PathBuf> {
    let line = mappings.lines().find(|line| line.contains("/hsperfdata_"))?;
    let inode: u64 = line.split_ascii_whitespace().nth(4)?.parse().ok()?;
    let file = Path::new(line.get(line.find('/')?..)?);
    (fs::metadata(file).ok()?.ino() == inode).then(|| file.to_owned())
}

fn total_of(data: &PerformanceData) -> Option<Duration> {
    // Until all threads have stopped, and from then on.
    let ticks = [data.number("sun.rt.safepointSyncTime")?, data.number("sun.rt.safepointTime")?];
    let each_second = data.number("sun.os.hrt.frequency")?;
    let nanos = ticks.map(u128::from).into_iter().sum::<u128>() * 1_000_000_000 / u128::from(each_second.max(1));
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapped_file_is_found_while_it_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hsperfdata_me");
        fs::create_dir(&file).unwrap();
        let file = file.join("4711");
        fs::write(&file, "").unwrap();
        let mappings = |inode: u64| {
            format!(
                "7f00-7f01 r--p 00000000 fe:00 12 /lib/libc.so\n7f145e49c000-7f145e4a4000 rw-s 00000000 fe:00 {inode}                    {}\n",
                file.display()
            )
        };
        let inode = fs::metadata(&file).unwrap().ino();
        assert_eq!(mapped_file(&mappings(inode)), Some(file.clone()));
        assert_eq!(mapped_file(&mappings(inode + 1)), None, "a file of another process");
        assert_eq!(mapped_file("7f00-7f01 r--p 00000000 fe:00 12 /lib/libc.so\n"), None);
    }

    #[test]
    fn a_jvm_that_publishes_no_such_time_has_none() {
        assert_eq!(total_of(&PerformanceData::default()), None);
    }
}
