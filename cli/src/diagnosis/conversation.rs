//! The thread that talks to the agent, so that Ctrl-C is answered while the agent is not.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use control::{Diagnosis, ErrorCode, Removed, Request};

use crate::failure::Failure;
use crate::running_agent::OpenConnection;

/// The agent disconnects clients that are silent for a second if others need their place.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// An agent that has not removed its probes by then does so when it notices that the connection is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// An answer of the agent.
pub(super) enum Answer {
    Seen(Box<Diagnosis>),
    /// The probes were removed as ordered.
    Removed,
    /// The agent refuses, or is gone. Nothing follows.
    Failed(anyhow::Error),
}

/// The order to end the diagnosis.
pub(super) struct Remove;

/// Both ends of the thread. The connection is closed with the process.
pub(super) struct Conversation {
    pub(super) orders: Sender<Remove>,
    pub(super) answers: Receiver<Answer>,
}

impl Conversation {
    /// Starts a diagnosis by the first of these requests that is not refused, and looks at it until it is done.
    pub(super) fn start(pid: u32, requests: Vec<Request>) -> Result<Conversation> {
        let agent = OpenConnection::to(pid)?;
        let (orders, received) = channel();
        let (sender, answers) = channel();
        std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
            let failed = talk(agent, &requests, &received, &sender).err();
            // Nobody listens any more if this process ends.
            let _ = failed.map(|error| sender.send(Answer::Failed(error)));
        })?;
        Ok(Conversation { orders, answers })
    }

    /// Has the agent remove the probes; returns whether it has confirmed that. `last` becomes what it has said of the diagnosis before.
    pub(super) fn remove(&self, last: &mut Option<Diagnosis>) -> bool {
        // A thread that has ended has nothing left to remove.
        let _ = self.orders.send(Remove);
        let is_removed = |answer| match answer {
            Answer::Seen(seen) => {
                *last = Some(*seen);
                None
            }
            Answer::Removed => Some(true),
            Answer::Failed(_) => Some(false),
        };
        is_confirmed(&self.answers, is_removed).unwrap_or(true)
    }
}

/// Waits for the answer to the order to remove something, which `of` recognises; returns whether it confirms that, `None` if the thread that listens to the agent
/// has ended before.
pub(super) fn is_confirmed<A>(answers: &Receiver<A>, mut of: impl FnMut(A) -> Option<bool>) -> Option<bool> {
    let until = Instant::now() + PATIENCE;
    loop {
        match answers.recv_timeout(until.saturating_duration_since(Instant::now())).map(&mut of) {
            Ok(None) => {}
            Ok(is_confirmed) => return is_confirmed,
            Err(RecvTimeoutError::Timeout) => return Some(false),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn talk(
    mut agent: OpenConnection,
    requests: &[Request],
    orders: &Receiver<Remove>,
    answers: &Sender<Answer>,
) -> Result<()> {
    let mut seen = begin(&mut agent, requests)?;
    loop {
        let (claim, is_final) = (seen.claim, seen.state.is_final());
        if answers.send(Answer::Seen(Box::new(seen))).is_err() || is_final {
            return Ok(());
        }
        match orders.recv_timeout(BETWEEN_LOOKS) {
            Ok(Remove) => {
                agent.ask::<Removed>(&Request::Remove { claim })?;
                let _ = answers.send(Answer::Removed);
                return Ok(());
            }
            Err(RecvTimeoutError::Timeout) => seen = agent.ask(&Request::Diagnosis { claim })?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn begin(agent: &mut OpenConnection, requests: &[Request]) -> Result<Diagnosis> {
    let mut refused = Vec::new();
    for request in requests {
        match agent.ask(request) {
            Ok(begun) => return Ok(begun),
            Err(error) => refused.push(error),
        }
    }
    Err(why_refused(requests, refused))
}

/// Returns what says most of several errors: a class that is not loaded is not the one that is used.
fn why_refused(requests: &[Request], mut refused: Vec<anyhow::Error>) -> anyhow::Error {
    let code = |error: &anyhow::Error| error.downcast_ref::<Failure>().and_then(Failure::code);
    let is_about_loaded = |error: &anyhow::Error| code(error) != Some(ErrorCode::UnknownName);
    match refused.iter().position(is_about_loaded) {
        Some(at) => refused.swap_remove(at),
        None if refused.len() > 1 => {
            let classes: Vec<&str> = requests.iter().filter_map(class_of).collect();
            Failure::new(
                format!("no loaded class is named {}", classes.join(" or ")),
                "a servlet must have answered a request before; other servers cannot be followed",
            )
            .into()
        }
        None => refused.pop().unwrap_or_else(|| anyhow::anyhow!("nothing was asked")),
    }
}

/// Returns the class whose method a request is about.
fn class_of(request: &Request) -> Option<&str> {
    let Request::Diagnose { method, .. } = request else { return None };
    let name = method.split('(').next()?;
    name.rsplit_once('.').map(|(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> Request {
        Request::Diagnose {
            method: method.to_owned(),
            loader: None,
            within: None,
            when: None,
            slower_than_us: None,
            across_threads: false,
            depth: None,
            report_only: false,
            seconds: None,
            while_connected: true,
        }
    }

    #[test]
    fn the_error_about_the_class_that_is_loaded_is_kept() {
        let requests = [request("jakarta.S.service(jakarta.R, jakarta.A)"), request("javax.S.service(javax.R)")];
        let (none, other) = ("no loaded class is named jakarta.S", "`baggage-from` is missing");
        let refused = |text: &&str| match *text == none {
            true => Failure::new(*text, "").with_code(ErrorCode::UnknownName).into(),
            false => anyhow::anyhow!("{text}"),
        };
        let why = |texts: &[&str], requests: &[Request]| {
            why_refused(requests, texts.iter().map(refused).collect()).to_string()
        };
        assert_eq!(why(&[none, other], &requests), other);
        assert_eq!(why(&[other, none], &requests), other);
        assert_eq!(why(&[none, none], &requests), "no loaded class is named jakarta.S or javax.S");
        assert_eq!(why(&[none], &requests[..1]), none, "a single one says it best itself");
    }
}
