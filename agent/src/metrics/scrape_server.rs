//! The page for OpenMetrics scrapers: just enough of HTTP/1.1 to answer `GET /metrics`, one request at a time, on a thread of
//! its own. Nothing a client does can hold up anything but this page, and that not for long.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::keeper::Ask;
use super::openmetrics;
use crate::jvm::block_signals;

/// Longest request head that is read.
const LONGEST_HEAD: usize = 8 << 10;
/// Time that a client has for its request, and then to take the answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// A running server.
#[derive(Debug)]
pub(crate) struct ScrapeServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl ScrapeServer {
    /// Listens at this address; `asks` leads to the figures.
    pub(crate) fn start(address: SocketAddr, asks: Sender<Ask>) -> std::io::Result<ScrapeServer> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("instr-openmetrics".to_owned()).spawn(move || {
            block_signals();
            serve(&listener, &stopped, &asks);
        })?;
        tracing::info!(%address, "metrics can be read at /metrics");
        Ok(ScrapeServer { address, stop, thread })
    }

    /// Stops listening.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Release);
        // The thread waits for a connection: this is one.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE);
        if woken.is_ok() && self.thread.join().is_err() {
            tracing::error!("the thread for the metrics page failed");
        }
    }
}

fn serve(listener: &TcpListener, stop: &AtomicBool, asks: &Sender<Ask>) {
    for connection in listener.incoming() {
        if stop.load(Ordering::Acquire) {
            return;
        }
        match connection {
            Ok(client) => {
                if let Err(error) = answer(client, asks) {
                    tracing::debug!(%error, "a reader of metrics went away");
                }
            }
            Err(error) => {
                tracing::debug!(%error, "no connection for a reader of metrics");
                // Too many open files, most likely; that does not get better by trying at once.
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
    }
}

fn answer(mut client: TcpStream, asks: &Sender<Ask>) -> std::io::Result<()> {
    let head = read_head(&mut client)?;
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let reply = match (method, path) {
        ("GET" | "HEAD", "/metrics") => page(asks),
        ("GET" | "HEAD", _) => Reply::text("404 Not Found", "The metrics are at /metrics\n"),
        _ => Reply::text("405 Method Not Allowed", "Only GET\n"),
    };
    let body = if method == "HEAD" { "" } else { &reply.body };
    write_in_time(&mut client, format!("{}{body}", reply.head()).as_bytes())
}

/// Writes all of it, or gives up on a client that takes it drop by drop: the end of the JVM waits for this thread.
fn write_in_time(client: &mut TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    let begun = Instant::now();
    while !bytes.is_empty() {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        client.set_write_timeout(Some(left))?;
        let written = client.write(bytes)?;
        bytes = bytes.get(written.max(1)..).unwrap_or_default();
    }
    Ok(())
}

/// Reads to the end of the headers.
fn read_head(client: &mut TcpStream) -> std::io::Result<String> {
    let begun = Instant::now();
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() || head.len() > LONGEST_HEAD {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        client.set_read_timeout(Some(left))?;
        let read = client.read(&mut part)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn page(asks: &Sender<Ask>) -> Reply {
    let (answer, answered) = sync_channel(1);
    let families = asks.send(Ask::Collect(answer)).ok().and_then(|()| answered.recv_timeout(PATIENCE).ok());
    match families {
        Some(families) => {
            Reply { status: "200 OK", content_type: openmetrics::CONTENT_TYPE, body: openmetrics::page(&families) }
        }
        None => Reply::text("503 Service Unavailable", "The figures are not at hand\n"),
    }
}

struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Reply {
    fn text(status: &'static str, body: &str) -> Reply {
        Reply { status, content_type: "text/plain; charset=utf-8", body: body.to_owned() }
    }

    fn head(&self) -> String {
        let Reply { status, content_type, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::metrics::family::{Family, Kind, Unit, Value};

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        reply
    }

    #[test]
    fn the_page_is_served_and_nothing_else() {
        let (asks, questions) = channel();
        let server = ScrapeServer::start(SocketAddr::from(([127, 0, 0, 1], 0)), asks).unwrap();
        let address = server.address;
        let keeper = std::thread::spawn(move || {
            while let Ok(Ask::Collect(answer)) = questions.recv() {
                let family = Family::new("a.b", Unit::Bytes, Kind::Gauge, "c").with(&[], Value::Integer(3));
                answer.send(vec![family]).unwrap();
            }
        });
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0"),
            "{page}"
        );
        assert!(page.ends_with("a_b_bytes 3\n# EOF\n"), "{page}");
        assert!(!ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n").contains("EOF"));
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        // Neither one that says nothing nor one that says too much stops the next.
        drop(TcpStream::connect(address).unwrap());
        let mut talker = TcpStream::connect(address).unwrap();
        let _ = talker.write_all(&vec![b'a'; 3 * LONGEST_HEAD]);
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
        server.stop();
        assert!(TcpStream::connect(address).is_err());
        keeper.join().unwrap();
    }

    #[test]
    fn a_client_that_hardly_reads_is_given_up() {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut client, _) = listener.accept().unwrap();
        let begun = Instant::now();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Enough to make a little room again and again, never enough to be through.
                let mut part = vec![0; 64 << 10];
                while !done.load(Ordering::Acquire) && reader.read(&mut part).is_ok() {
                    std::thread::park_timeout(Duration::from_millis(100));
                }
            });
            assert!(write_in_time(&mut client, &vec![b'a'; 256 << 20]).is_err());
            done.store(true, Ordering::Release);
        });
        assert!(begun.elapsed() < 3 * PATIENCE, "{:?}", begun.elapsed());
    }
}
