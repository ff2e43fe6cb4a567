//! The context of a diagnosis in the JVM that sends requests: as long as the diagnosis goes on in others, requests that are sent inside it say so.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Result;
use control::{BaggageFigures, ClaimList, Probed, Removed, Request};

use crate::running_agent::OpenConnection;

/// The agent disconnects clients that are silent for a second if others need their place.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
/// An agent that has not removed the claim by then does so when it notices that the connection is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the thread that keeps the claim has heard.
enum News {
    /// It exists, and so many requests have carried it.
    Figures(Option<BaggageFigures>),
    /// It was refused, has ended, or its process has. Nothing follows.
    Ended(anyhow::Error),
    /// It was removed as ordered.
    Removed,
}

/// The claim in the JVM that sends requests.
pub(super) struct CarriedContext {
    /// Dropped to have the claim removed.
    stays: Option<Sender<()>>,
    news: Receiver<News>,
    figures: Option<BaggageFigures>,
}

impl CarriedContext {
    /// Makes the claim; returns when it is in force.
    pub(super) fn begin(pid: u32, request: Request) -> Result<CarriedContext> {
        let agent = OpenConnection::to(pid)?;
        let (stays, ends) = channel();
        let (sender, news) = channel();
        std::thread::Builder::new().name("context".to_owned()).spawn(move || {
            let last = match keep(agent, &request, &ends, &sender) {
                Ok(()) => News::Removed,
                Err(error) => News::Ended(error),
            };
            // Nobody listens any more if this process ends.
            let _ = sender.send(last);
        })?;
        match news.recv() {
            Ok(News::Figures(figures)) => Ok(CarriedContext { stays: Some(stays), news, figures }),
            Ok(News::Ended(error)) => Err(error),
            Ok(News::Removed) | Err(_) => anyhow::bail!("process {pid} has not answered"),
        }
    }

    /// Returns why the claim is gone; `None` as long as it exists.
    pub(super) fn why_ended(&mut self) -> Option<anyhow::Error> {
        for news in self.news.try_iter() {
            match news {
                News::Figures(figures) => self.figures = figures,
                News::Ended(error) => return Some(error),
                News::Removed => {}
            }
        }
        None
    }

    /// Returns how many requests have carried it, as far as that is known.
    pub(super) fn figures(&self) -> Option<&BaggageFigures> {
        self.figures.as_ref()
    }

    /// Has the claim removed; returns whether the agent has confirmed that.
    pub(super) fn remove(&mut self) -> bool {
        self.stays = None;
        loop {
            match self.news.recv_timeout(PATIENCE) {
                Ok(News::Figures(_)) => {}
                Ok(News::Removed) => return true,
                Ok(News::Ended(_)) | Err(_) => return false,
            }
        }
    }
}

fn keep(mut agent: OpenConnection, request: &Request, ends: &Receiver<()>, news: &Sender<News>) -> Result<()> {
    let Probed { claim, .. } = agent.ask(request)?;
    news.send(News::Figures(None))?;
    while let Err(RecvTimeoutError::Timeout) = ends.recv_timeout(BETWEEN_LOOKS) {
        let claims = agent.ask::<ClaimList>(&Request::Claims)?.claims;
        let row = claims.into_iter().find(|row| row.id == Some(claim) && row.baggage.is_some());
        let row = row.ok_or_else(|| anyhow::anyhow!("claim {claim} has ended"))?;
        news.send(News::Figures(row.baggage))?;
    }
    agent.ask::<Removed>(&Request::Remove { claim })?;
    Ok(())
}
