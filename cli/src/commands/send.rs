//! `instr send`: a recording to `instr receive`, also while it is being written.
//!
//! The file is the queue: what has not been taken is sent again from where the receiver says that it is, so nothing is lost
//! and the recorded program never waits.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use trace::TraceReader;

use crate::failure::Failure;
use crate::http_client::client_for;

/// Time for one request.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between looks at a file that is being written; the agent appends to it every two seconds.
const LOOK: Duration = Duration::from_millis(500);
/// Where a recording says when it began: in the header of its first chunk.
pub(crate) const BEGUN_AT: u64 = 32;
/// Pauses before the second attempt and those that follow; while a file is followed the last one repeats.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];

/// Send a recording to `instr receive`, chunk by chunk.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where `instr receive` listens: http://host:port, or https:// if a proxy provides TLS for it.
    #[arg(long, value_name = "URL")]
    to: String,
    /// Go on until the recording has ended, sending what the program records meanwhile.
    #[arg(long)]
    follow: bool,
    /// Name under which it is stored. Default: that of the file.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// File whose only line is the receiver's token.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// PEM file with the certificates of the authorities that may vouch for an https:// server. Default: those of the system.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The recording.
    trace: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let of_file = || arguments.trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = arguments.name.clone().unwrap_or_else(of_file);
    let post = Post {
        http: client_for(&arguments.to, arguments.ca_file.as_deref(), PATIENCE)?,
        url: format!("{}/recordings/{name}", arguments.to.trim_end_matches('/')),
        authorization: read_token(arguments.token_file.as_deref())?.map(|token| format!("Bearer {token}")),
        endless: arguments.follow,
        begun: begun(&arguments.trace)?,
    };
    let mut sent = 0;
    loop {
        let reader = TraceReader::open(&arguments.trace).with_context(|| {
            Failure::new(
                format!("cannot send {}", arguments.trace.display()),
                "name a recording of the agent: instr-<pid>.jfr",
            )
        })?;
        sent = send_chunks(&post, &reader, sent)?;
        if reader.is_finished() || !arguments.follow {
            println!("{sent} bytes are at {}", post.url);
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

/// The only line of a file.
pub(crate) fn read_token(file: Option<&Path>) -> Result<Option<String>> {
    let Some(file) = file else { return Ok(None) };
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read the token file {}", file.display()))?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        bail!(Failure::new(format!("{} holds no token", file.display()), "write one line without spaces into it"));
    }
    Ok(Some(token.to_owned()))
}

/// When the recording began, as its header says: so two recordings of one name are not mixed.
fn begun(trace: &Path) -> Result<u64> {
    let mut bytes = [0; 8];
    let file = File::open(trace).with_context(|| format!("cannot send {}", trace.display()))?;
    file.read_exact_at(&mut bytes, BEGUN_AT).with_context(|| format!("cannot send {}", trace.display()))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Sends the whole chunks from `sent` on; returns how many bytes the receiver has then.
fn send_chunks(post: &Post, reader: &TraceReader, sent: u64) -> Result<u64> {
    let file = File::open(reader.path())?;
    let mut taken = sent;
    let mut end = 0;
    for index in 0..reader.chunk_count() {
        end += reader.chunk_bytes(index);
        while taken < end {
            let mut bytes = vec![0; usize::try_from(end - taken)?];
            file.read_exact_at(&mut bytes, taken)?;
            taken = post.deliver(taken, &bytes)?;
        }
    }
    Ok(taken)
}

struct Post {
    http: ureq::Agent,
    url: String,
    authorization: Option<String>,
    endless: bool,
    begun: u64,
}

impl Post {
    /// Sends what begins at `offset` until it is taken; returns how many bytes the receiver has.
    fn deliver(&self, offset: u64, bytes: &[u8]) -> Result<u64> {
        let mut attempt = 0;
        loop {
            let reason = match self.attempt(offset, bytes) {
                Ok((200 | 409, Some(has))) if has != offset => return Ok(has),
                Ok((status @ (429 | 500..=599), _)) => format!("it answers {status}"),
                Ok((status, _)) => bail!(Failure::new(
                    format!("{} does not take the recording: it answers {status}", self.url),
                    "401: give the token with --token-file; 403: the name; 409: another recording of this name is there; 507: no room",
                )),
                Err(error) => error.to_string(),
            };
            let Some(pause) = PAUSES.get(attempt).or_else(|| PAUSES.last().filter(|_| self.endless)) else {
                bail!(Failure::new(
                    format!("cannot send to {}: {reason}", self.url),
                    "does `instr receive` run there?"
                ));
            };
            attempt += 1;
            std::thread::sleep(*pause);
        }
    }

    /// The status, and how many bytes of this recording the receiver has.
    fn attempt(&self, offset: u64, bytes: &[u8]) -> Result<(u16, Option<u64>), ureq::Error> {
        let url = format!("{}?offset={offset}&begun={}", self.url, self.begun);
        let mut request = self.http.post(url).content_type("application/octet-stream");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let mut response = request.send(bytes)?;
        let has = response.body_mut().read_to_string().ok().and_then(|text| text.trim().parse().ok());
        Ok((response.status().as_u16(), has))
    }
}
