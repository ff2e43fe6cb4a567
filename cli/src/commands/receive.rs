//! `instr receive`: stores recordings that `instr send` brings, and computes their reports. Several clients are served at once.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use trace::{Analysis, AnalysisOptions, report};

use super::send::{BEGUN_AT, read_token};
use crate::failure::Failure;

/// Longest head of a request.
const LONGEST_HEAD: u64 = 8 << 10;
/// Longest body; a chunk has 16 MiB at most.
const LONGEST_BODY: u64 = 64 << 20;
/// Time that a client has for each part of its request.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_NAME: usize = 100;
/// Clients that are served at once; each may fill memory with a body. Others wait in the system's queue.
const AT_ONCE: usize = 16;

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
    // The port may have been left to the system.
    println!("listening at http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    let store = Store {
        directory: &arguments.into,
        token: token.as_deref(),
        most_bytes: arguments.max_file_mb << 20,
        appending: Mutex::new(()),
    };
    std::thread::scope(|threads| {
        for _ in 1..AT_ONCE {
            threads.spawn(|| store.serve(&listener));
        }
        store.serve(&listener);
    });
    Ok(())
}

struct Store<'a> {
    directory: &'a Path,
    token: Option<&'a str>,
    most_bytes: u64,
    /// Held while a file is looked at and appended to: two clients may bring the same recording.
    appending: Mutex<()>,
}

/// The head of a request, as far as it matters.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    method: String,
    path: String,
    offset: u64,
    /// When the recording began: tells it from another of the same name.
    begun: u64,
    length: u64,
    token: Option<String>,
    /// The client waits for a word before it sends the body.
    asks_first: bool,
}

struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: String,
}

impl Store<'_> {
    /// One client after the other, for ever.
    fn serve(&self, listener: &TcpListener) {
        for client in listener.incoming() {
            if let Err(error) = client.and_then(|client| self.answer(client)) {
                eprintln!("a client went away: {error}");
            }
        }
    }

    fn answer(&self, mut client: TcpStream) -> std::io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(client.try_clone()?);
        let head = Head::read(&mut reader)?;
        let allowed = self.token.is_none_or(|token| head.token.as_deref().is_some_and(|given| is_same(given, token)));
        let reply = if allowed && head.length <= LONGEST_BODY {
            if head.asks_first {
                client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let mut body = Vec::new();
            reader.take(head.length).read_to_end(&mut body)?;
            if body.len() as u64 == head.length { self.reply(&head, &body)? } else { Reply::of("400 Bad Request") }
        } else {
            Reply::of(if allowed { "413 Content Too Large" } else { "401 Unauthorized" })
        };
        let Reply { status, content_type, body } = reply;
        let length = body.len();
        write!(
            client,
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }

    fn reply(&self, head: &Head, body: &[u8]) -> std::io::Result<Reply> {
        let named = |prefix| head.path.strip_prefix(prefix).filter(|name| is_file_name(name));
        match (head.method.as_str(), named("/recordings/"), named("/report/")) {
            ("POST", Some(name), _) => self.append(name, head, body),
            ("GET", _, Some(name)) => Ok(self.report(name)),
            ("GET" | "POST", ..) => Ok(Reply::of("403 Forbidden")),
            _ => Ok(Reply::of("405 Method Not Allowed")),
        }
    }

    /// Appends what begins at `offset`, and says how much there is. What is there already is not written again.
    fn append(&self, name: &str, head: &Head, body: &[u8]) -> std::io::Result<Reply> {
        // Whoever failed while it was held has put the file right.
        let _held = self.appending.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(self.directory.join(name))?;
        let has = file.metadata()?.len();
        let mut begun = [0; 8];
        if has > 0 && (file.read_exact_at(&mut begun, BEGUN_AT).is_err() || u64::from_be_bytes(begun) != head.begun) {
            return Ok(Reply::of("409 Conflict"));
        }
        if has != head.offset {
            return Ok(Reply { body: has.to_string(), ..Reply::of("409 Conflict") });
        }
        if has + body.len() as u64 > self.most_bytes {
            return Ok(Reply::of("507 Insufficient Storage"));
        }
        if let Err(error) = file.write_all(body) {
            // Half a chunk would make all that follows unreadable.
            file.set_len(has)?;
            return Err(error);
        }
        Ok(Reply { body: (has + body.len() as u64).to_string(), ..Reply::of("200 OK") })
    }

    fn report(&self, name: &str) -> Reply {
        let path = self.directory.join(name);
        if File::open(&path).is_err() {
            return Reply::of("404 Not Found");
        }
        match Analysis::of_file(&path, AnalysisOptions::default()) {
            Ok(analysis) => {
                Reply { status: "200 OK", content_type: "text/html; charset=utf-8", body: report::html(&analysis) }
            }
            Err(error) => Reply { body: error.to_string(), ..Reply::of("422 Unprocessable Content") },
        }
    }
}

impl Reply {
    fn of(status: &'static str) -> Reply {
        Reply { status, content_type: "text/plain; charset=utf-8", body: String::new() }
    }
}

impl Head {
    /// Reads up to the empty line: what follows is the body.
    fn read(client: &mut impl BufRead) -> std::io::Result<Head> {
        let mut text = Vec::new();
        let mut limited = client.take(LONGEST_HEAD);
        while !text.ends_with(b"\r\n\r\n") {
            if limited.read_until(b'\n', &mut text)? == 0 {
                return Err(std::io::ErrorKind::InvalidData.into());
            }
        }
        Ok(Head::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Head {
        let mut lines = text.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Head { method: method.to_owned(), path: path.to_owned(), ..Head::default() };
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            match name {
                "offset" => head.offset = value.parse().unwrap_or(u64::MAX),
                "begun" => head.begun = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.parse().unwrap_or(u64::MAX),
                "authorization" => head.token = value.strip_prefix("Bearer ").map(str::to_owned),
                "expect" => head.asks_first = true,
                _ => {}
            }
        }
        head
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
    fn heads_are_read_whatever_the_case_of_their_names() {
        let head = Head::parse(
            "POST /recordings/a.jfr?offset=12&begun=7 HTTP/1.1\r\nHost: x\r\nCONTENT-length: 5\r\nauthorization: Bearer abc\r\n\r\n",
        );
        assert_eq!((head.method.as_str(), head.path.as_str()), ("POST", "/recordings/a.jfr"));
        assert_eq!((head.offset, head.begun, head.length, head.token.as_deref()), (12, 7, 5, Some("abc")));
        assert!(Head::read(&mut "GET / HTTP/1.1\r\n".as_bytes()).is_err(), "cut");
        assert_eq!(Head::parse("POST / HTTP/1.1\r\nContent-Length: -1\r\n").length, u64::MAX);
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("abc", "abc") && !is_same("abd", "abc") && !is_same("ab", "abc") && !is_same("abcd", "abc"));
    }
}
