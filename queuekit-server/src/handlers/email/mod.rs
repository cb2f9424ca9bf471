//! The handler `email`, which sends mail over SMTP.

mod addresses;
mod allowlist;
mod bounded_answers;
mod message;
mod smtp;

use std::time::Duration;

use lettre::Message;
use lettre::transport::smtp::Error as SmtpError;
use queuekit::workers::RawHandler;
use queuekit::{Bytes, Ctx, JobError, JobResult};
use serde::Serialize;

use message::message;

pub(crate) use allowlist::{Allowed, Correspondent};
pub(crate) use smtp::{Encryption, MailServer};

/// The handler of the kind `email`.
pub(crate) struct Mailer {
    /// Without a server every job fails, with an error that says what to set.
    pub(crate) server: Option<MailServer>,
    pub(crate) allowed: Allowed,
    /// Time for the whole delivery, from the lookup of the server's name.
    pub(crate) timeout: Duration,
}

/// The result of a job whose mail the server has accepted.
#[derive(Serialize)]
struct Sent {
    message_id: String,
    /// The server's answer, which may help to find the mail again.
    answer: String,
}

/// Codes by which a server refuses the login or sender, not the message: settings can be corrected.
const LOGIN: [u16; 5] = [454, 530, 534, 535, 538];

impl Mailer {
    async fn send(&self, message: Message, message_id: String) -> JobResult<Option<Bytes>> {
        let server = self.server.as_ref().ok_or_else(|| {
            JobError::retry(
                "no mail server is set: set SMTP_HOST (and SMTP_PORT, SMTP_USER, SMTP_PASSWORD), \
                 or GMAIL_USER and GMAIL_APP_PASSWORD, or [handlers.email] in queuekit.toml",
            )
        })?;
        let sent = server.send(&message, self.timeout).await;
        let response = sent.map_err(|error| refused(server, &error))?;
        let answer =
            format!("{} {}", response.code(), response.message().collect::<Vec<_>>().join(" "));
        let answer = server.without_login(&answer).chars().take(500).collect();
        Ok(Some(serde_json::to_vec(&Sent { message_id, answer })?.into()))
    }
}

impl RawHandler for Mailer {
    async fn call(&self, payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
        let (message, id) = message(&payload, &self.allowed, ctx.id())?;
        tokio::select! {
            // A mail that was accepted is not sent again.
            biased;
            sent = Box::pin(self.send(message, id)) => sent,
            () = ctx.cancelled() => Err("the mail was not sent: the run was stopped".into()),
        }
    }
}

/// Retries if the server cannot be reached or answers "later" (4xx), but not if it refuses the
/// message (5xx).
fn refused(server: &MailServer, error: &anyhow::Error) -> JobError {
    let name = server.name();
    let told = anyhow::Error::msg(server.without_login(&format!("{error:#}")));
    let answer = error.downcast_ref::<SmtpError>();
    let code = answer.and_then(SmtpError::status);
    if code.is_some_and(|code| LOGIN.contains(&u16::from(code))) {
        let hint = "the server refused the login: check SMTP_USER and SMTP_PASSWORD";
        return JobError::retry(told.context(format!("{name}: {hint}")));
    }
    let told = told.context(format!("{name} did not accept the mail"));
    let is_permanent = answer.is_some_and(SmtpError::is_permanent);
    if is_permanent { JobError::fatal(told) } else { JobError::retry(told) }
}

/// Shows no fields, because they hold secrets.
impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mailer")
    }
}
