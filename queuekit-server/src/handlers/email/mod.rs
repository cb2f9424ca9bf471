//! Sends mail by SMTP.

mod addresses;
mod allowed;
mod message;
mod server;

use std::time::Duration;

use lettre::{AsyncTransport, Message};
use queuekit::{Bytes, Ctx, JobError, JobResult, RawHandler};
use serde::Serialize;
use tokio::time::timeout;

use message::message;

pub(crate) use allowed::{Allowed, Correspondent};
pub(crate) use server::{Encryption, MailServer};

/// The handler of type `email`.
pub(crate) struct Mailer {
    /// Without one every job fails, and says what to set.
    pub(crate) server: Option<MailServer>,
    pub(crate) allowed: Allowed,
    /// For all of it, from the look-up of the server's name.
    pub(crate) timeout: Duration,
}

/// What is stored of mail that the server has taken.
#[derive(Serialize)]
struct Sent {
    message_id: String,
    /// By what the server may find it again.
    answer: String,
}

/// Codes by which a server refuses who sends, and not the message: settings can be put right.
const LOGIN: [u16; 5] = [454, 530, 534, 535, 538];

impl Mailer {
    async fn send(&self, message: Message, message_id: String) -> JobResult<Option<Bytes>> {
        let server = self.server.as_ref().ok_or_else(|| {
            JobError::retry(
                "no mail server is set: set SMTP_HOST (and SMTP_PORT, SMTP_USER, SMTP_PASSWORD), \
                 or GMAIL_USER and GMAIL_APP_PASSWORD, or [handlers.email] in queuekit.toml",
            )
        })?;
        let (most, name) = (self.timeout, server.name());
        let late = |_| JobError::retry(format!("{name} did not take the mail within {most:?}"));
        let sent = timeout(most, server.transport.send(message)).await.map_err(late)?;
        let response = sent.map_err(|error| refused(name, error))?;
        let answer =
            format!("{} {}", response.code(), response.message().collect::<Vec<_>>().join(" "));
        let answer = answer.chars().take(500).collect();
        Ok(Some(serde_json::to_vec(&Sent { message_id, answer })?.into()))
    }
}

impl RawHandler for Mailer {
    async fn call(&self, payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
        let (message, id) = message(&payload, &self.allowed, ctx.id())?;
        tokio::select! {
            // What was taken is not sent again.
            biased;
            sent = Box::pin(self.send(message, id)) => sent,
            () = ctx.cancelled() => Err("the mail was given up, because its run was".into()),
        }
    }
}

/// A server that cannot be reached, and one that says "later" (4xx), are tried again; a message
/// that it will never take (5xx) is not.
fn refused(name: &str, error: lettre::transport::smtp::Error) -> JobError {
    let login = error.status().is_some_and(|code| LOGIN.contains(&u16::from(code)));
    let permanent = error.is_permanent();
    let told = anyhow::Error::from(error);
    if login {
        let hint = "the server refuses the login: see SMTP_USER and SMTP_PASSWORD";
        return JobError::retry(told.context(format!("{name}: {hint}")));
    }
    let told = told.context(format!("{name} did not take the mail"));
    if permanent { JobError::fatal(told) } else { JobError::retry(told) }
}

/// There are secrets in it.
impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mailer")
    }
}
