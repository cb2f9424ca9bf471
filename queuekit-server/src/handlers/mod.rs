//! The built-in handlers, which need no Rust code: a file or folder for each.

mod echo;
pub(crate) mod email;
pub(crate) mod exec;
mod fail;
pub(crate) mod http;
mod sleep;

use queuekit::Worker;
use serde::Deserialize;

use email::Mailer;
use exec::Exec;
use http::Webhook;

/// The name of a built-in handler, as in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BuiltIn {
    Echo,
    Sleep,
    Http,
    Email,
    Exec,
}

/// A handler with its settings, ready to run jobs.
#[derive(Debug)]
pub(crate) enum Handler {
    Echo,
    Sleep,
    Http(Box<Webhook>),
    Email(Box<Mailer>),
    /// The handler of one command.
    Exec(Exec),
}

impl BuiltIn {
    /// Handlers that reach nothing outside; they are enabled unless the configuration names others.
    pub(crate) const HARMLESS: &[Self] = &[Self::Echo, Self::Sleep];
}

impl Handler {
    /// The kind of its jobs.
    pub(crate) fn kind(&self) -> &str {
        match self {
            Self::Echo => "echo",
            Self::Sleep => "sleep",
            Self::Http(_) => "http",
            Self::Email(_) => "email",
            Self::Exec(exec) => exec.kind(),
        }
    }

    pub(crate) fn add_to(self, worker: Worker) -> Worker {
        let kind = self.kind().to_owned();
        match self {
            Self::Echo => worker.handle_raw(kind, echo::echo),
            Self::Sleep => worker.handle(sleep::sleep),
            Self::Http(webhook) => worker.handle_raw(kind, *webhook),
            Self::Email(mailer) => worker.handle_raw(kind, *mailer),
            Self::Exec(exec) => worker.handle_raw(kind, exec),
        }
    }
}

/// Adds the handlers that fail, for `queuekit dev`.
pub(crate) fn add_demo(worker: Worker) -> Worker {
    worker.handle_raw(fail::FLAKY, fail::flaky).handle_raw(fail::FAIL, fail::fail)
}
