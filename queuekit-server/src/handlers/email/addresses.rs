//! The addresses of a payload. Each list is counted before any address is parsed.

use lettre::message::Mailbox;
use queuekit::{JobError, JobResult};
use serde::Deserialize;

/// One address or a list, as in a payload.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Addresses {
    One(String),
    Many(Vec<String>),
}

/// Longest address with its name, in bytes.
const LENGTH: usize = 512;

impl Addresses {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(texts) => texts.len(),
        }
    }

    /// All addresses. The caller has counted them: writing n addresses to a header takes n² steps.
    ///
    /// # Errors
    /// If one is not an address; the error does not repeat it.
    pub(super) fn read(&self, field: &str) -> JobResult<Vec<Mailbox>> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        };
        texts.iter().map(|text| mailbox(field, text)).collect()
    }
}

/// # Errors
/// If it is not an address; the error does not repeat it.
pub(super) fn mailbox(field: &str, text: &str) -> JobResult<Mailbox> {
    if text.len() > LENGTH {
        return Err(JobError::fatal(format!(
            "`{field}` has an address of more than {LENGTH} bytes"
        )));
    }
    let parsed = text.parse().ok().filter(|_| !text.chars().any(char::is_control));
    let form = "write ada@example.org, or Ada <ada@example.org>";
    parsed.ok_or_else(|| JobError::fatal(format!("`{field}` has an invalid address; {form}")))
}

impl Default for Addresses {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}
