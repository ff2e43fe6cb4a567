//! The screen on a real terminal: taken over at the beginning, given back at the end, whatever ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::background::{Background, News};
use super::drawing::draw;
use super::screen::{Screen, Wish};

/// Waiting for a key ends after so long, to see whether there are new figures.
const PATIENCE: Duration = Duration::from_millis(100);
/// A message gives way to the keys after so long.
const MESSAGE: Duration = Duration::from_secs(5);

/// Why the screen ends.
enum End {
    Quit,
    JvmEnded(String),
}

/// Shows the JVM until the user quits, or the number of looks is reached, or the JVM ends.
pub(crate) fn show_screen(pid: u32, interval: Duration, looks: Option<u32>) -> Result<()> {
    let background = Background::start(pid, interval)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot listen to signals")?;
    }
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut screen = Screen::new(pid, colours);
    // A panic gives the terminal back, too: the library sees to it.
    let mut terminal = ratatui::try_init().context("cannot take over the terminal; `--plain` needs none")?;
    let end = Showing { background, stop, looks, message_until: None }.run(&mut terminal, &mut screen);
    ratatui::restore();
    if let End::JvmEnded(text) = end? {
        println!("{text}");
    }
    Ok(())
}

struct Showing {
    background: Background,
    stop: Arc<AtomicBool>,
    looks: Option<u32>,
    message_until: Option<Instant>,
}

impl Showing {
    fn run(&mut self, terminal: &mut DefaultTerminal, screen: &mut Screen) -> Result<End> {
        let mut is_stale = true;
        while !self.stop.load(Ordering::Relaxed) {
            if std::mem::take(&mut is_stale) {
                terminal.draw(|frame| draw(frame, screen))?;
            }
            if event::poll(PATIENCE)? {
                is_stale = true;
                if let Some(end) = self.handle(&event::read()?, screen) {
                    return Ok(end);
                }
            }
            while let Ok(news) = self.background.news.try_recv() {
                is_stale = true;
                if let Some(end) = self.hear(news, screen)? {
                    return Ok(end);
                }
            }
            if self.message_until.is_some_and(|until| Instant::now() >= until) {
                (self.message_until, screen.message) = (None, None);
                is_stale = true;
            }
        }
        Ok(End::Quit)
    }

    fn handle(&mut self, event: &Event, screen: &mut Screen) -> Option<End> {
        let Event::Key(key) = event else { return None };
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match screen.key(*key) {
            Some(Wish::Quit) => return Some(End::Quit),
            // A thread that has ended has said why.
            Some(Wish::Change(change)) => drop(self.background.changes.send(change)),
            None => {}
        }
        if screen.message.is_some() {
            self.message_until.get_or_insert_with(|| Instant::now() + MESSAGE);
        }
        None
    }

    fn hear(&mut self, news: News, screen: &mut Screen) -> Result<Option<End>> {
        match news {
            News::Looked(interval) => {
                screen.take(*interval);
                if let Some(looks) = &mut self.looks {
                    *looks = looks.saturating_sub(1);
                    return Ok((*looks == 0).then_some(End::Quit));
                }
            }
            News::Said(text) => {
                screen.message = Some(text);
                self.message_until = Some(Instant::now() + MESSAGE);
            }
            News::Ended(text) => return Ok(Some(End::JvmEnded(text))),
            News::Failed(error) => return Err(error),
        }
        Ok(None)
    }
}
