//! A small HTTP/1.1 server (hyper on one thread of tokio) for pages that a program serves beside its work.
//!
//! No client can starve the others: a request holds one of a few places only while its body is received and answered, every step has a
//! time limit, and a new client replaces the longest idle one where there are too many.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

pub use hyper::body::Bytes;
pub use hyper::http::request::Parts;
pub use hyper::{Method, StatusCode};

/// An answer with its whole body.
pub type Reply = hyper::Response<Full<Bytes>>;

/// How much clients may take of the server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections that are open at once. A further client replaces the one whose request has been missing for the longest time; if all
    /// requests have arrived, it waits.
    pub connections: usize,
    /// Requests whose bodies are received or answered at once.
    pub requests: usize,
    /// Longest time for the head of a request, and between two parts of its body.
    pub pause: Duration,
    /// Longest time from the connection to the end of the answer.
    pub exchange: Duration,
}

/// Answers requests. Called on threads that may block.
pub trait Service: Send + Sync + 'static {
    /// Returns how many bytes the body of this request may have, or the answer of a request that is refused unread.
    fn admit(&self, head: &Parts) -> Result<u64, Box<Reply>>;

    /// Answers a request that was admitted and has arrived whole.
    fn answer(&self, head: &Parts, body: Bytes) -> Reply;
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Serves `listener` on a thread of this name; `thread_started` is called on each thread of the server before it does anything else.
    pub fn start(
        listener: TcpListener,
        name: &str,
        limits: Limits,
        thread_started: fn(),
        service: impl Service,
    ) -> std::io::Result<Server> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(limits.requests)
            .thread_name(name)
            .on_thread_start(thread_started)
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::new(Shared {
            limits,
            places: Semaphore::new(limits.requests),
            idle: IdleConnections::default(),
            service,
        });
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            thread_started();
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let serving = tokio::spawn(accept(listener, shared));
                // An error means that the server was dropped: it ends, too.
                let _ = stopped.await;
                serving.abort();
            });
            runtime.shutdown_timeout(limits.pause);
        })?;
        Ok(Server { address, stop, thread })
    }

    /// The address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections and waits for the end of the server's thread; returns whether the thread ended as it should.
    pub fn stop(self) -> bool {
        // Fails if the thread has ended already.
        let _ = self.stop.send(());
        self.thread.join().is_ok()
    }

    /// Waits until the server ends, which it does only if its thread fails.
    pub fn run(self) -> bool {
        let Server { thread, stop: _stop, .. } = self;
        thread.join().is_ok()
    }
}

struct Shared<S> {
    limits: Limits,
    places: Semaphore,
    idle: IdleConnections,
    service: S,
}

async fn accept<S: Service>(listener: tokio::net::TcpListener, shared: Arc<Shared<S>>) {
    /// Too many open files, most likely: trying again at once would not help.
    const AFTER_A_FAILURE: Duration = Duration::from_millis(100);
    let connections = Arc::new(Semaphore::new(shared.limits.connections));
    for number in 0.. {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_A_FAILURE).await;
            continue;
        };
        if connections.available_permits() == 0 {
            // First those whose requests have arrived meanwhile are served, so that none of them is closed.
            tokio::task::yield_now().await;
            shared.idle.close_longest();
        }
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let serving = Arc::clone(&shared);
        let connection = tokio::spawn(async move {
            let (limits, shared) = (serving.limits, Arc::clone(&serving));
            let respond = service_fn(move |request| {
                let shared = Arc::clone(&shared);
                shared.idle.remove(number);
                async move { Ok::<_, std::convert::Infallible>(respond(&shared, request).await) }
            });
            let connection = http1::Builder::new()
                .keep_alive(false)
                .timer(TokioTimer::new())
                .header_read_timeout(limits.pause)
                .serve_connection(TokioIo::new(client), respond);
            // A client that disconnects or takes too long loses its answer, nothing else.
            let _ = timeout(limits.exchange, connection).await;
            serving.idle.remove(number);
            drop(permit);
        });
        // The connection is served on this thread, so it has not begun yet.
        shared.idle.add(number, connection.abort_handle());
    }
}

/// Connections whose requests have not arrived yet, in the order in which they were accepted.
#[derive(Debug, Default)]
struct IdleConnections(Mutex<BTreeMap<u64, AbortHandle>>);

impl IdleConnections {
    fn add(&self, number: u64, connection: AbortHandle) {
        self.connections().insert(number, connection);
    }

    fn remove(&self, number: u64) {
        self.connections().remove(&number);
    }

    fn close_longest(&self) {
        if let Some((_, connection)) = self.connections().pop_first() {
            connection.abort();
        }
    }

    fn connections(&self) -> MutexGuard<'_, BTreeMap<u64, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn respond<S: Service>(shared: &Arc<Shared<S>>, request: hyper::Request<Incoming>) -> Reply {
    let (head, body) = request.into_parts();
    let most = match shared.service.admit(&head) {
        Ok(most) => most,
        Err(refusal) => return *refusal,
    };
    let Ok(_place) = shared.places.acquire().await else { return reply(StatusCode::SERVICE_UNAVAILABLE) };
    let body = match received(body, most, shared.limits.pause).await {
        Ok(body) => body,
        Err(status) => return reply(status),
    };
    let answering = Arc::clone(shared);
    let answer = tokio::task::spawn_blocking(move || answering.service.answer(&head, body)).await;
    answer.unwrap_or_else(|_| reply(StatusCode::INTERNAL_SERVER_ERROR))
}

