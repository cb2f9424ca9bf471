//! SIGHUP: read the settings again, and go on.

use super::stop::Hangups;
use crate::config::{HttpFlags, Sources};
use crate::http::Reloader;

/// Lets a server take its keys, its certificate and its limits anew at each SIGHUP. What is wrong
/// is told, and what held before holds on.
pub(crate) fn on_hangup(
    mut hangups: Hangups,
    reloader: Reloader,
    flags: HttpFlags,
    sources: &Sources,
) {
    let read = sources.reader();
    tokio::spawn(async move {
        loop {
            hangups.next().await;
            let options = read().and_then(|sources| flags.clone().resolve(&sources));
            match options.and_then(|options| reloader.reload(&options)) {
                Ok(()) => tracing::info!("SIGHUP: keys, certificate and limits were read again"),
                Err(error) => tracing::error!(
                    error = format!("{error:#}"),
                    "SIGHUP: the settings stay as they were"
                ),
            }
        }
    });
}

/// A worker has nothing that could be read anew, and what it runs goes on.
pub(crate) fn ignore_hangups(mut hangups: Hangups) {
    tokio::spawn(async move {
        loop {
            hangups.next().await;
            tracing::info!("SIGHUP: a worker takes its settings when it starts; restart it");
        }
    });
}
