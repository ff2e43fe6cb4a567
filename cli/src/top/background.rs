//! The thread that talks to the agent, so that keys are answered while the agent is not.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use control::{Changed, Request, Status, WantedLevel};
use instrument_core::level::Level;

use super::figures::Interval;
use crate::java_process::Process;
use crate::running_agent::ask;

/// Methods asked for, more than anybody looks at, so that a search finds what is not hot.
const METHODS: usize = 1_000;

/// Something to be done in the JVM.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LevelChange {
    pub(crate) method: String,
    pub(crate) level: Level,
}

/// Results of the background thread.
#[derive(Debug)]
pub(crate) enum News {
    Looked(Box<Interval>),
    /// A change was made, or not.
    Said(String),
    /// The JVM has ended; the message to show.
    Ended(String),
    Failed(anyhow::Error),
}

/// Both ends of the thread.
#[derive(Debug)]
pub(crate) struct Background {
    pub(crate) changes: Sender<LevelChange>,
    pub(crate) news: Receiver<News>,
}

/// Asks once.
pub(crate) fn look(pid: u32) -> Result<Status> {
    ask(pid, &Request::Status { methods: Some(METHODS), durations: true })
}

impl Background {
    /// Looks at the JVM in each interval until this value is dropped, or the JVM ends. The first look is made here: who cannot
    /// be asked at all is an error.
    pub(crate) fn start(pid: u32, interval: Duration) -> Result<Background> {
        let first = look(pid)?;
        let (changes, orders) = channel();
        let (sender, news) = channel();
        std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
            let mut watch = Watch { pid, before: first, at: Instant::now() };
            watch.go_on(interval, &orders, &sender);
        })?;
        Ok(Background { changes, news })
    }
}

struct Watch {
    pid: u32,
    before: Status,
    at: Instant,
}

impl Watch {
    fn go_on(&mut self, interval: Duration, orders: &Receiver<LevelChange>, news: &Sender<News>) {
        loop {
            let left = interval.saturating_sub(self.at.elapsed());
            let answer = match orders.recv_timeout(left) {
                Ok(change) => Ok(self.change(&change)),
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let is_last = answer.is_err();
            if news.send(answer.unwrap_or_else(|error| self.last_news(error))).is_err() || is_last {
                return;
            }
        }
    }

    fn look(&mut self) -> Result<News> {
        let now = look(self.pid)?;
        let elapsed = self.at.elapsed();
        self.at = Instant::now();
        let between = Interval::between(&self.before, now, elapsed);
        self.before = between.status.clone();
        Ok(News::Looked(Box::new(between)))
    }

    /// What cannot be done is said, too; whether the agent is still there is found out by the next look.
    fn change(&self, change: &LevelChange) -> News {
        let LevelChange { method, level } = change;
        let request = Request::Level { methods: method.clone(), level: WantedLevel::Exact(*level) };
        let changed = match ask(self.pid, &request) {
            Ok(changed) => changed,
            Err(error) => return News::Said(format!("{error:#}")),
        };
        News::Said(match changed {
            Changed { live: 0, .. } => {
                "levels are fixed here: start the JVM with `live = true` in [control]".to_owned()
            }
            Changed { changed: 0, .. } => format!("{method} has no live probe"),
            Changed { .. } => format!("{method} is at level {level} now"),
        })
    }

    fn last_news(&self, error: anyhow::Error) -> News {
        end_of(self.pid, &self.before).map_or(News::Failed(error), News::Ended)
    }
}

/// Returns a sentence on the end of a process that did not answer; `None` if it is alive.
pub(crate) fn end_of(pid: u32, last: &Status) -> Option<String> {
    let file = last.trace_file.as_ref().map(|file| format!("; its recording: {}", file.display()));
    Process::ends_now(pid).then(|| format!("process {pid} has ended{}", file.unwrap_or_default()))
}
