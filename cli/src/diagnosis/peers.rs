//! A diagnosis goes on in the JVMs that answer requests of the diagnosed one: the context is carried to them, and each diagnoses what answers such requests.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use control::{BaggageAllowed, Diagnosis, DiagnosisState, Request, Status};
use trace::report::counted;

use super::carried_context::{Begun, CarriedContext};
use super::conversation::{Answer, Conversation};
use super::display::Display;
use super::http_call::{HttpCall, short};
use super::interruption::{BETWEEN_SIGNALS, Interruption};
use super::joined::{Answering, elsewhere, joined};
use super::requests::{Answered, Rate, parts};
use crate::failure::{self, Failure};
use crate::running_agent::OpenConnection;

/// A JVM that has got no request of the context, or no slow one, is given up after three times what the first diagnosis took, but not before this time.
const LEAST_PATIENCE: Duration = Duration::from_secs(15);

/// With fewer slow requests an agent goes on waiting. In so much time as it is given, a process that causes slow calls has got more.
const LEAST_SLOW: u64 = 3;

/// What a process lacks that causes none of the slow calls.
#[derive(Debug, PartialEq, Eq)]
enum Lack {
    Requests,
    /// It has got so many, and so many of them were slow.
    SlowRequests(u64, u64),
}

impl Lack {
    fn of((requests, slow): (u64, u64)) -> Option<Lack> {
        match (requests, slow) {
            (0, _) => Some(Lack::Requests),
            (_, ..LEAST_SLOW) => Some(Lack::SlowRequests(requests, slow)),
            _ => None,
        }
    }
}

/// Refuses processes in which a diagnosis cannot go on, before anything is begun.
pub(super) fn check(pid: u32, with: &[u32]) -> Result<()> {
    for (at, peer) in with.iter().enumerate() {
        if *peer == pid {
            anyhow::bail!("process {peer} is the one that is diagnosed: `--with` names those that answer its requests");
        }
        if with.iter().take(at).any(|before| before == peer) {
            anyhow::bail!("process {peer} is named twice by `--with`");
        }
    }
    if with.is_empty() {
        return Ok(());
    }
    let allowed = with.iter().map(|peer| Ok((*peer, baggage_allowed(*peer)?))).collect::<Result<Vec<_>>>()?;
    why_not_allowed((pid, &baggage_allowed(pid)?), &allowed).map_or(Ok(()), |failure| Err(failure.into()))
}

/// Returns what a process allows to be sent and believed. Older agents do not say that, nor what the answers of several JVMs are joined by.
fn baggage_allowed(pid: u32) -> Result<BaggageAllowed> {
    let status: Status = OpenConnection::to(pid)?.ask(&Request::Status { methods: Some(0), durations: false })?;
    let old = || {
        Failure::new(
            format!(
                "the agent in process {pid} is older than this `instr`: its answers cannot be joined with those of other JVMs"
            ),
            "attach the agent that belongs to this `instr`, or leave `--with` out",
        )
    };
    Ok(status.baggage.ok_or_else(old)?)
}

/// Returns why requests of the first process carry no context to some of the others.
fn why_not_allowed((pid, first): (u32, &BaggageAllowed), others: &[(u32, BaggageAllowed)]) -> Option<Failure> {
    let is_sent = !first.to.is_empty();
    let to = (!is_sent).then(|| format!("`baggage-to` of process {pid}, for the hosts of the others"));
    let lacking = others.iter().filter(|(_, of)| of.from.is_empty());
    let from = lacking.map(|(peer, _)| format!("`baggage-from` of process {peer}, for the address of the first one"));
    let missing: Vec<String> = to.into_iter().chain(from).collect();
    let cut_off = others.iter().filter(|(_, of)| !is_sent || of.from.is_empty());
    let cut_off: Vec<String> = cut_off.map(|(peer, _)| peer.to_string()).collect();
    (!missing.is_empty()).then(|| {
        let without = cut_off.iter().map(|peer| format!("`--with {peer}`")).collect::<Vec<_>>().join(" and ");
        Failure::new(
            format!(
                "requests of process {pid} cannot be followed into process {}: [conditions] lacks {}",
                cut_off.join(", "),
                missing.join("; ")
            ),
            format!(
                "name them in the configuration file, then detach the agent and attach it again, or restart the JVM; or leave {without} out"
            ),
        )
    })
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
    /// The processes whose agents have not confirmed that their probes are removed.
    pub(super) unconfirmed: Vec<u32>,
}

