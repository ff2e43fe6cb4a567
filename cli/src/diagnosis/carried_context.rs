//! The context of a diagnosis in the JVM that sends requests: as long as the diagnosis goes on in others, requests that are sent inside it say so.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use anyhow::Result;
use control::{BaggageFigures, ClaimList, Probed, Removed, Request, UnchangedClass};

use super::conversation::{BETWEEN_LOOKS, is_confirmed};
use super::interruption::{BETWEEN_SIGNALS, Interruption};
use super::requests::Rate;
use crate::failure::Failure;
use crate::running_agent::OpenConnection;

/// An answer of the agent about the claim.
enum Answer {
    /// It exists; this should be known about it.
    InForce(Vec<String>),
    /// So many requests have carried it.
    Figures(Instant, BaggageFigures),
    /// It was refused, has ended, or its process has. Nothing follows.
    Ended(anyhow::Error),
    /// It was removed as ordered.
    Removed,
}

/// The claim in the JVM that sends requests.
pub(super) struct CarriedContext {
    /// Dropped to have the claim removed.
    stays: Option<Sender<()>>,
    answers: Receiver<Answer>,
    figures: Option<BaggageFigures>,
    sent: Rate,
    notices: Vec<String>,
}

/// The outcome of asking for the claim.
pub(super) enum Begun {
    InForce(CarriedContext),
    /// There was a signal before the agent answered.
    Interrupted,
}

impl CarriedContext {
    /// Makes the claim; returns when it is in force. Calls that wait for an answer need this class of the JDK to be changed.
    pub(super) fn begin(
        pid: u32,
        request: Request,
        writer: Option<&'static str>,
        interruption: &Interruption,
    ) -> Result<Begun> {
        let agent = OpenConnection::to(pid)?;
        let (stays, ends) = channel();
        let (sender, answers) = channel();
        std::thread::Builder::new().name("context".to_owned()).spawn(move || {
            let last = match keep(agent, &request, writer, &ends, &sender) {
                Ok(()) => Answer::Removed,
                Err(error) => Answer::Ended(error),
            };
            // Nobody listens any more if this process ends.
            let _ = sender.send(last);
        })?;
        let is_interrupted = || interruption.code().is_some();
        match first_answer(&answers, is_interrupted) {
            Ok(Answer::InForce(notices)) => {
                let stays = Some(stays);
                let (figures, sent) = (None, Rate::default());
                Ok(Begun::InForce(CarriedContext { stays, answers, figures, sent, notices }))
            }
            Ok(Answer::Ended(error)) => Err(error),
            Err(RecvTimeoutError::Timeout) => Ok(Begun::Interrupted),
            _ => anyhow::bail!("process {pid} has not answered"),
        }
    }

    /// Returns why the claim is gone; `None` as long as it exists.
    pub(super) fn why_ended(&mut self) -> Option<anyhow::Error> {
        for answer in self.answers.try_iter() {
            match answer {
                Answer::Figures(at, figures) => {
                    self.sent.note(at, figures.sent);
                    self.figures = Some(figures);
                }
                Answer::Ended(error) => return Some(error),
                Answer::InForce(_) | Answer::Removed => {}
            }
        }
        None
    }

    /// Returns how many requests have carried it, as far as that is known.
    pub(super) fn figures(&self) -> Option<&BaggageFigures> {
        self.figures.as_ref()
    }

    /// Returns how fast the number of requests grows that have carried it.
    pub(super) fn sent(&self) -> &Rate {
        &self.sent
    }

    /// Returns what should be known about the claim.
    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Has the claim removed; returns whether the agent has confirmed that.
    pub(super) fn remove(&mut self) -> bool {
        self.stays = None;
        let is_removed = |answer| match answer {
            Answer::InForce(_) | Answer::Figures(..) => None,
            Answer::Removed => Some(true),
            Answer::Ended(_) => Some(false),
        };
        is_confirmed(&self.answers, is_removed).unwrap_or(false)
    }
}

/// Waits for the first answer; `Timeout` if there was a signal before.
fn first_answer<T>(answers: &Receiver<T>, is_interrupted: impl Fn() -> bool) -> Result<T, RecvTimeoutError> {
    loop {
        match answers.recv_timeout(BETWEEN_SIGNALS) {
            Err(RecvTimeoutError::Timeout) if !is_interrupted() => {}
            answer => return answer,
        }
    }
}

