//! The message that a payload describes.

use lettre::Message;
use lettre::message::{Mailbox, MultiPart, SinglePart};
use queuekit::{JobError, JobId, JobResult};
use serde::Deserialize;

/// As a job writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    to: Addresses,
    #[serde(default)]
    cc: Addresses,
    #[serde(default)]
    bcc: Addresses,
    #[serde(default)]
    reply_to: Addresses,
    from: Option<String>,
    subject: String,
    text: Option<String>,
    html: Option<String>,
}

/// One, or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Addresses {
    One(String),
    Many(Vec<String>),
}

/// To so many at once; servers take 100 as a rule.
const RECIPIENTS: usize = 100;

/// The message, and its id: made of the job's, so that a second copy of it, which a run that is
/// repeated may send, can be known as one.
///
/// # Errors
/// What is wrong with the payload, for good; it is not repeated. That nobody is set as sender is
/// wrong for now.
pub(super) fn message(
    payload: &[u8],
    default_from: Option<&Mailbox>,
    job: JobId,
) -> JobResult<(Message, String)> {
    let payload: Payload = serde_json::from_slice(payload)
        .map_err(|error| JobError::fatal(format!("the payload is no mail: {error}")))?;
    let from = match &payload.from {
        Some(from) => mailbox("from", from)?,
        None => default_from.cloned().ok_or_else(|| {
            JobError::retry("nobody is set who writes: set SMTP_FROM, or `from` in the payload")
        })?,
    };
    let id = format!("<{job}@{}>", from.email.domain());
    let mut builder =
        Message::builder().from(from).message_id(Some(id.clone())).subject(line(payload.subject)?);
    for to in mailboxes("reply_to", payload.reply_to)? {
        builder = builder.reply_to(to);
    }
    let (to, cc) = (mailboxes("to", payload.to)?, mailboxes("cc", payload.cc)?);
    let bcc = mailboxes("bcc", payload.bcc)?;
    if !(1..=RECIPIENTS).contains(&(to.len() + cc.len() + bcc.len())) {
        return Err(JobError::fatal("`to`, `cc` and `bcc` must have 1 to 100 addresses together"));
    }
    builder = to.into_iter().fold(builder, lettre::message::MessageBuilder::to);
    builder = cc.into_iter().fold(builder, lettre::message::MessageBuilder::cc);
    builder = bcc.into_iter().fold(builder, lettre::message::MessageBuilder::bcc);
    let built = match (payload.text, payload.html) {
        (Some(text), Some(html)) => {
            builder.multipart(MultiPart::alternative_plain_html(text, html))
        }
        (Some(text), None) => builder.singlepart(SinglePart::plain(text)),
        (None, Some(html)) => builder.singlepart(SinglePart::html(html)),
        (None, None) => return Err(JobError::fatal("a mail has `text`, `html`, or both")),
    };
    let message = built.map_err(|error| JobError::fatal(format!("it is no mail: {error}")))?;
    Ok((message, id))
}

/// A subject that ends its line would begin another header.
fn line(subject: String) -> JobResult<String> {
    match subject.chars().any(char::is_control) {
        true => Err(JobError::fatal("`subject` must be one line, without control characters")),
        false => Ok(subject),
    }
}

fn mailboxes(field: &str, addresses: Addresses) -> JobResult<Vec<Mailbox>> {
    let texts = match addresses {
        Addresses::One(text) => vec![text],
        Addresses::Many(texts) => texts,
    };
    texts.iter().map(|text| mailbox(field, text)).collect()
}

fn mailbox(field: &str, text: &str) -> JobResult<Mailbox> {
    let parsed = text.parse().ok().filter(|_| !text.chars().any(char::is_control));
    let form = "write ada@example.org, or Ada <ada@example.org>";
    parsed.ok_or_else(|| JobError::fatal(format!("`{field}` has what is no address; {form}")))
}

