//! A diagnosis goes on in the JVMs that answer requests of the diagnosed one: the context is carried to them, and each diagnoses what answers such requests.

use std::sync::mpsc::RecvTimeoutError;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use control::{Diagnosis, DiagnosisState, Request};
use trace::report::counted;

use super::carried_context::CarriedContext;
use super::conversation::{Conversation, News, Remove};
use super::display::Display;
use super::http_call::{HttpCall, short};
use super::interruption::Interruption;
use super::joined::{Answering, joined};
use crate::failure;
use crate::running_agent::OpenConnection;

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// A JVM that has got no request of the context, or no slow one, is given up after three times what the first diagnosis took, but not before this time.
const LEAST_PATIENCE: Duration = Duration::from_secs(15);
/// An agent that has not removed its probes by then does so when it notices that the connection is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Refuses processes in which a diagnosis cannot go on, before anything is begun.
pub(super) fn check(pid: u32, with: &[u32]) -> Result<()> {
    for (at, peer) in with.iter().enumerate() {
        if *peer == pid {
            anyhow::bail!("process {peer} is the one that is diagnosed: `--with` names those that answer its requests");
        }
        if with.iter().take(at).any(|before| before == peer) {
            anyhow::bail!("process {peer} is named twice by `--with`");
        }
        OpenConnection::to(*peer)?;
    }
    Ok(())
}

/// What was diagnosed first.
pub(super) struct First<'a> {
    pub(super) pid: u32,
    pub(super) request: &'a Request,
    pub(super) found: &'a Diagnosis,
    pub(super) took: Duration,
}

/// What was found in all JVMs together.
pub(super) struct Together {
    pub(super) found: trace::Diagnosis,
    /// Set if there was a signal.
    pub(super) interrupted: Option<u8>,
    /// Whether all agents have confirmed that their probes are removed.
    pub(super) is_removed: bool,
}

/// Goes on in these processes, until each has a result or is given up. What the first diagnosis has found stays in any case.
pub(super) fn go_on(first: &First<'_>, with: &[u32], display: &mut Display, interruption: &Interruption) -> Together {
    let alone = |notice: String| {
        let mut found = trace::Diagnosis::from(first.found);
        found.notices.push(notice);
        Together { found, interrupted: None, is_removed: true }
    };
    let Some(call) = HttpCall::of(first.found) else {
        let pids: Vec<String> = with.iter().map(u32::to_string).collect();
        return alone(format!(
            "process {} was not diagnosed: no branch of the answer waits for the answer of an HTTP request",
            pids.join(", ")
        ));
    };
    let name = name(first);
    let Some(request) = call.context_request(first.request, &name) else {
        return alone("internal error: please report it".to_owned());
    };
    let context = match CarriedContext::begin(first.pid, request) {
        Ok(context) => context,
        Err(error) => {
            return alone(format!("requests of process {} cannot be followed: {}", first.pid, in_a_line(&error)));
        }
    };
    let begin = |pid: &u32| Peer::begin(*pid, call.peer_requests(first.request, &name));
    let peers = with.iter().map(begin).collect();
    let patience = LEAST_PATIENCE.max(first.took * 3);
    let mut peers = Peers { first, call, context, peers, patience, lost: None };
    let interrupted = peers.follow(display, interruption);
    let is_removed = peers.remove();
    Together { found: peers.found(), interrupted, is_removed }
}

/// A name that no other diagnosis has.
fn name(first: &First<'_>) -> String {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("d{}-{}-{:x}", first.pid, first.found.claim, since.as_millis())
}

struct Peers<'a> {
    first: &'a First<'a>,
    call: HttpCall,
    context: CarriedContext,
    peers: Vec<Peer>,
    patience: Duration,
    /// Why no request carries the context any more.
    lost: Option<String>,
}

/// A process that may answer the requests.
struct Peer {
    pid: u32,
    conversation: Option<Conversation>,
    last: Option<Diagnosis>,
    /// When its probes were there.
    inserted: Option<Instant>,
    /// Why it was given up.
    given_up: Option<String>,
}

impl Peer {
    fn begin(pid: u32, requests: Vec<Request>) -> Peer {
        let (conversation, given_up) = match Conversation::start(pid, requests) {
            Ok(conversation) => (Some(conversation), None),
            Err(error) => (None, Some(in_a_line(&error))),
        };
        Peer { pid, conversation, last: None, inserted: None, given_up }
    }

