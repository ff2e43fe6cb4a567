//! Names of the files that a session writes.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use settings::{FilePattern, NameParts};

/// What the placeholders of configured names are replaced by: the same in all names of a session.
#[derive(Debug)]
pub(crate) struct FileNames {
    started: String,
    host: String,
}

impl FileNames {
    /// Names of a session that starts now.
    pub(crate) fn of_now() -> FileNames {
        FileNames {
            started: time_stamp(),
            host: host_name().unwrap_or_else(|| "localhost".to_owned()).replace('/', "_"),
        }
    }

    /// The file of this name.
    pub(crate) fn path(&self, pattern: &FilePattern) -> PathBuf {
        let parts = NameParts { pid: std::process::id(), started: &self.started, host: &self.host };
        PathBuf::from(pattern.name(&parts))
    }
}

/// This moment as part of a file name, in UTC: `20251121T090312Z`.
pub(crate) fn time_stamp() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = trace::report::date(u64::try_from(since_epoch.as_nanos()).unwrap_or(0));
    let digits: String = date.chars().filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    format!("{day}T{time}Z")
}

/// Name of the machine or container.
pub(crate) fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
