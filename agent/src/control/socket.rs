//! The file of the control socket: `/tmp/instr-<user id>/<process id>-<pid namespace>.sock`, in a directory that nobody else can enter; and the
//! thread that accepts connections there.
//!
//! Containers may share the directory and have the same process ids: the namespace keeps `instr` from asking the agent of another container.
//! A socket that somebody listens to is never removed.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use control::{namespace_of, socket_name};

use super::connections::{Connection, Connections};
use crate::files::directory_lock::lock;
use crate::jvm::block_signals;

/// The thread that accepts is waited for no longer than this when the agent ends: the application must not hang.
const LAST_ACCEPT: Duration = Duration::from_secs(10);
/// After a connection could not be accepted: the process may have no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves the clients of a socket.
pub(super) trait Clients: Send + Sync + 'static {
    /// Returns whether a client may ask. If not, it has been refused.
    fn allow(&self, client: &UnixStream) -> bool;

    /// Refuses a client for which there is no place.
    fn refuse_busy(&self, client: &UnixStream);

    /// Answers requests until the client has no more.
    fn serve(&self, client: &UnixStream, connection: &Connection);
}

/// A socket that is listened to.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    file: SocketFile,
    closed: Arc<AtomicBool>,
    connections: Arc<Connections>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Opens the socket and has clients served until this value is dropped.
    pub(super) fn open(clients: impl Clients) -> io::Result<ControlSocket> {
        let user = std::fs::metadata("/proc/self")?.uid();
        let directory = PathBuf::from(format!("/tmp/instr-{user}"));
        private_directory(&directory, user)?;
        let namespace = namespace_of(Path::new("/proc/self")).unwrap_or_default();
        ControlSocket::open_in(&directory, &namespace, std::process::id(), clients)
    }

    pub(super) fn open_in(
        directory: &Path,
        namespace: &str,
        process: u32,
        clients: impl Clients,
    ) -> io::Result<ControlSocket> {
        let (listener, file) = {
            // Between binding and listening a socket looks abandoned. If somebody holds the lock for long, the agent continues without it rather
            // than delay the application.
            let _lock = lock(directory).ok();
            remove_abandoned(directory, namespace);
            listen(&directory.join(socket_name(process, namespace)))?
        };
        let closed = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(Connections::default());
        let (ends, accepted, clients) = (Arc::clone(&closed), Arc::clone(&connections), Arc::new(clients));
        let (alive, ended) = channel();
        let thread = std::thread::Builder::new().name("instr-control".to_owned()).spawn(move || {
            let _alive = alive;
            block_signals();
            for client in listener.incoming() {
                if ends.load(Ordering::Acquire) {
                    break;
                }
                match client {
                    Ok(client) => receive(client, &accepted, &clients),
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
        })?;
        Ok(ControlSocket { file, closed, connections, ended, thread: Some(thread) })
    }
}

/// Has a client served by a thread of its own.
fn receive<C: Clients>(client: UnixStream, connections: &Arc<Connections>, clients: &Arc<C>) {
    if !clients.allow(&client) {
        return;
    }
    let Ok(Some(connection)) = connections.admit(&client) else { return clients.refuse_busy(&client) };
    let clients = Arc::clone(clients);
    let serve = move || {
        block_signals();
        clients.serve(&client, &connection);
    };
    // Without a thread the client is disconnected.
    if let Err(error) = std::thread::Builder::new().name("instr-client".to_owned()).spawn(serve) {
        tracing::debug!(%error, "no thread for a client of the control socket");
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        // Wakes the thread, which waits for somebody to connect. Nobody can wake it once its file is gone.
        let woken = self.file.is_ours() && UnixStream::connect(&self.file.path).is_ok();
        self.file.remove();
        self.connections.end();
        let has_ended = || self.ended.recv_timeout(LAST_ACCEPT) == Err(RecvTimeoutError::Disconnected);
        if woken
            && has_ended()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// The file of a socket, which another process may have replaced.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    fn is_ours(&self) -> bool {
        std::fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity)
    }

    fn remove(&self) {
        if self.is_ours() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Listens, unless another process does. The directory must be locked.
fn listen(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    if is_abandoned(path) {
        let _ = std::fs::remove_file(path);
    }
    let listener = UnixListener::bind(path)?;
    // Nobody else can enter the directory; the file says the same to those who look at it.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    let identity = identity(&std::fs::symlink_metadata(path)?);
    Ok((listener, SocketFile { path: path.to_owned(), identity }))
}

/// Whether nobody listens to a socket: its process was killed.
fn is_abandoned(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Makes the directory, or checks that it is this user's and nobody else's: /tmp belongs to all.
fn private_directory(directory: &Path, user: u32) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(directory)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let text = format!("{} belongs to somebody else or is open to others", directory.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Removes the sockets of processes that were killed: nobody else does. One whose process can be seen is left to it; one whose process
/// cannot be seen may belong to another container that shares the directory, so it is removed only if nobody listens to it.
fn remove_abandoned(directory: &Path, own_namespace: &str) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let (process, namespace) = name.split_once('-').unwrap_or((name, ""));
        let is_socket = path.extension().is_some_and(|extension| extension == "sock");
        let Some(process) = process.parse::<u32>().ok().filter(|_| is_socket) else { continue };
        let may_be_starting = namespace == own_namespace && Path::new(&format!("/proc/{process}")).exists();
        if !may_be_starting && is_abandoned(&path) {
            // Another agent may have done it meanwhile.
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Instant;

    use super::*;

    /// Answers each client with the number of a namespace.
    struct Namespace(&'static str);

    impl Clients for Namespace {
        fn allow(&self, _: &UnixStream) -> bool {
            true
        }

        fn refuse_busy(&self, _: &UnixStream) {}

        fn serve(&self, mut client: &UnixStream, _: &Connection) {
            // An agent that checks whether the socket is used disconnects at once.
            let _ = client.write_all(self.0.as_bytes());
        }
    }

    /// The agent of process 1 in a namespace, which answers with it.
    fn open(directory: &Path, namespace: &'static str) -> ControlSocket {
        ControlSocket::open_in(directory, namespace, 1, Namespace(namespace)).unwrap()
    }

    fn answer(path: &Path) -> String {
        let mut answer = String::new();
        UnixStream::connect(path).unwrap().read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn agents_of_the_same_number_leave_each_other_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [at_70, at_71] = ["1-70.sock", "1-71.sock"].map(|name| folder.path().join(name));
        let first = open(folder.path(), "70");
        let second = open(folder.path(), "71");
        assert_eq!((answer(&at_70), answer(&at_71)), ("70".to_owned(), "71".to_owned()));
        assert_eq!(at_70.metadata().unwrap().mode() & 0o777, 0o600);
        // The first ends without hanging, and the second goes on.
        drop(first);
        assert_eq!((at_70.exists(), answer(&at_71)), (false, "71".to_owned()));
        let taken = ControlSocket::open_in(folder.path(), "71", 1, Namespace("71"));
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(answer(&at_71), "71");
        drop(second);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_socket_that_was_replaced_is_not_removed_and_its_agent_ends_without_hanging() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-70.sock");
        let first = open(folder.path(), "70");
        std::fs::remove_file(&path).unwrap();
        let second = open(folder.path(), "70");
        let begin = Instant::now();
        drop(first);
        assert!(begin.elapsed() < LAST_ACCEPT);
        assert_eq!(answer(&path), "70");
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn the_socket_of_a_killed_process_of_the_same_number_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-70.sock");
        drop(UnixListener::bind(&path).unwrap());
        let _socket = open(folder.path(), "70");
        assert_eq!(answer(&path), "70");
    }

    #[test]
    fn a_directory_that_others_can_enter_is_refused() {
        let user = std::fs::metadata("/proc/self").unwrap().uid();
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        private_directory(&own, user).unwrap();
        private_directory(&own, user).unwrap();
        assert!(private_directory(&own, user + 1).is_err(), "another user's");
        let open = folder.path().join("open");
        std::fs::DirBuilder::new().mode(0o755).create(&open).unwrap();
        assert!(private_directory(&open, user).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(private_directory(&link, user).is_err(), "a link can be turned");
    }

    #[test]
    fn sockets_of_killed_processes_go_and_all_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let own = socket_name(std::process::id(), "70");
        // No process has such a number; some listeners are gone, some are not.
        let _listening = ["4194305.sock", "1-77.sock"].map(|name| UnixListener::bind(path(name)).unwrap());
        for gone in ["4194306.sock", "1-78.sock", &own] {
            drop(UnixListener::bind(path(gone)).unwrap());
        }
        std::fs::write(path("notes.txt"), "").unwrap();
        remove_abandoned(folder.path(), "70");
        let left = |name: &str| path(name).exists();
        assert!(left("4194305.sock") && left("1-77.sock") && left("notes.txt") && left(&own));
        assert!(!left("4194306.sock") && !left("1-78.sock"));
    }
}
