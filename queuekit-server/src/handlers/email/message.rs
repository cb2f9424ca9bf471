//! The message that a payload describes.

use lettre::Message;
use lettre::message::{MessageBuilder, MultiPart, SinglePart};
use queuekit::{JobError, JobId, JobResult};
use serde::Deserialize;

use super::addresses::Addresses;
use super::allowlist::Allowed;

/// The payload of a job.
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

/// Most recipients; most servers accept 100.
const RECIPIENTS: usize = 100;

/// Most addresses in `reply_to`.
const REPLY_TO: usize = 10;
/// Longest subject, in bytes: one line of a mail.
const SUBJECT: usize = 998;

/// The message and its id. The id is made of the job's, so that receivers can recognize a second
/// copy, which a repeated run may send.
///
/// # Errors
/// Undecodable if the payload does not have the fields of a mail, which a newer program may know;
/// fatal if a value cannot be sent; retried if no sender is set. None repeats values.
pub(super) fn message(
    payload: &[u8],
    allowed: &Allowed,
    job: JobId,
) -> JobResult<(Message, String)> {
    let payload: Payload = serde_json::from_slice(payload).map_err(|error| {
        JobError::undecodable(format!("the payload does not describe a mail: {error}"))
    })?;
    payload.check_bounds()?;
    let from = allowed.sender(payload.from.as_deref())?;
    let id = format!("<{job}@{}>", from.email.domain());
    let mut builder = Message::builder().from(from).message_id(Some(id.clone()));
    builder =
        payload.reply_to.read("reply_to")?.into_iter().fold(builder, MessageBuilder::reply_to);
    let (to, cc) = (payload.to.read("to")?, payload.cc.read("cc")?);
    let bcc = payload.bcc.read("bcc")?;
    for recipients in [&to, &cc, &bcc] {
        allowed.check_recipients(recipients)?;
    }
    builder = to.into_iter().fold(builder, MessageBuilder::to);
    builder = cc.into_iter().fold(builder, MessageBuilder::cc);
    builder = bcc.into_iter().fold(builder, MessageBuilder::bcc);
    builder = builder.subject(payload.subject);
    let (text, html) = (payload.text.as_deref().map(lines), payload.html.as_deref().map(lines));
    let built = match (text, html) {
        (Some(text), Some(html)) => {
            builder.multipart(MultiPart::alternative_plain_html(text, html))
        }
        (Some(text), None) => builder.singlepart(SinglePart::plain(text)),
        (None, Some(html)) => builder.singlepart(SinglePart::html(html)),
        (None, None) => return Err(JobError::fatal("a mail needs `text`, `html`, or both")),
    };
    let message =
        built.map_err(|error| JobError::fatal(format!("the mail cannot be built: {error}")))?;
    Ok((message, id))
}

impl Payload {
    /// Checks the bounds before anything is parsed that takes more than linear time.
    fn check_bounds(&self) -> JobResult<()> {
        let recipients = self.to.len() + self.cc.len() + self.bcc.len();
        if !(1..=RECIPIENTS).contains(&recipients) {
            let rule = format!("must have 1 to {RECIPIENTS} addresses together");
            return Err(JobError::fatal(format!("`to`, `cc` and `bcc` {rule}")));
        }
        if self.reply_to.len() > REPLY_TO {
            let rule = format!("must have at most {REPLY_TO} addresses");
            return Err(JobError::fatal(format!("`reply_to` {rule}")));
        }
        // A subject with a line end would start another header.
        if self.subject.len() > SUBJECT || self.subject.chars().any(char::is_control) {
            let rule = format!("of at most {SUBJECT} bytes, without control characters");
            return Err(JobError::fatal(format!("`subject` must be one line {rule}")));
        }
        Ok(())
    }
}

