//! The page for OpenMetrics scrapers: `GET /metrics`.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Sender, sync_channel};
use std::time::Duration;

use http_service::{Bytes, Limits, Method, Parts, Reply, Server, Service, StatusCode};
use parking_lot::Mutex;

use super::keeper::Ask;
use super::openmetrics;

/// A scraper that needs longer has given up itself.
const LIMITS: Limits =
    Limits { connections: 64, requests: 2, pause: Duration::from_secs(3), exchange: Duration::from_secs(10) };

/// A running server.
#[derive(Debug)]
pub(crate) struct ScrapeServer(Server);

impl ScrapeServer {
    /// Listens at this address; `asks` leads to the figures.
    pub(crate) fn start(address: SocketAddr, asks: Sender<Ask>, thread_started: fn()) -> std::io::Result<ScrapeServer> {
        let listener = TcpListener::bind(address)?;
        let page = MetricsPage { asks: Mutex::new(asks) };
        let server = Server::start(listener, "instr-openmetrics", LIMITS, thread_started, page)?;
        tracing::info!(address = %server.address(), "metrics can be read at /metrics");
        Ok(ScrapeServer(server))
    }

    /// Stops listening.
    pub(crate) fn stop(self) {
        if !self.0.stop() {
            tracing::error!("the thread for the metrics page failed");
        }
    }
}

#[derive(Debug)]
struct MetricsPage {
    asks: Mutex<Sender<Ask>>,
}

impl Service for MetricsPage {
    fn admit(&self, head: &Parts) -> Result<u64, Box<Reply>> {
        if head.method != Method::GET && head.method != Method::HEAD {
            return Err(Box::new(text(StatusCode::METHOD_NOT_ALLOWED, "Only GET\n")));
        }
        if head.uri.path() != "/metrics" {
            return Err(Box::new(text(StatusCode::NOT_FOUND, "The metrics are at /metrics\n")));
        }
        Ok(0)
    }

    fn answer(&self, _head: &Parts, _body: Bytes) -> Reply {
        let (answer, answered) = sync_channel(1);
        let asked = self.asks.lock().send(Ask::Collect(answer));
        match asked.ok().and_then(|()| answered.recv_timeout(LIMITS.pause).ok()) {
            Some(families) => {
                http_service::page(StatusCode::OK, openmetrics::CONTENT_TYPE, openmetrics::page(&families))
            }
            None => text(StatusCode::SERVICE_UNAVAILABLE, "The figures are not available at present\n"),
        }
    }
}

fn text(status: StatusCode, body: &str) -> Reply {
    http_service::page(status, "text/plain; charset=utf-8", body.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::family::{Family, Kind, Unit, Value};

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
        let server = ScrapeServer::start(SocketAddr::from(([127, 0, 0, 1], 0)), asks, || {}).unwrap();
        let address = server.0.address();
        let keeper = std::thread::spawn(move || {
            while let Ok(Ask::Collect(answer)) = questions.recv() {
                let family = Family::new("a.b", Unit::Bytes, Kind::Gauge, "c").with(&[], Value::Integer(3));
                answer.send(vec![family]).unwrap();
            }
        });
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            page.starts_with("HTTP/1.1 200 OK\r\ncontent-type: application/openmetrics-text; version=1.0.0"),
            "{page}"
        );
        assert!(page.ends_with("a_b_bytes 3\n# EOF\n"), "{page}");
        assert!(!ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n").contains("EOF"));
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        server.stop();
        assert!(TcpStream::connect(address).is_err());
        keeper.join().unwrap();
    }
}
