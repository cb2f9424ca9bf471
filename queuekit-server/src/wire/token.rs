//! The lease token that HTTP clients hold. Before the lease it carries what the delay of a retry
//! depends on, so that a nack does not read the job: a job may be large, and forged tokens may name
//! it a thousand times.
//!
//! `ATTEMPT~LEASE` or `ATTEMPT.POLICY~LEASE`: POLICY is that of the job's subscription. A client
//! that alters them chooses its own delay, which `delay_ms` allows it to do anyway.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use queuekit::jobs::LeaseToken;
use queuekit::store::Lease;
use queuekit::store::event::retry_of_delivery;
use queuekit::{Error, RetryPolicy};

/// More than the longest token has: a name of 128 bytes, numbers, and a policy of 256 bytes in
/// base64.
const MOST_BYTES: usize = 1024;

/// A lease, and when its job is tried again.
#[derive(Debug)]
pub(crate) struct TokenBody {
    pub(crate) lease: LeaseToken,
    attempt: u32,
    retry: Option<RetryPolicy>,
}

impl TokenBody {
    /// The text for a client.
    pub(crate) fn text_of(lease: &Lease) -> String {
        let (attempt, token) = (lease.attempt, lease.token.to_secret_string());
        let retry = retry_of_delivery(&lease.token.queue, &lease.metadata);
        match retry.and_then(|retry| retry.written()) {
            Some(retry) => format!("{attempt}.{}~{token}", URL_SAFE_NO_PAD.encode(retry)),
            None => format!("{attempt}~{token}"),
        }
    }

    /// Reads the text. A token from the Rust library is a lease alone: its `lease_seq` stands in
    /// for the attempt.
    ///
    /// # Errors
    /// `Invalid` if it is not a token.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        if text.len() > MOST_BYTES {
            let got = format!("{} bytes", text.len());
            return Err(Error::invalid("token", "a token from a reserve", got));
        }
        let (head, lease) = match text.split_once('~') {
            Some((head, lease)) if lease.matches('~').count() == 3 => (head, lease.parse()?),
            _ => return text.parse().map(Self::alone),
        };
        let (attempt, retry) = head.split_once('.').unwrap_or((head, ""));
        let retry = URL_SAFE_NO_PAD.decode(retry).unwrap_or_default();
        let retry = std::str::from_utf8(&retry).ok().and_then(RetryPolicy::read);
        let attempt = attempt
            .parse()
            .map_err(|_| Error::invalid("token", "a token from a reserve", "no attempt"))?;
        Ok(Self { lease, attempt, retry })
    }

    fn alone(lease: LeaseToken) -> Self {
        let attempt = u32::try_from(lease.lease_seq).unwrap_or(u32::MAX);
        Self { lease, attempt, retry: None }
    }

    /// How long the job waits after this run failed: as its subscription says, or the default
    /// policy.
    pub(crate) fn delay(&self, chance: f64) -> Duration {
        let retry = self.retry.as_ref().unwrap_or(&RetryPolicy::DEFAULT);
        retry.delay(self.attempt.max(1), chance)
    }
}

#[cfg(test)]
mod tests {
    use queuekit::jobs::Kind;
    use queuekit::store::Nonce;
    use queuekit::{JobId, QueueName};

    use super::*;

    fn lease(queue: &str, attempt: u32, retry: Option<&str>) -> Lease {
        let queue = QueueName::new(queue).unwrap();
        let id = JobId::generate(&queue, queuekit::Timestamp::default());
        let nonce = Nonce::from_bytes([0xab; 16]);
        let token = LeaseToken { queue, id, lease_seq: 3, nonce };
        let mut lease = Lease::new(token, Kind::new("t").unwrap(), Default::default());
        lease.attempt = attempt;
        if let Some(retry) = retry {
            lease.metadata = serde_json::from_value(serde_json::json!({"queuekit.retry": retry}))
                .expect("metadata");
        }
        lease
    }

    #[test]
    fn r3_1_a_token_tells_its_lease_and_the_delay_of_a_retry() {
        let seconds = Duration::from_secs;
        for (queue, attempt, retry, wanted) in [
            ("default", 1, None, seconds(1)),
            ("default", 4, None, seconds(8)),
            ("default", 4, Some("fixed 60000"), seconds(8)),
            ("event.mailer", 2, Some("list 1000 7000 9000"), seconds(7)),
            ("event.mailer", 2, None, seconds(2)),
        ] {
            let lease = lease(queue, attempt, retry);
            let read = TokenBody::read(&TokenBody::text_of(&lease)).unwrap();
            assert_eq!((read.delay(0.5), read.lease), (wanted, lease.token), "{queue} {retry:?}");
        }
    }

    /// Guard: a token is not decoded before its length is known.
    #[test]
    fn s6_a_token_has_room_for_the_longest_name_and_policy_and_for_no_more() {
        let queue = format!("event.{}", "q".repeat(122));
        let policy = "list".to_owned() + &" 1".repeat(126);
        let mut lease = lease(&queue, u32::MAX, Some(&policy));
        lease.token.lease_seq = u64::MAX;
        let text = TokenBody::text_of(&lease);
        assert_eq!(TokenBody::read(&text).unwrap().lease, lease.token);
        let policy = URL_SAFE_NO_PAD.encode("list 1 ".to_owned() + &"1 ".repeat(500));
        let long = format!("1.{policy}~{}", lease.token.to_secret_string());
        assert!(TokenBody::read(&long).is_err());
    }

    #[test]
    fn r3_1_a_token_of_a_library_is_read_and_an_altered_one_is_no_panic() {
        let text = lease("default", 1, None).token.to_secret_string();
        assert_eq!(TokenBody::read(&text).unwrap().delay(0.5), Duration::from_secs(4));
        for head in ["1.!", "1.", "0"] {
            let read = TokenBody::read(&format!("{head}~{text}")).unwrap();
            assert_eq!(read.delay(0.5), Duration::from_secs(1), "{head}");
        }
        for bad in ["", "~", "~~", "1~2~3~4~5", &format!("1~1~{text}"), &format!("{text}~")] {
            assert!(TokenBody::read(bad).is_err(), "{bad}");
        }
        for head in ["", "x", "-1", "4294967296"] {
            assert!(TokenBody::read(&format!("{head}~{text}")).is_err(), "{head}");
        }
    }
}