/// Goes on in these processes, until each has a result or is given up. What the first diagnosis has found stays in any case.
pub(super) fn go_on(first: &First<'_>, with: &[u32], display: &mut Display, interruption: &Interruption) -> Together {
    let alone = |notice: String| {
        let mut found = trace::Diagnosis::from(first.found);
        found.notices.push(notice);
        Together { found, interrupted: interruption.code(), unconfirmed: Vec::new() }
    };
    let Some(call) = HttpCall::of(first.found) else {
        let pids: Vec<String> = with.iter().map(u32::to_string).collect();
        return alone(format!(
            "process {} was not diagnosed: no branch of the answer waits for the answer of an HTTP request",
            pids.join(", ")
        ));
    };
    let name = name(first);
    let Some(request) = call.context_request(first.request, &name, first.took) else {
        return alone("internal error: please report it".to_owned());
    };
    let context = match CarriedContext::begin(first.pid, request, call.writer, interruption) {
        Ok(Begun::InForce(context)) => context,
        Ok(Begun::Interrupted) => {
            let notice = format!(
                "interrupted before requests of process {} carried a context: this is its own answer",
                first.pid
            );
            return Together { unconfirmed: vec![first.pid], ..alone(notice) };
        }
        Err(error) => {
            return alone(format!("requests of process {} cannot be followed: {}", first.pid, in_a_line(&error)));
        }
    };
    let begin = |pid: &u32| Peer::begin(*pid, call.peer_requests(first.request, &name, first.took));
    let peers = with.iter().map(begin).collect();
    let patience = LEAST_PATIENCE.max(first.took * 3);
    let mut peers = Peers { first, call, context, peers, patience, lost: None };
    let interrupted = peers.follow(display, interruption);
    let unconfirmed = peers.remove();
    Together { found: peers.found(), interrupted, unconfirmed }
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
    /// The requests of the context that it has got, while it goes on.
    rate: Rate,
    /// Why it was given up.
    given_up: Option<String>,
    /// Whether its agent has not confirmed that the probes are removed.
    is_unconfirmed: bool,
}

impl Peer {
    fn begin(pid: u32, requests: Vec<Request>) -> Peer {
        match Conversation::start(pid, requests) {
            Ok(conversation) => Peer { conversation: Some(conversation), ..Peer::of(pid) },
            Err(error) => Peer { given_up: Some(in_a_line(&error)), ..Peer::of(pid) },
        }
    }

    /// One of which nothing is known.
    fn of(pid: u32) -> Peer {
        Peer {
            pid,
            conversation: None,
            last: None,
            inserted: None,
            rate: Rate::default(),
            given_up: None,
            is_unconfirmed: false,
        }
    }

    fn state(&self) -> &'static str {
        self.last.as_ref().map_or("inserting", |last| last.state.name())
    }

    fn is_over(&self) -> bool {
        self.given_up.is_some() || self.last.as_ref().is_some_and(|last| last.state.is_final())
    }

    /// Takes the answers of its agent; returns whether there were any.
    fn take_answers(&mut self) -> bool {
        let Some(conversation) = &self.conversation else { return false };
        let answers: Vec<Answer> = conversation.answers.try_iter().collect();
        let is_any = !answers.is_empty();
        for answer in answers {
            match answer {
                Answer::Seen(seen) => self.note(*seen),
                Answer::Failed(error) => self.given_up = Some(in_a_line(&error)),
                Answer::Removed => {}
            }
        }
        is_any
    }

    fn note(&mut self, seen: Diagnosis) {
        if seen.state != DiagnosisState::Inserting {
            self.inserted.get_or_insert_with(Instant::now);
            // When exactly it ended is not known.
            if !seen.state.is_final() {
                self.rate.note(Instant::now(), seen.calls);
            }
        }
        if seen.state == DiagnosisState::Ended && seen.sentence.is_none() {
            self.given_up = Some(seen.reason.clone().unwrap_or_else(|| "it ended".to_owned()));
        }
        self.last = Some(seen);
    }

    /// Returns how many requests of the context it has got, and how many of them were slow.
    fn requests(&self) -> (u64, u64) {
        self.last.as_ref().map_or((0, 0), |last| (last.calls, last.slow))
    }

    /// Has its agent remove the probes, and notes whether that is confirmed.
    fn remove(&mut self) {
        let Some(conversation) = self.conversation.take() else { return };
        self.is_unconfirmed = !conversation.remove(&mut self.last);
    }
}

