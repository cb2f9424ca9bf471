//! Settings of the built-in handlers, and which of them are enabled.

mod email;
mod exec;
mod http;

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;

use super::Environment;
use crate::error::Usage;
use crate::handlers::{BuiltIn, Handler};

/// `[handlers]`. It has no `Debug`, because it holds secrets.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HandlersEntry {
    pub(crate) enabled: Option<Vec<BuiltIn>>,
    http: Option<http::HttpEntry>,
    email: Option<email::EmailEntry>,
    exec: Option<exec::ExecEntry>,
}

impl HandlersEntry {
    /// Whether the file itself holds a secret.
    pub(crate) fn holds_secret(&self) -> bool {
        self.http.as_ref().is_some_and(http::HttpEntry::holds_secret)
            || self.email.as_ref().is_some_and(email::EmailEntry::holds_secret)
    }

    /// Whether webhooks may reach every port of a target, or use plain text.
    pub(crate) fn reaches_widely(&self) -> bool {
        self.http.as_ref().is_some_and(http::HttpEntry::reaches_widely)
    }

    /// Whether the file restricts the recipients of mail.
    pub(crate) fn bounds_recipients(&self) -> bool {
        self.email.as_ref().is_some_and(email::EmailEntry::bounds_recipients)
    }
}

/// The enabled handlers, ready to run jobs. Relative paths start at `directory`. `is_named` says
/// whether `--config` named the file.
///
/// # Errors
/// If one of them has a wrong setting.
pub(super) fn handlers(
    entry: &HandlersEntry,
    environment: &Environment,
    directory: &Path,
    is_named: bool,
) -> Result<Vec<Handler>> {
    let enabled = entry.enabled.as_deref().unwrap_or(BuiltIn::HARMLESS);
    remark_on_what_is_off(entry, enabled);
    refuse_unless_named(enabled, is_named)?;
    let mut handlers = Vec::new();
    for (at, name) in enabled.iter().enumerate() {
        // A worker refuses two handlers of one kind.
        if enabled[..at].contains(name) {
            continue;
        }
        match name {
            BuiltIn::Echo => handlers.push(Handler::Echo),
            BuiltIn::Sleep => handlers.push(Handler::Sleep),
            BuiltIn::Http => {
                let webhook = http::webhook(entry.http.as_ref(), environment)?;
                handlers.push(Handler::Http(webhook.into()));
            }
            BuiltIn::Email => {
                let mailer = email::mailer(entry.email.as_ref(), environment)?;
                handlers.push(Handler::Email(mailer.into()));
            }
            BuiltIn::Exec => {
                let commands = exec::commands(entry.exec.as_ref(), environment, directory)?;
                handlers.extend(commands.into_iter().map(Handler::Exec));
            }
        }
    }
    Ok(handlers)
}

/// Refuses handlers of a file that was only found in the current directory: it may be someone
/// else's, and could run commands and send values of the environment anywhere.
fn refuse_unless_named(enabled: &[BuiltIn], is_named: bool) -> Result<()> {
    let reaches_out = !enabled.iter().all(|handler| BuiltIn::HARMLESS.contains(handler));
    if reaches_out && !is_named {
        return Err(Usage::error(
            "./queuekit.toml enables http, email or exec, but was only found in the current \
             directory: if it is yours, pass --config queuekit.toml",
        ));
    }
    Ok(())
}

/// Refuses settings of a handler that is not enabled: they would have no effect.
fn remark_on_what_is_off(entry: &HandlersEntry, enabled: &[BuiltIn]) {
    for (name, handler, stated) in [
        ("http", BuiltIn::Http, entry.http.is_some()),
        ("email", BuiltIn::Email, entry.email.is_some()),
        ("exec", BuiltIn::Exec, entry.exec.is_some()),
    ] {
        if stated && !enabled.contains(&handler) {
            tracing::warn!(
                "the file has [handlers.{name}], but the handler is not enabled: add \"{name}\" \
                 to `enabled` of [handlers]"
            );
        }
    }
}

/// A duration in milliseconds, or else this default.
fn time(stated: Option<NonZeroU64>, default: Duration) -> Duration {
    stated.map_or(default, |ms| Duration::from_millis(ms.get()))
}
