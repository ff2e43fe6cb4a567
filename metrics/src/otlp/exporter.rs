//! The thread that sends. It has nothing to do with the JVM, waits for nobody but the receiver, and nobody waits for it:
//! what does not fit into its queue is dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use settings::without_credentials;

use super::complaints::Complaints;
use super::destination::Destination;
use crate::Host;

/// Requests that wait.
const QUEUE: usize = 16;
/// Time for one attempt.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time that the end of the JVM waits for the last requests.
const LAST_PATIENCE: Duration = Duration::from_secs(3);
/// Pauses before the second attempt and those that follow.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// One request.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// What it is.
    pub(crate) signal: Signal,
    /// The body, protobuf.
    pub(crate) body: Vec<u8>,
    /// How many values or spans it holds.
    pub(crate) items: u64,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Metrics.
    Metrics,
    /// Spans.
    Traces,
}

/// What became of the requests, by signal.
#[derive(Debug, Default)]
pub(crate) struct ExportCounts {
    metrics: SignalCounts,
    traces: SignalCounts,
    complaints: Complaints,
}

#[derive(Debug, Default)]
struct SignalCounts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl ExportCounts {
    fn of(&self, signal: Signal) -> &SignalCounts {
        match signal {
            Signal::Metrics => &self.metrics,
            Signal::Traces => &self.traces,
        }
    }

    /// Items that the receiver took.
    pub(crate) fn sent(&self, signal: Signal) -> u64 {
        self.of(signal).sent.load(Ordering::Relaxed)
    }

    /// There is no way to send, for this reason.
    pub(crate) fn cannot_send(&self, reason: &str) {
        self.complaints.failed(reason, Instant::now());
    }

    /// Whether the receiver takes what it is sent.
    pub(super) fn complaints(&self) -> &Complaints {
        &self.complaints
    }

    /// Items that were dropped because the receiver was gone, slow, or did not want them.
    pub(crate) fn dropped(&self, signal: Signal) -> u64 {
        self.of(signal).dropped.load(Ordering::Relaxed)
    }
}

/// A running exporter.
#[derive(Debug)]
pub(crate) struct Exporter {
    parcels: SyncSender<Parcel>,
    ended: Receiver<()>,
    leaving: Arc<AtomicBool>,
    counts: Arc<ExportCounts>,
}

/// What the thread works with.
struct Post {
    http: ureq::Agent,
    to: Destination,
    leaving: Arc<AtomicBool>,
    counts: Arc<ExportCounts>,
    host: Arc<dyn Host>,
}

/// Why a request was not taken.
enum Failure {
    /// It may be taken later.
    ForNow(String),
    /// It never will.
    ForEver(String),
}

impl Exporter {
    /// Starts to send to this receiver.
    pub(crate) fn start(to: Destination, counts: Arc<ExportCounts>, host: Arc<dyn Host>) -> std::io::Result<Exporter> {
        let (parcels, queue) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let leaving = Arc::new(AtomicBool::new(false));
        let (leaves, counted) = (Arc::clone(&leaving), Arc::clone(&counts));
        std::thread::Builder::new().name("instr-otlp".to_owned()).spawn(move || {
            host.thread_started()();
            // Here, because authorities are read from files.
            match to.client(PATIENCE) {
                Ok(http) => Post { http, to, leaving: leaves, counts: counted, host }.work(&queue),
                Err(reason) => {
                    host.say(&format!("{reason}; nothing is sent to {}", without_credentials(&to.url)));
                    counted.cannot_send(&reason);
                    drop_all(&queue, &counted);
                }
            }
            // Nobody may be waiting any more.
            let _ = end.try_send(());
        })?;
        Ok(Exporter { parcels, ended, leaving, counts })
    }

    /// Hands a request over; never waits.
    pub(crate) fn offer(&self, parcel: Parcel) {
        let (signal, items) = (parcel.signal, parcel.items);
        if self.parcels.try_send(parcel).is_err() {
            self.counts.of(signal).dropped.fetch_add(items, Ordering::Relaxed);
        }
    }

    /// Sends what is left, if the receiver takes it soon. A thread that still waits then is left to itself: it does not know
    /// the JVM.
    pub(crate) fn stop(self) {
        self.leaving.store(true, Ordering::Release);
        drop(self.parcels);
        if self.ended.recv_timeout(LAST_PATIENCE).is_err() {
            tracing::info!("the last figures did not reach the OpenTelemetry receiver in time");
        }
    }
}

/// There is no way to send: what is offered is counted as dropped.
fn drop_all(queue: &Receiver<Parcel>, counts: &ExportCounts) {
    while let Ok(parcel) = queue.recv() {
        counts.of(parcel.signal).dropped.fetch_add(parcel.items, Ordering::Relaxed);
    }
}

impl Post {
    fn work(&self, queue: &Receiver<Parcel>) {
        while let Ok(parcel) = queue.recv() {
            let sent = self.deliver(&parcel);
            let counts = self.counts.of(parcel.signal);
            let counter = if sent { &counts.sent } else { &counts.dropped };
            counter.fetch_add(parcel.items, Ordering::Relaxed);
        }
    }

