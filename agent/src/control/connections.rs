//! The connections to clients: a few at once, each with a thread of its own, so that none waits for another.
//!
//! A client may keep its connection for as long as it likes, but the place only while nobody else needs it: of clients that have not asked
//! for a while, the one that has been silent longest is disconnected for a new one. So a client that is stopped keeps no other from asking.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::jvm::is_hung_up;

/// Most connections at once.
pub(super) const MOST: usize = 8;
/// A client that has just connected, or got its answer, is left the time to ask.
const MOST_SILENCE: Duration = Duration::from_secs(1);
/// A new connection waits so long for a place: requests take milliseconds.
const PATIENCE: Duration = Duration::from_millis(500);
/// The end of an answer is waited for no longer than this when the agent ends: the application must not hang.
const LAST_ANSWER: Duration = Duration::from_secs(10);
/// A client that reads takes its answer faster than this.
const LAST_WRITE: Duration = Duration::from_millis(500);

/// What the thread of a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// It waits for a request, or for the file that one has read; the agent's end does not wait for it.
    Reading,
    /// It carries out a request.
    Working,
    /// It writes the answer.
    Writing,
}

#[derive(Debug)]
struct Place {
    number: u64,
    /// The connection's socket, for disconnecting the client.
    stream: UnixStream,
    activity: Activity,
    since: Instant,
}

#[derive(Debug, Default)]
struct Places {
    taken: Vec<Place>,
    last_number: u64,
    closed: bool,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    places: Mutex<Places>,
    changed: Condvar,
}

impl Connections {
    /// Returns a place for a connection, or nothing if all are in use for longer than a new client should wait.
    pub(super) fn admit(self: &Arc<Self>, stream: &UnixStream) -> io::Result<Option<Connection>> {
        let deadline = Instant::now() + PATIENCE;
        let mut places = self.places.lock();
        while !places.closed && places.taken.len() >= MOST && !places.disconnect_silent() {
            if self.changed.wait_until(&mut places, deadline).timed_out() {
                return Ok(None);
            }
        }
        if places.closed {
            return Ok(None);
        }
        places.last_number += 1;
        let number = places.last_number;
        let place = Place { number, stream: stream.try_clone()?, activity: Activity::Reading, since: Instant::now() };
        places.taken.push(place);
        Ok(Some(Connection { all: Arc::clone(self), number }))
    }

    /// Disconnects all clients: those with a request that is being carried out after their answer, for which this waits.
    pub(super) fn end(&self) {
        let begin = Instant::now();
        let mut places = self.places.lock();
        places.closed = true;
        self.changed.notify_all();
        places.disconnect(|place| place.activity == Activity::Reading);
        while !places.taken.is_empty() {
            let deadline = begin + LAST_ANSWER;
            let writes_end = places.taken.iter().filter(|place| place.activity == Activity::Writing);
            let next = writes_end.map(|place| place.since + LAST_WRITE).fold(deadline, Instant::min);
            if self.changed.wait_until(&mut places, next).timed_out() {
                let now = Instant::now();
                places.disconnect(|place| {
                    now >= deadline || (place.activity == Activity::Writing && now >= place.since + LAST_WRITE)
                });
            }
        }
    }

    fn set(&self, number: u64, activity: Activity) {
        let mut places = self.places.lock();
        let closed = places.closed;
        if let Some(place) = places.taken.iter_mut().find(|place| place.number == number) {
            (place.activity, place.since) = (activity, Instant::now());
        }
        if closed {
            places.disconnect(|place| place.activity == Activity::Reading);
        }
        self.changed.notify_all();
    }
}

impl Places {
    /// Disconnects the client that has been silent longest, if there is one. Its thread ends by itself.
    fn disconnect_silent(&mut self) -> bool {
        let silent = |place: &&Place| place.activity == Activity::Reading && place.since.elapsed() >= MOST_SILENCE;
        let Some(number) = self.taken.iter().filter(silent).min_by_key(|place| place.since).map(|place| place.number)
        else {
            return false;
        };
        self.disconnect(|place| place.number == number);
        true
    }

    fn disconnect(&mut self, which: impl Fn(&Place) -> bool) {
        self.taken.retain(|place| {
            let leaves = which(place);
            if leaves {
                // Wakes the thread that reads or writes there. It fails if the client has disconnected before.
                let _ = place.stream.shutdown(Shutdown::Both);
            }
            !leaves
        });
    }
}

/// The place of one connection; it is free again when this value is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    number: u64,
}

impl Connection {
    /// Whether the client is still there.
    pub(super) fn is_open(&self) -> bool {
        let places = self.all.places.lock();
        let own = places.taken.iter().find(|place| place.number == self.number);
        own.is_some_and(|place| !is_hung_up(&place.stream))
    }

    /// Notes that the client may ask, or that a file is read.
    pub(super) fn reads(&self) {
        self.all.set(self.number, Activity::Reading);
    }

    /// Notes that a request is carried out.
    pub(super) fn works(&self) {
        self.all.set(self.number, Activity::Working);
    }

    /// Notes that an answer is written.
    pub(super) fn writes(&self) {
        self.all.set(self.number, Activity::Writing);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.places.lock().taken.retain(|place| place.number != self.number);
        self.all.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn is_disconnected(client: &mut UnixStream) -> bool {
        client.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        matches!(client.read(&mut [0]), Ok(0))
    }

    #[test]
    fn the_client_that_was_silent_longest_makes_place_for_a_new_one() {
        let connections = Arc::new(Connections::default());
        let (mut clients, mut places) = (Vec::new(), Vec::new());
        for _ in 0..MOST {
            let (client, server) = UnixStream::pair().unwrap();
            places.push(connections.admit(&server).unwrap().unwrap());
            clients.push(client);
        }
        let (_new, server) = UnixStream::pair().unwrap();
        assert!(connections.admit(&server).unwrap().is_none(), "all have just connected");
        places[0].works();
        places[1].reads();
        for place in &mut connections.places.lock().taken {
            // As if all had waited since.
            place.since -= MOST_SILENCE + Duration::from_millis(if place.number == 3 { 2 } else { 1 });
        }
        assert!(connections.admit(&server).unwrap().is_some());
        let disconnected: Vec<_> = clients.iter_mut().map(is_disconnected).collect();
        assert_eq!(disconnected, [false, false, true, false, false, false, false, false]);
        drop(places.remove(0));
        assert!(connections.admit(&server).unwrap().is_some(), "a place was given back");
    }

    #[test]
    fn the_end_waits_for_requests_that_are_carried_out_and_for_nobody_else() {
        let connections = Arc::new(Connections::default());
        let [(mut silent, first), (mut asking, second)] = [UnixStream::pair().unwrap(), UnixStream::pair().unwrap()];
        let _idle = connections.admit(&first).unwrap().unwrap();
        let busy = connections.admit(&second).unwrap().unwrap();
        busy.works();
        let ending = std::thread::spawn({
            let connections = Arc::clone(&connections);
            move || connections.end()
        });
        while !is_disconnected(&mut silent) {}
        assert!(!ending.is_finished() && !is_disconnected(&mut asking));
        // Writes to a client that does not read; after a moment it is disconnected.
        busy.writes();
        ending.join().unwrap();
        assert!(is_disconnected(&mut asking));
        assert!(connections.admit(&first).unwrap().is_none(), "nobody is admitted after the end");
    }
}