/// Ends each line with CR and LF: a server that accepts one of them alone as a line end could read
/// commands where others read text. lettre would also need n² steps for this.
fn lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => {
                letters.next_if_eq(&'\n');
                lines.push_str("\r\n");
            }
            '\n' => lines.push_str("\r\n"),
            letter => lines.push(letter),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(payload: &serde_json::Value) -> Result<String, JobError> {
        let sender = Some("Queue <queue@shop.example>".parse().unwrap());
        let allowed = Allowed { sender, ..Allowed::default() };
        let (message, _) = message(payload.to_string().as_bytes(), &allowed, job())?;
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
    fn s6_lists_and_texts_are_counted_before_one_address_is_read() {
        // None of these is an address: code that read one before the count would report that.
        let none = |count: usize| vec!["none"; count];
        let mail = |field: &str, value: serde_json::Value| {
            let mut payload =
                serde_json::json!({"to": "a@example.org", "subject": "s", "text": "t"});
            payload[field] = value;
            written(&payload)
        };
        for (field, value, said) in [
            ("reply_to", none(11).into(), "`reply_to` must have at most 10 addresses"),
            ("cc", none(100).into(), "1 to 100 addresses"),
            ("subject", "s".repeat(999).into(), "of at most 998 bytes"),
            ("from", "a".repeat(513).into(), "`from` has an address of more than 512 bytes"),
            ("reply_to", "a".repeat(513).into(), "`reply_to` has an address of more than"),
        ] {
            let error = mail(field, value).unwrap_err();
            assert!(error.is_fatal() && error.to_string().contains(said), "{field}: {error}");
        }
        assert!(mail("reply_to", vec!["a@example.org"; 10].into()).is_ok());
        assert!(mail("subject", "s".repeat(998).into()).is_ok());
    }

    #[test]
    fn s8_every_line_ends_by_cr_and_lf_and_neither_stands_alone() {
        let text = "a\r.\rMAIL FROM:<evil@example.org>\n.\n\rb\r\n\r\r\nc\n";
        for field in ["text", "html"] {
            let mut payload = serde_json::json!({"to": "a@example.org", "subject": "s"});
            payload[field] = text.into();
            let written = written(&payload).unwrap();
            let bare = written.replace("\r\n", "");
            assert!(!bare.contains(['\r', '\n']), "{written:?}");
            let ends = "\r\n.\r\n\r\nb\r\n\r\n\r\nc\r\n";
            assert!(written.contains(ends), "{written:?}");
        }
    }

    #[test]
    fn what_is_no_mail_is_refused_by_field_and_a_missing_sender_may_yet_be_set() {
        let many: Vec<String> = (0..101).map(|n| format!("a{n}@example.org")).collect();
        for (payload, said) in [
            (serde_json::json!({"to": "a@b.c", "subject": "s"}), "`text`, `html`, or both"),
            (serde_json::json!({"to": "ada", "subject": "s", "text": "t"}), "`to` has an invalid"),
            (serde_json::json!({"to": [], "subject": "s", "text": "t"}), "1 to 100"),
            (serde_json::json!({"to": many, "subject": "s", "text": "t"}), "1 to 100"),
        ] {
            let error = written(&payload).unwrap_err();
            assert!(error.is_fatal() && error.to_string().contains(said), "{error}");
        }
        for (payload, said) in [
            (serde_json::json!({"subject": "s", "text": "t"}), "missing field `to`"),
            (serde_json::json!({"to": "a@b.c", "text": "t"}), "missing field `subject`"),
            (serde_json::json!({"to": "a@b.c", "subjct": "s"}), "unknown field `subjct`"),
        ] {
            let error = written(&payload).unwrap_err();
            assert!(error.is_undecodable() && error.to_string().contains(said), "{error}");
        }
        let error =
            message(br#"{"to": "a@b.c", "subject": "s", "text": "t"}"#, &Allowed::default(), job());
        let error = error.err().unwrap();
        assert!(!error.is_fatal() && error.to_string().contains("SMTP_FROM"), "{error}");
    }
}
