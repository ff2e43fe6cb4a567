//! The thread that talks to the agent, so that Ctrl-C is answered while the agent is not.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Result;
use control::{Diagnosis, Removed, Request};

use crate::running_agent::OpenConnection;

/// The agent disconnects clients that are silent for a second if others need their place.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// What the thread has heard from the agent.
pub(super) enum News {
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
    pub(super) news: Receiver<News>,
}

impl Conversation {
    /// Starts a diagnosis by the first of these requests that is not refused, and looks at it until it is done.
    pub(super) fn start(pid: u32, requests: Vec<Request>) -> Result<Conversation> {
        let agent = OpenConnection::to(pid)?;
        let (orders, received) = channel();
        let (sender, news) = channel();
        std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
            let failed = talk(agent, &requests, &received, &sender).err();
            // Nobody listens any more if this process ends.
            let _ = failed.map(|error| sender.send(News::Failed(error)));
        })?;
        Ok(Conversation { orders, news })
    }
}

fn talk(mut agent: OpenConnection, requests: &[Request], orders: &Receiver<Remove>, news: &Sender<News>) -> Result<()> {
    let mut seen = begin(&mut agent, requests)?;
    loop {
        let (claim, is_final) = (seen.claim, seen.state.is_final());
        if news.send(News::Seen(Box::new(seen))).is_err() || is_final {
            return Ok(());
        }
        match orders.recv_timeout(BETWEEN_LOOKS) {
            Ok(Remove) => {
                agent.ask::<Removed>(&Request::Remove { claim })?;
                let _ = news.send(News::Removed);
                return Ok(());
            }
            Err(RecvTimeoutError::Timeout) => seen = agent.ask(&Request::Diagnosis { claim })?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn begin(agent: &mut OpenConnection, requests: &[Request]) -> Result<Diagnosis> {
    let mut refused = None;
    for request in requests {
        match agent.ask(request) {
            Ok(begun) => return Ok(begun),
            // Why the first one is refused says most.
            Err(error) => _ = refused.get_or_insert(error),
        }
    }
    Err(refused.unwrap_or_else(|| anyhow::anyhow!("nothing was asked")))
}
