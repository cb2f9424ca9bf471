//! Maps the answer of a receiver to the outcome of the job.

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::http::response::Parts;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use queuekit::store::{Clock, SystemClock};
use queuekit::{Bytes, JobError, JobResult};
use serde::Serialize;

use super::credential::{hide, longest};
use super::target::Target;

/// Longest delay that a receiver may ask for.
const PUT_OFF_MOST: Duration = Duration::from_secs(24 * 3600);
/// How much of the body an error contains.
const EXCERPT: usize = 200;

/// An answer with the part of its body that is kept.
pub(super) struct Answer {
    target: Target,
    status: StatusCode,
    /// When the receiver asks to retry, if it does.
    put_off: Option<Duration>,
    body: String,
    cut: bool,
}

/// The result of a job, from a successful answer.
#[derive(Serialize)]
struct Delivered<'a> {
    status: u16,
    #[serde(skip_serializing_if = "str::is_empty")]
    body: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Answer {
    /// Removes these secrets from the answer.
    pub(super) fn new(
        target: Target,
        head: Parts,
        body: &[u8],
        cut: bool,
        secrets: &[HeaderValue],
    ) -> Self {
        // Replace control characters: JSON would need six bytes for each.
        let shown = |c: char| if c.is_control() && !"\n\r\t".contains(c) { '\u{fffd}' } else { c };
        let mut body: String = String::from_utf8_lossy(body).chars().map(shown).collect();
        hide(secrets, &mut body);
        // The end of a body that was cut may be the beginning of a secret.
        if cut {
            let kept = body.chars().count().saturating_sub(longest(secrets));
            body = body.chars().take(kept).collect();
        }
        Self { target, status: head.status, put_off: put_off(&head.headers), body, cut }
    }

    /// 2xx is success. Temporary errors are retried, when the receiver asks for it; errors that
    /// would repeat are not.
    pub(super) fn outcome(self) -> JobResult<Option<Bytes>> {
        if self.status.is_success() {
            let (status, body) = (self.status.as_u16(), self.body.as_str());
            let stored = serde_json::to_vec(&Delivered { status, body, truncated: self.cut })?;
            return Ok(Some(stored.into()));
        }
        // 408 and 425 say that this attempt came too late or too early, 429 that there were too
        // many, and 5xx that the receiver failed. All other answers would come again.
        let is_passing = matches!(self.status.as_u16(), 408 | 425 | 429 | 500..=599);
        match self.put_off {
            _ if !is_passing => Err(JobError::fatal(self.told())),
            Some(put_off) => Err(JobError::retry_after(self.told(), put_off)),
            None => Err(JobError::retry(self.told())),
        }
    }

    fn told(&self) -> String {
        let words = self.body.split_whitespace().collect::<Vec<_>>().join(" ");
        let excerpt: String = words.chars().take(EXCERPT).collect();
        let joint = if excerpt.is_empty() { "" } else { ": " };
        format!("{} answered {}{joint}{excerpt}", self.target, self.status)
    }
}

/// The value of `Retry-After`: seconds, or a time by the receiver's clock if it sends one.
fn put_off(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let date = |text: &str| DateTimeParser::new().parse_timestamp(text).ok();
    let after = text(RETRY_AFTER)?;
    let wait = match after.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            // Both times by one clock: that of the receiver may be minutes off.
            let now = match text(DATE).and_then(date) {
                Some(now) => now,
                None => {
                    Timestamp::from_millisecond(SystemClock::default().now().as_millis()).ok()?
                }
            };
            Duration::try_from(now.until(date(after)?).ok()?).unwrap_or_default()
        }
    };
    Some(wait.min(PUT_OFF_MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut response = hyper::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let head = response.body(()).unwrap().into_parts().0;
        Answer::new(Target::parse("https://a.example/hunter2").unwrap(), head, body, false, &[])
    }

    #[test]
    fn success_keeps_the_body_within_what_a_store_takes() {
        let stored = answer(204, &[], b"").outcome().unwrap().unwrap();
        assert_eq!(stored, r#"{"status":204}"#);
        for byte in [b'\0', b'"', b'\n', 0x1b, 0xff, 0x7f] {
            let stored = answer(200, &[], &vec![byte; 16 * 1024]).outcome().unwrap().unwrap();
            assert!(stored.len() < 64 * 1024, "{byte}: {}", stored.len());
        }
    }

    #[test]
    fn s9_no_part_of_a_credential_is_kept_where_an_answer_is_cut() {
        let secrets = [HeaderValue::from_static("hunter2")];
        let head = || hyper::Response::builder().body(()).unwrap().into_parts().0;
        let target = || Target::parse("https://a.example").unwrap();
        let whole = Answer::new(target(), head(), b"a hunter2 hunt", false, &secrets);
        assert_eq!(whole.body, "a *** hunt");
        for (body, kept) in [
            (&b"a hunter2 and so on, and hunter"[..], "a *** and so on, and"),
            (b"a hunter2 and so on, hunter2an", "a *** and so on"),
        ] {
            let cut = Answer::new(target(), head(), body, true, &secrets).body;
            assert!(cut.starts_with(kept) && !cut.contains("hu"), "{cut}");
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_will_not_is_dead_lettered() {
        for status in [408, 425, 429, 500, 502, 503, 504, 599] {
            assert!(!answer(status, &[], b"").outcome().unwrap_err().is_fatal(), "{status}");
        }
        for status in [300, 304, 400, 401, 403, 404, 405, 409, 410, 413, 422, 451] {
            assert!(answer(status, &[], b"").outcome().unwrap_err().is_fatal(), "{status}");
        }
        let error = answer(410, &[], b"<h1>\n  gone</h1>").outcome().unwrap_err().to_string();
        assert_eq!(error, "https://a.example answered 410 Gone: <h1> gone</h1>");
    }

    #[test]
    fn a_receiver_says_when_to_come_again_within_bounds() {
        let put_off = |headers: &[(&str, &str)]| answer(429, headers, b"").put_off;
        let seconds = Duration::from_secs;
        assert_eq!(put_off(&[("retry-after", "120")]), Some(seconds(120)));
        assert_eq!(put_off(&[("retry-after", " 0 ")]), Some(Duration::ZERO));
        assert_eq!(put_off(&[("retry-after", "99999999999")]), Some(PUT_OFF_MOST));
        assert_eq!(put_off(&[("retry-after", "soon")]), None);
        assert_eq!(put_off(&[("retry-after", "-1")]), None);
        assert_eq!(put_off(&[]), None);
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            put_off(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date]),
            Some(seconds(30))
        );
        assert_eq!(
            put_off(&[("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT"), date]),
            Some(Duration::ZERO)
        );
        // By our clock it has long been.
        assert_eq!(
            put_off(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]),
            Some(Duration::ZERO)
        );
    }
}
