//! `instr receive`: stores recordings that `instr send` sends, and computes their reports. Several clients are served at once.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http_service::{Bytes, Limits, Method, Parts, Reply, Server, Service, StatusCode, reply};
use trace::{Analysis, AnalysisOptions, report};

use super::send::{BEGUN_AT, read_token};
use crate::failure::Failure;

/// Longest body; a chunk has 16 MiB at most.
const LONGEST_BODY: u64 = 64 << 20;
const LONGEST_NAME: usize = 100;
/// Each request that is served may fill memory with a body; a report of a large recording takes its time.
const LIMITS: Limits =
    Limits { connections: 256, requests: 16, pause: Duration::from_secs(10), exchange: Duration::from_secs(600) };

/// Store recordings that `instr send` brings; GET /report/NAME is the report of one as a page.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to listen. Other machines can reach it only with --token-file.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9465")]
    listen: SocketAddr,
    /// Directory for the recordings.
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// File whose only line is a token that every request must have.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Size in MiB at which a recording is full.
    #[arg(long, default_value_t = 4096)]
    max_file_mb: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let token = read_token(arguments.token_file.as_deref())?;
    if !arguments.listen.ip().is_loopback() && token.is_none() {
        bail!(Failure::new(
            format!("{} can be reached from other machines", arguments.listen),
            "recordings tell much about a program: give a token with --token-file, or listen at 127.0.0.1",
        ));
    }
    std::fs::create_dir_all(&arguments.into)
        .with_context(|| format!("cannot store recordings in {}", arguments.into.display()))?;
    let listener =
        TcpListener::bind(arguments.listen).with_context(|| format!("cannot listen at {}", arguments.listen))?;
    let store = Store {
        directory: arguments.into.clone(),
        token,
        most_bytes: arguments.max_file_mb << 20,
        appending: Mutex::new(()),
    };
    let server = Server::start(listener, "receive", LIMITS, || {}, store).context("cannot serve")?;
    // The port may have been left to the system.
    println!("listening at http://{}", server.address());
    std::io::stdout().flush()?;
    if server.run() { Ok(()) } else { bail!("the server failed") }
}

struct Store {
    directory: PathBuf,
    token: Option<String>,
    most_bytes: u64,
    /// Held while a file is looked at and appended to: two clients may send the same recording.
    appending: Mutex<()>,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'a> {
    /// Append to the recording of this name.
    Append(&'a str),
    /// The report of the recording of this name.
    Report(&'a str),
}

/// Where in the recording a body belongs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    offset: u64,
    /// When the recording began: distinguishes it from another one of the same name.
    begun: u64,
}

impl Service for Store {
    fn admit(&self, head: &Parts) -> Result<u64, Box<Reply>> {
        let given = head.headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if !self.token.as_deref().is_none_or(|token| given.is_some_and(|given| is_same(given, token))) {
            return Err(Box::new(reply(StatusCode::UNAUTHORIZED)));
        }
        Wish::of(&head.method, head.uri.path()).map(|_| LONGEST_BODY).map_err(|status| Box::new(reply(status)))
    }

    fn answer(&self, head: &Parts, body: Bytes) -> Reply {
        match Wish::of(&head.method, head.uri.path()) {
            Ok(Wish::Append(name)) => {
                let place = Place::parse(head.uri.query().unwrap_or_default());
                self.append(name, &place, &body).unwrap_or_else(|error| {
                    eprintln!("cannot store {name}: {error}");
                    text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
                })
            }
            Ok(Wish::Report(name)) => self.report(name),
            Err(status) => reply(status),
        }
    }
}

impl Store {
    /// Appends `body` at its place and replies with the new length. What was appended before is not written again.
    fn append(&self, name: &str, place: &Place, body: &[u8]) -> std::io::Result<Reply> {
        // A thread that failed while it held the lock has restored the file.
        let _held = self.appending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(self.directory.join(name))?;
        let has = file.metadata()?.len();
        let mut begun = [0; 8];
        if has > 0 && (file.read_exact_at(&mut begun, BEGUN_AT).is_err() || u64::from_be_bytes(begun) != place.begun) {
            return Ok(reply(StatusCode::CONFLICT));
        }
        if has != place.offset {
            return Ok(text(StatusCode::CONFLICT, has.to_string()));
        }
        if has + body.len() as u64 > self.most_bytes {
            return Ok(reply(StatusCode::INSUFFICIENT_STORAGE));
        }
        if let Err(error) = file.write_all(body) {
            // Half a chunk would make all that follows unreadable.
            file.set_len(has)?;
            return Err(error);
        }
        Ok(text(StatusCode::OK, (has + body.len() as u64).to_string()))
    }

    fn report(&self, name: &str) -> Reply {
        let path = self.directory.join(name);
        if File::open(&path).is_err() {
            return reply(StatusCode::NOT_FOUND);
        }
        match Analysis::of_file(&path, AnalysisOptions::default()) {
            Ok(analysis) => http_service::page(StatusCode::OK, "text/html; charset=utf-8", report::html(&analysis)),
            Err(error) => text(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
        }
    }
}

fn text(status: StatusCode, body: String) -> Reply {
    http_service::page(status, "text/plain; charset=utf-8", body)
}

impl Wish<'_> {
    fn of<'a>(method: &Method, path: &'a str) -> Result<Wish<'a>, StatusCode> {
        let named = |prefix| path.strip_prefix(prefix).filter(|name| is_file_name(name));
        match (method, named("/recordings/"), named("/report/")) {
            (&Method::POST, Some(name), _) => Ok(Wish::Append(name)),
            (&Method::GET, _, Some(name)) => Ok(Wish::Report(name)),
            (&Method::GET | &Method::POST, ..) => Err(StatusCode::FORBIDDEN),
            _ => Err(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

impl Place {
    fn parse(query: &str) -> Place {
        let mut place = Place::default();
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            match name {
                // No file has as many bytes: the answer is the true length.
                "offset" => place.offset = value.parse().unwrap_or(u64::MAX),
                "begun" => place.begun = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        place
    }
}

/// A name that stays inside the directory.
fn is_file_name(name: &str) -> bool {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'.');
    name.ends_with(".jfr") && !name.starts_with('.') && name.len() <= LONGEST_NAME && name.bytes().all(is_plain)
}

/// Takes as long for a token that is nearly right as for one that is not.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    given.len() == token.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_directory() {
        assert!(is_file_name("instr-4711.jfr"));
        for name in ["../a.jfr", "a/b.jfr", ".jfr", "a.html", "", "a%2f.jfr", "a b.jfr"] {
            assert!(!is_file_name(name), "{name}");
        }
    }

    #[test]
    fn the_place_of_a_body_is_in_the_query() {
        assert_eq!(Place::parse("offset=12&begun=7"), Place { offset: 12, begun: 7 });
        assert_eq!(Place::parse("offset=-1").offset, u64::MAX);
        assert_eq!(Wish::of(&Method::POST, "/recordings/a.jfr"), Ok(Wish::Append("a.jfr")));
        assert_eq!(Wish::of(&Method::GET, "/recordings/a.jfr"), Err(StatusCode::FORBIDDEN));
        assert_eq!(Wish::of(&Method::PUT, "/recordings/a.jfr"), Err(StatusCode::METHOD_NOT_ALLOWED));
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("abc", "abc") && !is_same("abd", "abc") && !is_same("ab", "abc") && !is_same("abcd", "abc"));
    }
}
