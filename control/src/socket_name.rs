//! How the socket of a process is found: `/tmp/instr-<user id>/<process id>-<pid namespace>.sock`, as its own container shows /tmp and the number.

use std::io;
use std::path::Path;

/// Returns the name of the socket of a process in a namespace of process ids, which is empty where /proc does not show it.
#[must_use]
pub fn socket_name(process: u32, namespace: &str) -> String {
    if namespace.is_empty() { format!("{process}.sock") } else { format!("{process}-{namespace}.sock") }
}

/// Returns the number of the namespace of process ids of the process with this directory in /proc.
///
/// # Errors
/// If /proc does not show it.
pub fn namespace_of(process: &Path) -> io::Result<String> {
    let link = std::fs::read_link(process.join("ns/pid"))?;
    Ok(link.to_string_lossy().chars().filter(char::is_ascii_digit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_the_same_number_in_two_containers_have_two_sockets() {
        assert_eq!(socket_name(1, "4026531836"), "1-4026531836.sock");
        assert_eq!(socket_name(1, ""), "1.sock");
        let own = namespace_of(Path::new("/proc/self"));
        assert!(own.is_ok_and(|own| own.parse::<u64>().is_ok()));
        assert!(namespace_of(Path::new("/proc/0")).is_err());
    }
}
