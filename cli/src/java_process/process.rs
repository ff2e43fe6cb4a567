//! A process as /proc shows it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use control::namespace_of;

use crate::failure::Failure;

/// A process. It may end at any time; what is asked then fails or is empty.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    directory: PathBuf,
}

impl Process {
    /// Returns the process with this number.
    pub(crate) fn find(pid: u32) -> Result<Process> {
        let process = Process::numbered(pid);
        if process.directory.exists() {
            return Ok(process);
        }
        Err(Failure::new(format!("there is no process {pid}"), "`instr ps` lists the JVMs").into())
    }

    /// Returns all processes that /proc shows, in the order of their numbers.
    pub(crate) fn all() -> Vec<Process> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        pids.sort_unstable();
        pids.into_iter().map(Process::numbered).collect()
    }

    fn numbered(pid: u32) -> Process {
        Process { pid, directory: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// Returns the content of one of its files in /proc.
    pub(crate) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.directory.join(name))
    }

    /// Returns one of its files or directories in /proc.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns the user whose rights it has.
    pub(crate) fn user(&self) -> Option<u32> {
        // Real, effective, saved, and that of the file system.
        self.status_field("Uid")?.split_whitespace().nth(1)?.parse().ok()
    }

    /// Returns the user who owns its directory in /proc: root if the process must not be looked into.
    pub(crate) fn owner(&self) -> Option<u32> {
        std::fs::metadata(&self.directory).ok().map(|found| found.uid())
    }

    /// Returns the number that it has inside its own container.
    pub(crate) fn inner_pid(&self) -> u32 {
        let inner = || self.status_field("NSpid")?.split_whitespace().last()?.parse().ok();
        inner().unwrap_or(self.pid)
    }

    /// Returns the number of its namespace of process ids. Where that of the process is not visible (its program has file capabilities), it is
    /// taken to be that of `instr`; empty if /proc shows neither.
    pub(crate) fn pid_namespace(&self) -> String {
        namespace_of(&self.directory).or_else(|_| namespace_of(Path::new("/proc/self"))).unwrap_or_default()
    }

    /// Whether it is no more, or only its parent has not noticed yet.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state(), None | Some('Z' | 'X'))
    }

    /// Whether a process has ended. One that is about to end has a moment to do so.
    pub(crate) fn ends_now(pid: u32) -> bool {
        let patience = Instant::now() + Duration::from_secs(1);
        while Process::find(pid).is_ok_and(|process| !process.has_ended()) {
            if Instant::now() >= patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Whether somebody has stopped it (`kill -STOP`, Ctrl-Z, a debugger).
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state(), Some('T' | 't'))
    }

    /// Fails if it has ended, or is stopped: then it answers nobody.
    pub(crate) fn check_running(&self) -> Result<()> {
        let pid = self.pid;
        if self.has_ended() {
            anyhow::bail!("process {pid} has ended");
        }
        if self.is_stopped() {
            let help = format!("`kill -CONT {pid}` lets it go on");
            return Err(Failure::new(format!("process {pid} is stopped, so it answers nobody"), help).into());
        }
        Ok(())
    }

    fn state(&self) -> Option<char> {
        let line = self.read("stat").ok()?;
        // The name is in brackets and may contain anything; the state is the next word.
        String::from_utf8_lossy(&line).rsplit_once(") ")?.1.chars().next()
    }

    /// Whether it has a handler for SIGQUIT. A process without one would be ended by the signal.
    pub(crate) fn handles_quit(&self) -> bool {
        const QUIT: u64 = 1 << (3 - 1);
        let mask = |name| u64::from_str_radix(self.status_field(name)?.trim(), 16).ok();
        mask("SigCgt").is_some_and(|caught| caught & QUIT != 0)
            && mask("SigIgn").is_some_and(|ignored| ignored & QUIT == 0)
    }

    fn status_field(&self, name: &str) -> Option<String> {
        let status = self.read("status").ok()?;
        field(&String::from_utf8_lossy(&status), name).map(str::to_owned)
    }

    /// Returns the files that it has mapped into memory. They are named as the process itself sees them; ` (deleted)` follows the name of one
    /// that is not there any more.
    pub(crate) fn mapped_files(&self) -> io::Result<Vec<PathBuf>> {
        Ok(mapped_files(&String::from_utf8_lossy(&self.read("maps")?)))
    }

    /// Returns its directories for temporary files as they can be reached from here: that of its container, and that of `instr`, which is the same
    /// unless the process has a file system of its own.
    pub(crate) fn temporary_directories(&self) -> [PathBuf; 2] {
        [self.file("root/tmp"), PathBuf::from("/tmp")]
    }

    /// Returns the absolute name of a file that the process calls by this one.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        std::fs::read_link(self.file("cwd")).map_or_else(|_| path.to_owned(), |directory| directory.join(path))
    }

    /// Returns where a file is that the process calls by this absolute name.
    pub(crate) fn seen_from_here(&self, path: &Path) -> PathBuf {
        if self.shares_file_system() {
            path.to_owned()
        } else {
            self.file("root").join(path.strip_prefix("/").unwrap_or(path))
        }
    }

    /// Whether it sees the same files as `instr`, as far as /proc shows that.
    pub(crate) fn shares_file_system(&self) -> bool {
        let same = |link: &str| {
            let own = std::fs::read_link(Path::new("/proc/self").join(link));
            match (own, std::fs::read_link(self.file(link))) {
                (Ok(own), Ok(its)) => own == its,
                _ => true,
            }
        };
        same("ns/mnt") && same("root")
    }
}