impl Default for Addresses {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(payload: &serde_json::Value) -> Result<String, JobError> {
        let from = "Queue <queue@shop.example>".parse().unwrap();
        let (message, _) = message(payload.to_string().as_bytes(), Some(&from), job())?;
        Ok(String::from_utf8(message.formatted()).unwrap())
    }

    fn job() -> JobId {
        "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap()
    }

    #[test]
    fn a_message_has_the_id_of_its_job_and_hides_who_is_in_bcc() {
        let payload = serde_json::json!({
            "to": "Ada <ada@example.org>", "cc": ["b@example.org", "c@example.org"],
            "bcc": "hidden@example.org", "reply_to": "help@example.org",
            "subject": "Grüße", "text": "Guten Tag", "html": "<p>Guten Tag</p>",
        });
        let written = written(&payload).unwrap();
        for line in [
            "Message-ID: <0190163d-8694-739b-aea5-966c26f8ad91@shop.example>",
            "From: Queue <queue@shop.example>",
            "To: Ada <ada@example.org>",
            "Cc: b@example.org, c@example.org",
            "Reply-To: help@example.org",
            "Content-Type: multipart/alternative;",
            "Content-Type: text/plain",
            "Content-Type: text/html",
        ] {
            assert!(written.contains(line), "{line} is not in {written}");
        }
        assert!(!written.contains("hidden"), "{written}");
    }

    #[test]
    fn no_field_can_begin_another_header() {
        let good = serde_json::json!({"to": "a@example.org", "subject": "s", "text": "t"});
        assert!(written(&good).is_ok());
        for end in ["\r\n", "\n", "\r", "\u{0}", "\u{85}"] {
            for field in ["to", "cc", "bcc", "reply_to", "from", "subject"] {
                for text in [
                    format!("a@example.org{end}Bcc: evil@example.org"),
                    format!("A{end}Bcc: evil@example.org{end} <a@example.org>"),
                    format!("\"A{end}Bcc: evil@example.org\" <a@example.org>"),
                ] {
                    let mut payload = good.clone();
                    payload[field] = text.clone().into();
                    let error = written(&payload).expect_err(&text);
                    assert!(error.is_fatal() && !error.to_string().contains("evil"), "{error}");
                }
            }
        }
        let mut payload = good;
        payload["text"] = "t\r\n.\r\nMAIL FROM:<evil@example.org>\r\n\nBcc: x".into();
        let written = written(&payload).unwrap();
        let (head, _) = written.split_once("\r\n\r\n").unwrap();
        assert!(!head.contains("evil") && !head.contains("Bcc"), "{head}");
    }

    #[test]
    fn what_is_no_mail_is_refused_by_field_and_a_missing_sender_may_yet_be_set() {
        let many: Vec<String> = (0..101).map(|n| format!("a{n}@example.org")).collect();
        for (payload, said) in [
            (serde_json::json!({"subject": "s", "text": "t"}), "missing field `to`"),
            (serde_json::json!({"to": "a@b.c", "text": "t"}), "missing field `subject`"),
            (serde_json::json!({"to": "a@b.c", "subject": "s"}), "`text`, `html`, or both"),
            (serde_json::json!({"to": "ada", "subject": "s", "text": "t"}), "`to` has what is no"),
            (serde_json::json!({"to": [], "subject": "s", "text": "t"}), "1 to 100"),
            (serde_json::json!({"to": many, "subject": "s", "text": "t"}), "1 to 100"),
            (serde_json::json!({"to": "a@b.c", "subjct": "s"}), "unknown field `subjct`"),
        ] {
            let error = written(&payload).unwrap_err();
            assert!(error.is_fatal() && error.to_string().contains(said), "{error}");
        }
        let error = message(br#"{"to": "a@b.c", "subject": "s", "text": "t"}"#, None, job());
        let error = error.err().unwrap();
        assert!(!error.is_fatal() && error.to_string().contains("SMTP_FROM"), "{error}");
    }
}
