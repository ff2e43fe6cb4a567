//! Files that are read as a whole, if they are regular ones.

use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Returns the content of a regular file. Anything else is refused before it is opened: the open of a named pipe waits for a writer, that of a device
/// may do anything.
pub fn read_regular_file(path: &Path) -> io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() {
        return std::fs::read(path);
    }
    let error = if kind.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    Err(io::Error::new(error, format!("it is {}, not a regular file", name(kind))))
}

fn name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_what_else_there_is_has_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe, socket] = ["file", "link", "pipe", "socket"].map(|name| folder.path().join(name));
        std::fs::write(&file, "content").unwrap();
        symlink(&file, &link).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listening = UnixListener::bind(&socket).unwrap();
        assert_eq!(read_regular_file(&link).unwrap(), b"content");
        let reason = |path: &Path| read_regular_file(path).unwrap_err().to_string();
        assert_eq!(reason(&pipe), "it is a named pipe, not a regular file");
        assert_eq!(reason(folder.path()), "it is a directory, not a regular file");
        assert_eq!(reason(&socket), "it is a socket, not a regular file");
        assert_eq!(reason(Path::new("/dev/zero")), "it is a device, not a regular file");
    }
}
