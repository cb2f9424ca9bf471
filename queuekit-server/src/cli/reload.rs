//! SIGHUP: reads the settings again without a restart.

use std::sync::Arc;

use anyhow::Result;

use super::shutdown::Hangups;
use crate::config::{HttpFlags, Sources};
use crate::listen::Reloader;

/// Makes a server read its keys, its certificate and its limits again at each SIGHUP. If they are
/// wrong, it logs why and keeps all settings as they were.
pub(crate) fn on_hangup(
    mut hangups: Hangups,
    reloader: Reloader,
    flags: HttpFlags,
    sources: &Sources,
) {
    let read = sources.reader();
    let reload = Arc::new(move || -> Result<()> {
        // All is read and checked before any of it applies, so that a typo takes away no key.
        let options = flags.clone().resolve(&read()?)?;
        reloader.reload(&options)
    });
    tokio::spawn(async move {
        loop {
            hangups.next().await;
            let reload = Arc::clone(&reload);
            // A file on a network may hang, which must not stop the server.
            let reloaded = tokio::task::spawn_blocking(move || reload()).await;
            match reloaded.unwrap_or_else(|panic| Err(panic.into())) {
                Ok(()) => tracing::info!("SIGHUP: keys, certificate and limits were read again"),
                Err(error) => tracing::error!(
                    error = format!("{error:#}"),
                    "SIGHUP: the new settings are wrong; all settings stay as they were"
                ),
            }
        }
    });
}

/// Keeps a worker running at SIGHUP: it has no settings that it could read again.
pub(crate) fn ignore_hangups(mut hangups: Hangups) {
    tokio::spawn(async move {
        loop {
            hangups.next().await;
            tracing::info!("SIGHUP: a worker reads its settings only at its start; restart it");
        }
    });
}
