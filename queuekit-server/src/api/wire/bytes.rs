//! Bytes that stand in JSON as they are if they are JSON, and as base64 if they are not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use queuekit::Bytes;
use serde_json::value::RawValue;

use crate::http::Problem;

/// What a client gave: any JSON value, or any bytes.
pub(crate) struct Given {
    pub(crate) json: Option<Box<RawValue>>,
    pub(crate) base64: Option<String>,
}

impl Given {
    /// The bytes as they are to be stored; none if nothing was given.
    ///
    /// # Errors
    /// 422 if both were given, or if it is no base64.
    pub(crate) fn bytes(self, field: &'static str) -> Result<Option<Bytes>, Problem> {
        match (self.json, self.base64) {
            (None, None) => Ok(None),
            (Some(json), None) => Ok(Some(Bytes::from(Box::<str>::from(json).into_string()))),
            (None, Some(text)) => {
                let decoded = STANDARD.decode(text).map_err(|error| {
                    Problem::invalid(field, format!("{field}_base64 is no base64: {error}"))
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

/// Stored bytes as they are shown: exactly one of the two is there.
pub(crate) struct Shown<'a> {
    pub(crate) json: Option<&'a RawValue>,
    pub(crate) base64: Option<String>,
}

impl<'a> Shown<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let json = serde_json::from_slice::<&RawValue>(bytes).ok();
        // White space around it is not part of a value, and would be lost.
        match json.filter(|json| json.get().len() == bytes.len()) {
            Some(json) => Self { json: Some(json), base64: None },
            None => Self { json: None, base64: Some(STANDARD.encode(bytes)) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_out_byte_for_byte_and_all_else_as_base64() {
        for json in ["9007199254740993", r#"{"a" : 1e400,"a":[]}"#, r#""\ud800""#, "null"] {
            assert_eq!(Shown::of(json.as_bytes()).json.unwrap().get(), json);
        }
        for other in ["", " 1", "1\n", "{", "\u{0}", "NaN"] {
            let shown = Shown::of(other.as_bytes());
            assert!(shown.json.is_none(), "{other:?}");
            let given = Given { json: None, base64: shown.base64 };
            assert_eq!(given.bytes("payload").unwrap().unwrap(), other.as_bytes());
        }
        assert!(Shown::of(&[0xff]).json.is_none());
    }
}