    fn state(&self) -> &'static str {
        self.last.as_ref().map_or("inserting", |last| last.state.name())
    }

    fn is_over(&self) -> bool {
        self.given_up.is_some() || self.last.as_ref().is_some_and(|last| last.state.is_final())
    }

    /// Takes what its agent has said; returns whether that was anything.
    fn listen(&mut self) -> bool {
        let Some(conversation) = &self.conversation else { return false };
        let mut is_any = false;
        for news in conversation.news.try_iter() {
            is_any = true;
            match news {
                News::Seen(seen) => {
                    if seen.state != DiagnosisState::Inserting {
                        self.inserted.get_or_insert_with(Instant::now);
                    }
                    if seen.state == DiagnosisState::Ended && seen.sentence.is_none() {
                        self.given_up = Some(seen.reason.clone().unwrap_or_else(|| "it ended".to_owned()));
                    }
                    self.last = Some(*seen);
                }
                News::Failed(error) => self.given_up = Some(in_a_line(&error)),
                News::Removed => {}
            }
        }
        is_any
    }

    /// Returns how many requests of the context it has got, and how many of them were slow.
    fn requests(&self) -> (u64, u64) {
        self.last.as_ref().map_or((0, 0), |last| (last.calls, last.slow))
    }

    /// Has its agent remove the probes; returns whether that is confirmed.
    fn remove(&mut self) -> bool {
        let Some(conversation) = self.conversation.take() else { return true };
        // A thread that has ended has nothing left to remove.
        let _ = conversation.orders.send(Remove);
        let until = Instant::now() + PATIENCE;
        loop {
            match conversation.news.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(News::Seen(seen)) => self.last = Some(*seen),
                Ok(News::Removed) | Err(RecvTimeoutError::Disconnected) => return true,
                Ok(News::Failed(_)) | Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

impl Peers<'_> {
    /// Looks until all is over; returns the exit code if there was a signal.
    fn follow(&mut self, display: &mut Display, interruption: &Interruption) -> Option<u8> {
        loop {
            let is_news = self.peers.iter_mut().map(Peer::listen).fold(false, |any, one| any | one);
            if let Some(error) = self.context.why_ended() {
                self.lost = Some(format!(
                    "requests of process {} carry the context no more: {}",
                    self.first.pid,
                    in_a_line(&error)
                ));
            }
            self.give_up_idle();
            if is_news {
                // What is shown is of no account to what is found.
                let _ = display.show(&self.found(), "Ctrl-C ends it and removes its probes");
            }
            if self.lost.is_some() || self.peers.iter().all(Peer::is_over) {
                return None;
            }
            if let Some(code) = interruption.code() {
                return Some(code);
            }
            sleep(BETWEEN_LOOKS);
        }
    }

    fn give_up_idle(&mut self) {
        for at in 0..self.peers.len() {
            let Some(peer) = self.peers.get(at).filter(|peer| !peer.is_over()) else { continue };
            let is_idle = peer.inserted.is_some_and(|inserted| inserted.elapsed() >= self.patience);
            let why = match peer.requests() {
                (0, _) if is_idle => Some(self.why_none(peer)),
                (requests, 0) if is_idle => Some(format!("none of its {} was slow", counted(requests, "request"))),
                _ => None,
            };
            if let (Some(why), Some(peer)) = (why, self.peers.get_mut(at)) {
                peer.remove();
                peer.given_up = Some(why);
            }
        }
    }

    /// Says why a process has got no request of the context, as far as that is known, and what to look at.
    fn why_none(&self, peer: &Peer) -> String {
        let (sent, elsewhere) = self.context.figures().map_or((0, 0), |figures| (figures.sent, figures.elsewhere));
        let mut why = format!("no request of the context came within {} s", self.patience.as_secs());
        let first = self.first.pid;
        if sent > 0 {
            why += &format!(
                "; process {first} has sent {}: they go elsewhere, or to no servlet, or `baggage-from` in [conditions] of process {} does not name the address",
                counted(sent, "such request"),
                peer.pid
            );
        } else if elsewhere > 0 {
            why += &format!(
                "; process {first} has sent {} to hosts that `baggage-to` in its [conditions] does not name",
                counted(elsewhere, "request")
            );
        } else {
            why += &format!(
                "; process {first} has sent none with the JDK's clients of HTTP (`--across-threads` if tasks send them)"
            );
        }
        if let Some(said) = peer.last.as_ref().and_then(|last| last.notices.last()) {
            why += &format!("; {said}");
        }
        why
    }

    fn remove(&mut self) -> bool {
        // First what is measured: without requests it would only wait.
        let mut is_removed = true;
        for peer in self.peers.iter_mut().filter(|peer| !peer.is_over()) {
            is_removed &= peer.remove();
            // A part of a tree says something; without a slow request there is none.
            if peer.requests().1 == 0 {
                peer.given_up = Some("it had got no slow request when it was ended".to_owned());
            }
        }
        is_removed & (self.lost.is_some() || self.context.remove())
    }

    /// Returns what is known in all processes.
    fn found(&self) -> trace::Diagnosis {
        let first = trace::Diagnosis::from(self.first.found);
        let answering: Vec<Answering> = self
            .peers
            .iter()
            .filter(|peer| peer.given_up.is_none() && peer.requests().1 > 0)
            .filter_map(|peer| Some(Answering { pid: peer.pid, found: trace::Diagnosis::from(peer.last.as_ref()?) }))
            .collect();
        let mut all = joined(&first, self.call.at, &answering);
        let call = first.nodes.get(self.call.at).map(|node| short(&node.method)).unwrap_or_default();
        if !answering.is_empty() {
            all.notices.push(format!("below {call} are figures of other JVMs, of later calls; {}", self.call.reason));
        }
        for Peer { pid, last, given_up, .. } in &self.peers {
            let notices = last.iter().filter(|_| given_up.is_none()).flat_map(|last| &last.notices);
            all.notices.extend(notices.map(|notice| format!("process {pid}: {notice}")));
            all.notices.extend(given_up.iter().map(|why| format!("process {pid} is not part of the answer: {why}")));
        }
        all.notices.extend(self.lost.clone());
        let under_way = self.peers.iter().filter(|peer| !peer.is_over());
        let states: Vec<String> = under_way.map(|peer| format!("process {}: {}", peer.pid, peer.state())).collect();
        if !states.is_empty() {
            all.state = states.join(", ");
        }
        all
    }
}

/// A failure and its help in one line.
fn in_a_line(error: &anyhow::Error) -> String {
    let text = failure::text(error);
    let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches("error: ")).collect();
    lines.join("; ")
}