fn keep(
    mut agent: OpenConnection,
    request: &Request,
    writer: Option<&str>,
    ends: &Receiver<()>,
    answers: &Sender<Answer>,
) -> Result<()> {
    let probed: Probed = agent.ask(request)?;
    let claim = probed.claim;
    if let Some(failure) = why_nothing_is_carried(&probed, writer) {
        agent.ask::<Removed>(&Request::Remove { claim })?;
        return Err(failure.into());
    }
    answers.send(Answer::InForce(notices(&probed)))?;
    while let Err(RecvTimeoutError::Timeout) = ends.recv_timeout(BETWEEN_LOOKS) {
        let claims = agent.ask::<ClaimList>(&Request::Claims)?.claims;
        let baggage = claims.into_iter().find(|row| row.id == Some(claim)).and_then(|row| row.baggage);
        let figures = baggage.ok_or_else(|| anyhow::anyhow!("claim {claim} has ended"))?;
        answers.send(Answer::Figures(Instant::now(), figures))?;
    }
    agent.ask::<Removed>(&Request::Remove { claim })?;
    Ok(())
}

/// Returns why no request can carry the context: a method of it, or the class that writes requests, cannot be changed.
fn why_nothing_is_carried(probed: &Probed, writer: Option<&str>) -> Option<Failure> {
    if let Some(missing) = probed.within.iter().find(|of| of.methods == 0) {
        let method = &missing.method;
        return Some(Failure::new(
            format!(
                "no loaded class has a method {method} with bytecode that can be changed, so they carry no context"
            ),
            format!("diagnose a method that calls {method}"),
        ));
    }
    let UnchangedClass { reason, .. } = probed.unchanged.iter().find(|of| Some(&*of.class) == writer)?;
    Some(Failure::new(
        format!("the class that writes them cannot be changed, so they carry no context: {reason}"),
        "diagnose the other process by itself, without `--with`",
    ))
}

/// Says which other classes are as they were.
fn notices(probed: &Probed) -> Vec<String> {
    let reasons = probed.refused.iter().chain(&probed.waiting);
    reasons.map(|reason| format!("some requests may not carry the context: {reason}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure;
    use control::ContextMethod;

    const WRITER: &str = "sun.net.www.http.HttpClient";

    fn probed(methods: usize, waiting: &[&str], refused: &[&str]) -> Probed {
        let texts = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect();
        let of_class = |text: &&str| {
            let class = text.split([':', ' ']).next().unwrap_or_default().to_owned();
            UnchangedClass { class, reason: (*text).to_owned() }
        };
        Probed {
            waiting: texts(waiting),
            refused: texts(refused),
            unchanged: refused.iter().chain(waiting).map(of_class).collect(),
            within: vec![
                ContextMethod { method: "a.A.a".to_owned(), methods: 1 },
                ContextMethod { method: "a.B.b".to_owned(), methods },
            ],
            ..no_methods()
        }
    }

    fn no_methods() -> Probed {
        Probed { claim: 3, methods: 0, classes: 2, ..Probed::default() }
    }

    #[test]
    fn what_cannot_be_changed_is_known_at_once() {
        let why = |probed: &Probed| {
            why_nothing_is_carried(probed, Some(WRITER))
                .map(|failure| failure::text(&failure.into()))
                .unwrap_or_default()
        };
        assert_eq!(why(&probed(1, &[], &[])), "");
        let missing = why(&probed(0, &[], &[]));
        assert!(missing.contains("no loaded class has a method a.B.b") && missing.contains("help:"), "{missing}");
        let reason = "sun.net.www.http.HttpClient: the JVM refuses it";
        // Another class may be named in a reason.
        assert_eq!(why(&probed(1, &["a.B waits for sun.net.www.http.HttpClient"], &[])), "");
        for of in [probed(1, &[], &[reason]), probed(1, &[reason], &[])] {
            assert!(why(&of).contains(&format!("they carry no context: {reason}")), "{}", why(&of));
            assert!(why_nothing_is_carried(&of, None).is_none(), "who sends requests is not known");
        }
    }

    #[test]
    fn other_classes_that_cannot_be_changed_are_notices() {
        let other = probed(1, &["a.B waits"], &["jdk.internal.net.http.MultiExchange: refused"]);
        assert!(why_nothing_is_carried(&other, Some(WRITER)).is_none());
        let notices = notices(&other);
        assert!(notices.len() == 2 && notices[1].ends_with("carry the context: a.B waits"), "{notices:?}");
    }

    #[test]
    fn a_signal_ends_waiting_for_the_agent() {
        let (sender, answers) = channel();
        assert_eq!(first_answer::<u32>(&answers, || true), Err(RecvTimeoutError::Timeout));
        sender.send(7).unwrap();
        assert_eq!(first_answer(&answers, || true), Ok(7));
        drop(sender);
        assert_eq!(first_answer(&answers, || false), Err(RecvTimeoutError::Disconnected));
    }
}
