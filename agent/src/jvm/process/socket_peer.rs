//! Who is connected to a socket, and whose process this is.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// Returns the numbers of the user and of the process that connected to a socket, as this process sees them: the process is 0 if it is in
/// another container.
pub(crate) fn socket_peer(stream: &UnixStream) -> io::Result<(u32, u32)> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both out-parameters are on our stack, and the length is that of the structure.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((peer.uid, u32::try_from(peer.pid).unwrap_or(0)))
}

/// Whether the other end of a connection is gone. One that has only said that it sends no more is still there.
pub(crate) fn is_hung_up(stream: &UnixStream) -> bool {
    let mut asked = libc::pollfd { fd: stream.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one structure on our stack; without a time nothing is waited for.
    let found = unsafe { libc::poll(&raw mut asked, 1, 0) };
    found > 0 && asked.revents & libc::POLLHUP != 0
}

/// Returns the number of the user whose rights this process has.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_gone_is_noticed() {
        let (one, other) = UnixStream::pair().unwrap();
        assert!(!is_hung_up(&one));
        other.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(!is_hung_up(&one), "it may still read");
        drop(other);
        assert!(is_hung_up(&one));
    }

    #[test]
    fn the_peer_of_a_pair_of_sockets_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(socket_peer(&one).unwrap(), (effective_user(), std::process::id()));
    }
}