    /// Tries until the request is taken, or there is no sense in trying.
    fn deliver(&self, parcel: &Parcel) -> bool {
        for pause in PAUSES.iter().map(Some).chain([None]) {
            match (self.attempt(parcel), pause) {
                (Ok(()), _) => {
                    self.tell(self.counts.complaints.succeeded(Instant::now()));
                    return true;
                }
                (Err(Failure::ForNow(reason)), Some(pause)) if !self.leaving.load(Ordering::Acquire) => {
                    self.complain(&reason);
                    std::thread::park_timeout(*pause);
                }
                (Err(Failure::ForNow(reason) | Failure::ForEver(reason)), _) => {
                    self.complain(&reason);
                    return false;
                }
            }
        }
        false
    }

    fn attempt(&self, parcel: &Parcel) -> Result<(), Failure> {
        let path = match parcel.signal {
            Signal::Metrics => "/v1/metrics",
            Signal::Traces => "/v1/traces",
        };
        let mut request = self.http.post(format!("{}{path}", self.to.url)).content_type("application/x-protobuf");
        for (name, value) in &self.to.headers {
            request = request.header(name, value);
        }
        let response = request.send(parcel.body.as_slice()).map_err(|error| match error {
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => Failure::ForEver(error.to_string()),
            error => match self.to.distrust(&error) {
                Some(reason) => Failure::ForEver(reason),
                None => Failure::ForNow(error.to_string()),
            },
        })?;
        match response.status().as_u16() {
            200..300 => Ok(()),
            status @ (429 | 502..=504) => Err(Failure::ForNow(format!("it answers {status}"))),
            status => Err(Failure::ForEver(format!("it answers {status}"))),
        }
    }

    fn complain(&self, reason: &str) {
        self.tell(self.counts.complaints.failed(reason, Instant::now()));
    }

    fn tell(&self, news: Option<String>) {
        // At the end there is nobody left to do something about it.
        if let Some(news) = news.filter(|_| !self.leaving.load(Ordering::Acquire)) {
            self.host.say(&format!("otlp = \"{}\" in [metrics]: {news}", without_credentials(&self.to.url)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::test_host::test_host;

    fn destination(url: &str, headers: &str) -> Destination {
        let text = format!("[metrics]\notlp = '{url}'\nheaders = {headers}\n[[rule]]\nclass = 'a.B'\n");
        let (config, _) = settings::parse(&text, "instr.toml").unwrap();
        Destination::of(url, &config.metrics).unwrap()
    }

    fn parcel(items: u64) -> Parcel {
        Parcel { signal: Signal::Metrics, body: vec![1, 2, 3], items }
    }

    /// Answers each request with the next status.
    fn receiver(statuses: &'static [u16]) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let mut heads = Vec::new();
            for status in statuses {
                let (mut client, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let mut part = [0; 1024];
                while !request.ends_with(&[1, 2, 3]) {
                    let read = client.read(&mut part).unwrap();
                    request.extend_from_slice(&part[..read]);
                }
                write!(client, "HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
                heads.push(String::from_utf8_lossy(&request).into_owned());
            }
            heads
        });
        (url, thread)
    }

    #[test]
    fn a_receiver_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
        let (url, thread) = receiver(&[503, 200, 400]);
        let counts = Arc::new(ExportCounts::default());
        let exporter = Exporter::start(destination(&url, "'x-key=secret'"), Arc::clone(&counts), test_host()).unwrap();
        exporter.offer(parcel(5));
        exporter.offer(parcel(7));
        let heads = thread.join().unwrap();
        exporter.stop();
        assert!(heads[0].starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{}", heads[0]);
        assert!(heads[0].contains("x-key: secret") && heads[0].contains("application/x-protobuf"), "{}", heads[0]);
        assert_eq!((counts.sent(Signal::Metrics), counts.dropped(Signal::Metrics)), (5, 7));
        let failing = counts.complaints().failing().map(|failing| failing.reason);
        assert_eq!(failing.as_deref(), Some("it answers 400"), "the last word");
    }

    #[test]
    fn nobody_waits_for_a_receiver_that_does_not_answer() {
        // Accepts connections, because the kernel does, and never reads.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let counts = Arc::new(ExportCounts::default());
        let url = format!("http://{}", silent.local_addr().unwrap());
        let exporter = Exporter::start(destination(&url, "[]"), Arc::clone(&counts), test_host()).unwrap();
        let begun = std::time::Instant::now();
        (0..1_000).for_each(|_| exporter.offer(parcel(1)));
        // To wait for one attempt each time would take most of an hour.
        assert!(begun.elapsed() < Duration::from_secs(60), "offering waits");
        assert!(counts.dropped(Signal::Metrics) >= 1_000 - QUEUE as u64 - 1);
        // The requests in the queue would take one attempt of 3 s each.
        exporter.stop();
        assert!(begun.elapsed() < Duration::from_secs(25), "the end waits");
    }
}