fn field<'t>(status: &'t str, name: &str) -> Option<&'t str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

fn mapped_files(maps: &str) -> Vec<PathBuf> {
    // Addresses, rights, offset, device, inode, name.
    let name = |line: &str| line.find('/').map(|at| PathBuf::from(line.split_at(at).1));
    let mut files: Vec<PathBuf> = maps.lines().filter_map(name).collect();
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_and_described() {
        let own = Process::find(std::process::id()).unwrap();
        assert!(!own.has_ended() && !own.is_stopped() && own.shares_file_system());
        assert_eq!((own.inner_pid(), own.user()), (own.pid, own.owner()));
        assert!(Process::all().iter().any(|process| process.pid == own.pid));
        assert_eq!(own.absolute(Path::new("a")), std::env::current_dir().unwrap().join("a"));
        assert_eq!(own.seen_from_here(Path::new("/a/b")), Path::new("/a/b"));
        assert!(own.mapped_files().unwrap().contains(&std::env::current_exe().unwrap()));
    }

    #[test]
    fn a_process_that_is_stopped_or_has_ended_is_known_as_such() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(!process.handles_quit());
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        while !process.is_stopped() {}
        assert!(process.check_running().is_err());
        child.kill().unwrap();
        while !process.has_ended() {}
        child.wait().unwrap();
        assert!(process.has_ended());
        let error = Process::find(child.id()).unwrap_err();
        assert!(error.to_string().contains("there is no process"), "{error}");
    }

    #[test]
    fn fields_and_files_are_read_as_proc_writes_them() {
        let status = "Name:\tjava\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t77\t1\n";
        assert_eq!(field(status, "NSpid"), Some("\t77\t1"));
        assert_eq!(field(status, "NS"), None);
        let maps = "7f8bc6600000-7f8bc786e000 r-xp 00000000 fe:00 5408617                    /opt/a jdk/libjvm.so\n\
            7f8bc786e000-7f8bc786f000 rw-p 00000000 fe:00 5408617                    /opt/a jdk/libjvm.so\n\
            7ffd1000-7ffd2000 rw-p 00000000 00:00 0                          [stack]\n\
            7f00-7f01 r-xp 00000000 fe:00 3                    /opt/libinstr.so (deleted)\n";
        assert_eq!(mapped_files(maps), [Path::new("/opt/a jdk/libjvm.so"), Path::new("/opt/libinstr.so (deleted)")]);
    }
}
