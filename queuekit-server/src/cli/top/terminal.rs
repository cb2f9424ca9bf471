//! The terminal: taken over while the dashboard is shown, and given back however it ends.

use std::io::{self, IsTerminal};
use std::thread;

use anyhow::{Context as _, Result};
use ratatui::crossterm::event::{self, Event as TerminalEvent};
use ratatui::{DefaultTerminal, Frame};
use tokio::sync::mpsc;

use super::model::Event;
use crate::error::Usage;

/// The screen. When this is dropped, and also after a panic, the terminal is as it was before.
pub(super) struct Screen(DefaultTerminal);

/// Keys and changes of size.
pub(super) struct Keys(mpsc::UnboundedReceiver<io::Result<TerminalEvent>>);

impl Screen {
    /// # Errors
    /// If there is no terminal.
    pub(super) fn open() -> Result<Self> {
        let screen = ratatui::try_init().map(Self);
        if screen.is_err() {
            // It may have been taken over half-way.
            let _ = ratatui::try_restore();
        }
        screen.context("cannot use the terminal")
    }

    pub(super) fn size(&self) -> Result<(u16, u16)> {
        let size = self.0.size().context("cannot read the size of the terminal")?;
        Ok((size.width, size.height))
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        self.0.draw(draw).map(drop).context("cannot write to the terminal")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // After a panic its hook has done so, and the cursor would go back over the message.
        if !thread::panicking() {
            ratatui::restore();
        }
    }
}

impl Keys {
    /// Reads them in a thread, which ends with the process: a terminal cannot be read from without
    /// waiting on every system.
    pub(super) fn listen() -> Result<Self> {
        let (sender, keys) = mpsc::unbounded_channel();
        let read = move || {
            loop {
                let event = event::read();
                let has_ended = event.is_err();
                if sender.send(event).is_err() || has_ended {
                    return;
                }
            }
        };
        thread::Builder::new().name("keys".to_owned()).spawn(read).context("cannot read keys")?;
        Ok(Self(keys))
    }

    /// Waits for the next one that concerns the model.
    pub(super) async fn next(&mut self) -> Result<Event> {
        loop {
            let event = self.0.recv().await.context("the terminal has gone")?;
            match event.context("cannot read from the terminal")? {
                TerminalEvent::Key(key) => return Ok(Event::Key(key)),
                TerminalEvent::Resize(columns, rows) => return Ok(Event::Resized(columns, rows)),
                _ => {}
            }
        }
    }
}

/// # Errors
/// A usage error that names the command for pipes, if this is one.
pub(super) fn need_terminal() -> Result<()> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    let told = "`queuekit top` needs a terminal; `queuekit stats` prints figures anywhere, and \
                `queuekit stats --watch` prints them again whenever they change";
    Err(Usage::error(told))
}