/// The whole body, or why it is not taken.
async fn received(mut body: Incoming, most: u64, pause: Duration) -> Result<Bytes, StatusCode> {
    use hyper::body::Body as _;
    if body.size_hint().lower() > most {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    // A client that announces a body and does not send it would hold its place meanwhile.
    if most == 0 {
        return Ok(Bytes::new());
    }
    let mut bytes = Vec::new();
    loop {
        let frame = timeout(pause, body.frame()).await.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
        let Some(frame) = frame else { return Ok(Bytes::from(bytes)) };
        let data = frame.map_err(|_| StatusCode::BAD_REQUEST)?.into_data().unwrap_or_default();
        if bytes.len() as u64 + data.len() as u64 > most {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        bytes.extend_from_slice(&data);
    }
}

/// An answer without a body.
#[must_use]
pub fn reply(status: StatusCode) -> Reply {
    page(status, "text/plain; charset=utf-8", String::new())
}

/// An answer with this body.
#[must_use]
pub fn page(status: StatusCode, content_type: &'static str, body: String) -> Reply {
    let mut reply = Reply::new(Full::new(Bytes::from(body)));
    *reply.status_mut() = status;
    let value = hyper::header::HeaderValue::from_static(content_type);
    reply.headers_mut().insert(hyper::header::CONTENT_TYPE, value);
    reply
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    use super::*;

    /// Answers with the body it got.
    struct Echo;

    impl Service for Echo {
        fn admit(&self, head: &Parts) -> Result<u64, Box<Reply>> {
            match head.uri.path() {
                "/" => Ok(8),
                "/no-body" => Ok(0),
                _ => Err(Box::new(reply(StatusCode::NOT_FOUND))),
            }
        }

        fn answer(&self, _head: &Parts, body: Bytes) -> Reply {
            page(StatusCode::OK, "text/plain", String::from_utf8_lossy(&body).into_owned())
        }
    }

    fn server(limits: Limits) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        Server::start(listener, "test", limits, || {}, Echo).unwrap()
    }

    fn limits() -> Limits {
        Limits { connections: 100, requests: 1, pause: Duration::from_secs(60), exchange: Duration::from_secs(60) }
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        // Half of the limits of these tests.
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer);
        answer
    }

    /// Asks again if the machine held the client up until its own time was over.
    fn answer_in_time(address: SocketAddr) -> String {
        let mut answers = (0..3).map(|_| ask(address, "GET / HTTP/1.1\r\n\r\n"));
        answers.find(|answer| !answer.is_empty() && !answer.starts_with("HTTP/1.1 408 ")).unwrap_or_default()
    }

    #[test]
    fn bodies_are_received_up_to_the_limit_and_other_requests_are_refused_unread() {
        let server = server(limits());
        let answer = ask(server.address(), "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
        let long = ask(server.address(), "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789");
        assert!(long.starts_with("HTTP/1.1 413 "), "{long}");
        assert!(ask(server.address(), "GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask(server.address(), "no HTTP\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let address = server.address();
        assert!(server.stop());
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn idle_clients_keep_nobody_waiting() {
        let server = server(limits());
        let idle: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        let mut half = TcpStream::connect(server.address()).unwrap();
        half.write_all(b"GET / HT").unwrap();
        assert!(ask(server.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        drop((idle, half));
        // Ends at once although clients were connected.
        let begun = Instant::now();
        let _idle = TcpStream::connect(server.address()).unwrap();
        assert!(server.stop() && begun.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn more_idle_clients_than_connections_keep_nobody_waiting() {
        let server = server(Limits { connections: 8, ..limits() });
        let idle: Vec<TcpStream> = (0..40)
            .map(|number| {
                let mut client = TcpStream::connect(server.address()).unwrap();
                client.write_all(if number % 2 == 0 { b"GET / HT" } else { b"" }).unwrap();
                client
            })
            .collect();
        assert!(ask(server.address(), "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        drop(idle);
    }

    #[test]
    fn a_body_is_not_waited_for_where_none_is_allowed() {
        let server = server(limits());
        let answer = ask(server.address(), "GET /no-body HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let long = ask(server.address(), "GET /no-body HTTP/1.1\r\nContent-Length: 1\r\n\r\nx");
        assert!(long.starts_with("HTTP/1.1 413 "), "{long}");
    }

    #[test]
    fn a_client_that_stops_sending_loses_its_place() {
        let server = server(Limits { pause: Duration::from_secs(1), ..limits() });
        let mut slow = TcpStream::connect(server.address()).unwrap();
        slow.write_all(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe").unwrap();
        // The only place is taken until the slow client has run out of time.
        assert!(answer_in_time(server.address()).starts_with("HTTP/1.1 200 "));
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }

    #[test]
    fn a_connection_ends_when_the_exchange_takes_too_long() {
        let server = server(Limits { exchange: Duration::from_secs(1), connections: 1, ..limits() });
        let mut slow = TcpStream::connect(server.address()).unwrap();
        slow.write_all(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe").unwrap();
        // The only connection is taken until the exchange is over.
        assert!(answer_in_time(server.address()).starts_with("HTTP/1.1 200 "));
        drop(slow);
    }
}
