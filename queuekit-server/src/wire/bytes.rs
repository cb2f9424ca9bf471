//! Bytes in JSON: as they are if the core says so, else as base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use queuekit::Bytes;
use queuekit::store::as_json;
use serde_json::value::RawValue;

use crate::web::Problem;

/// What a client sent: any JSON value, or any bytes.
pub(crate) struct GivenBytes {
    pub(crate) json: Option<Box<RawValue>>,
    pub(crate) base64: Option<String>,
}

impl GivenBytes {
    /// The bytes to store; `None` if nothing was sent.
    ///
    /// # Errors
    /// 422 if both were sent, or if it is not base64.
    pub(crate) fn bytes(self, field: &'static str) -> Result<Option<Bytes>, Problem> {
        match (self.json, self.base64) {
            (None, None) => Ok(None),
            (Some(json), None) => Ok(Some(Bytes::from(Box::<str>::from(json).into_string()))),
            (None, Some(text)) => {
                let decoded = STANDARD.decode(text).map_err(|error| {
                    Problem::invalid(field, format!("{field}_base64 is not base64: {error}"))
                })?;
                Ok(Some(decoded.into()))
            }
            (Some(_), Some(_)) => {
                let detail = format!("give {field} or {field}_base64, not both");
                Err(Problem::invalid(field, detail))
            }
        }
    }
}

/// Stored bytes in an answer: exactly one of both fields is set.
pub(crate) struct ShownBytes<'a> {
    pub(crate) json: Option<&'a RawValue>,
    pub(crate) base64: Option<String>,
}

impl<'a> ShownBytes<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        match as_json(bytes) {
            Some(json) => Self { json: Some(json), base64: None },
            None => Self { json: None, base64: Some(STANDARD.encode(bytes)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_in_base64_is_read_from_it() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        for other in ["", " 1", "1\n", "{", "\u{0}", "NaN", &deep] {
            let shown = ShownBytes::of(other.as_bytes());
            assert!(shown.json.is_none(), "{other:?}");
            let given = GivenBytes { json: None, base64: shown.base64 };
            assert_eq!(given.bytes("payload").unwrap().unwrap(), other.as_bytes());
        }
        assert_eq!(ShownBytes::of(b"1").json.unwrap().get(), "1");
    }
}