impl Peers<'_> {
    /// Looks until all is over; returns the exit code if there was a signal.
    fn follow(&mut self, display: &mut Display, interruption: &Interruption) -> Option<u8> {
        loop {
            let is_any = self.peers.iter_mut().map(Peer::take_answers).fold(false, |any, one| any | one);
            if let Some(error) = self.context.why_ended() {
                self.lost = Some(format!(
                    "requests of process {} carry the context no more: {}",
                    self.first.pid,
                    in_a_line(&error)
                ));
            }
            self.give_up_idle();
            if is_any {
                // What is shown is of no account to what is found.
                let _ = display.show(&self.found(), "Ctrl-C ends it and removes its probes");
            }
            if self.lost.is_some() || self.peers.iter().all(Peer::is_over) {
                return None;
            }
            if let Some(code) = interruption.code() {
                return Some(code);
            }
            sleep(BETWEEN_SIGNALS);
        }
    }

    fn give_up_idle(&mut self) {
        for at in 0..self.peers.len() {
            let Some(peer) = self.peers.get(at).filter(|peer| !peer.is_over()) else { continue };
            let is_idle = peer.inserted.is_some_and(|inserted| inserted.elapsed() >= self.patience);
            let why = match Lack::of(peer.requests()).filter(|_| is_idle) {
                Some(Lack::Requests) => Some(self.why_none(peer)),
                Some(Lack::SlowRequests(requests, slow)) => Some(self.why_none_slow(requests, slow)),
                None => None,
            };
            if let (Some(why), Some(peer)) = (why, self.peers.get_mut(at)) {
                peer.remove();
                peer.given_up = Some(why);
            }
        }
    }

    /// Says what it means that a process has answered none of these requests slowly, or hardly one.
    fn why_none_slow(&self, requests: u64, slow: u64) -> String {
        let number = if slow == 0 { "none".to_owned() } else { format!("only {slow}") };
        format!(
            "{number} of its {} took longer than {}; up to that it may still cause a part of the time: diagnose its own method with a shorter `--slower-than`",
            counted(requests, "request"),
            self.call.limit()
        )
    }

    /// Says why a process has got no request of the context, as far as that is known, and what to look at.
    fn why_none(&self, peer: &Peer) -> String {
        let (sent, elsewhere) = self.context.figures().map_or((0, 0), |figures| (figures.sent, figures.elsewhere));
        let mut why = format!("no request of the context arrived within {} s", self.patience.as_secs());
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

    /// Has all agents remove what is there; returns the processes of those that have not confirmed that.
    fn remove(&mut self) -> Vec<u32> {
        // First what is measured: without requests it would only wait.
        for peer in self.peers.iter_mut().filter(|peer| !peer.is_over()) {
            peer.remove();
            // A part of a tree says something; without a slow request there is none.
            if peer.requests().1 == 0 {
                peer.given_up = Some("it had got no slow request when it was ended".to_owned());
            }
        }
        let is_removed = self.lost.is_some() || self.context.remove();
        let unconfirmed = self.peers.iter().filter(|peer| peer.is_unconfirmed).map(|peer| peer.pid);
        (!is_removed).then_some(self.first.pid).into_iter().chain(unconfirmed).collect()
    }

    /// Returns the results of the JVMs that have answered slow requests.
    fn answering(&self) -> Vec<Answering> {
        let answered = |peer: &Peer| Answered { requests: peer.requests().0, rate: peer.rate };
        // Fast requests count, too, and so do those of a JVM that has answered no slow one.
        let peers: Vec<&Peer> = self.peers.iter().filter(|peer| peer.requests().0 > 0).collect();
        let parts = parts(self.context.sent(), &peers.iter().map(|peer| answered(peer)).collect::<Vec<_>>());
        let has_result = |(peer, _): &(&Peer, f64)| peer.given_up.is_none() && peer.requests().1 > 0;
        let with_result = peers.into_iter().zip(parts).filter(has_result);
        with_result
            .filter_map(|(peer, part)| {
                Some(Answering { pid: peer.pid, found: trace::Diagnosis::from(peer.last.as_ref()?), part })
            })
            .collect()
    }

    fn is_across_threads(&self) -> bool {
        matches!(self.first.request, Request::Diagnose { across_threads: true, .. })
    }

    /// Returns what is known in all processes.
    fn found(&self) -> trace::Diagnosis {
        let first = trace::Diagnosis::from(self.first.found);
        let answering = self.answering();
        let mut all = joined(&first, self.call.at, &answering);
        let call = first.nodes.get(self.call.at).map(|node| short(&node.method)).unwrap_or_default();
        all.notices.extend(self.call.larger_branches(self.first.found, self.is_across_threads()));
        if !answering.is_empty() {
            all.notices.push(format!("below {call} are figures of other JVMs, of later calls; {}", self.call.reason));
        } else if self.peers.iter().all(Peer::is_over) && self.peers.iter().any(|peer| peer.requests().0 > 0) {
            // They have got its requests, and explain nothing.
            all.notices.extend(first.nodes.get(self.call.at).and_then(|node| elsewhere(node, 0.0)));
        }
        for Peer { pid, last, given_up, .. } in &self.peers {
            let notices = last.iter().filter(|_| given_up.is_none()).flat_map(|last| &last.notices);
            all.notices.extend(notices.map(|notice| format!("process {pid}: {notice}")));
            all.notices.extend(given_up.iter().map(|why| format!("process {pid} is not part of the answer: {why}")));
        }
        all.notices.extend_from_slice(self.context.notices());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// A peer whose agent answers this, and then no more.
    fn peer(answers: Vec<Answer>) -> Peer {
        let ((orders, _), (sender, received)) = (channel(), channel());
        answers.into_iter().for_each(|answer| sender.send(answer).unwrap());
        let conversation = Some(Conversation { orders, answers: received });
        Peer { conversation, ..Peer::of(7) }
    }

    #[test]
    fn what_the_configurations_do_not_allow_is_said_with_the_processes() {
        let allowed = |to: &[&str], from: &[&str]| {
            let texts = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect();
            BaggageAllowed { to: texts(to), from: texts(from) }
        };
        let why = |first, others: &[_]| why_not_allowed((7, first), others).map(|failure| format!("{failure:?}"));
        let (sends, believes) = (allowed(&["stock"], &[]), allowed(&[], &["10.*"]));
        assert!(why(&sends, &[(8, believes.clone()), (9, believes.clone())]).is_none());
        let missing = why(&sends, &[(8, sends.clone()), (9, believes.clone())]).unwrap();
        assert!(missing.contains("into process 8: ") && missing.contains("`baggage-from` of process 8"), "{missing}");
        assert!(!missing.contains("baggage-to") && missing.contains("leave `--with 8` out"), "{missing}");
        let both = why(&believes, &[(8, sends.clone()), (9, believes.clone())]).unwrap();
        assert!(both.contains("`baggage-to` of process 7") && both.contains("into process 8, 9"), "{both}");
    }

    /// A request that was slow by accident is no reason to wait for more.
    #[test]
    fn a_process_with_hardly_a_slow_request_causes_none() {
        let lacks = [(0, 0), (40, 0), (40, 2), (40, 3)].map(Lack::of);
        assert_eq!(
            lacks,
            [Some(Lack::Requests), Some(Lack::SlowRequests(40, 0)), Some(Lack::SlowRequests(40, 2)), None]
        );
    }

    #[test]
    fn a_removal_that_is_not_confirmed_is_kept_in_mind() {
        let is_unconfirmed = |answers| {
            let mut peer = peer(answers);
            peer.remove();
            peer.is_unconfirmed
        };
        assert!(is_unconfirmed(vec![Answer::Failed(anyhow::anyhow!("the agent does not answer"))]));
        assert!(!is_unconfirmed(vec![Answer::Removed]));
        assert!(!is_unconfirmed(Vec::new()), "it has ended before, and removed its probes itself");
    }
}
