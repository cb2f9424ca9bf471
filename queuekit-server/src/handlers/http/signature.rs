//! Signatures of webhooks, as in Standard Webhooks (<https://www.standardwebhooks.com>), so that
//! receivers can verify the sender.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

/// One key, or several during a rotation.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct SigningKeys(Vec<Hmac<Sha256>>);

const RULE: &str = "a webhook secret must be `whsec_` and 24 to 64 bytes in base64, such as from \
                    `openssl rand -base64 32`; to rotate it, set two, separated by a space";

impl SigningKeys {
    /// The value of `webhook-signature`.
    pub(super) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let signature = |key: &Hmac<Sha256>| {
            let mut mac = key.clone();
            // The id and the time are signed too, so that a receiver can refuse a copy that is sent
            // again.
            mac.update(format!("{id}.{seconds}.").as_bytes());
            mac.update(body);
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        };
        self.0.iter().map(signature).collect::<Vec<_>>().join(" ")
    }
}

impl FromStr for SigningKeys {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let key = |text: &str| {
            let bytes = STANDARD.decode(text.strip_prefix("whsec_")?).ok()?;
            // The bounds of Standard Webhooks.
            (24..=64).contains(&bytes.len()).then_some(())?;
            Hmac::new_from_slice(&bytes).ok()
        };
        let keys = text.split_whitespace().map(key).collect::<Option<Vec<_>>>();
        keys.filter(|keys| !keys.is_empty()).map(Self).ok_or(RULE)
    }
}

impl TryFrom<String> for SigningKeys {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        // The example of the specification's libraries.
        let keys: SigningKeys = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let signed =
            keys.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_keys_sign_both() {
        let one = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let two = format!("whsec_{}", STANDARD.encode([7; 32]));
        let sign = |text: &str| text.parse::<SigningKeys>().unwrap().sign("a", 1, b"b");
        assert_eq!(sign(&format!("{one} {two}")), format!("{} {}", sign(one), sign(&two)));
    }

    #[test]
    fn a_secret_that_is_short_or_no_base64_is_refused_and_not_repeated() {
        for text in [
            "",
            "hunter2",
            "whsec_hunter2",
            "whsec_aHVudGVyMg==",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            let error = text.parse::<SigningKeys>().err().expect(text);
            assert!(error.contains("openssl rand") && !error.contains("hunter2"), "{error}");
        }
    }
}
