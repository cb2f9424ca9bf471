//! What the result of a handler is stored as.

use queuekit_core::Bytes;
use serde::Serialize;

use crate::run::job_error::{JobError, JobResult};

/// The bytes that are stored as a job's result; nothing for `()`.
pub(super) fn encode<R: Serialize>(output: &R) -> JobResult<Option<Bytes>> {
    let unit = size_of::<R>() == 0 && {
        let mut start = [0; 4];
        let mut rest = &mut start[..];
        serde_json::to_writer(&mut rest, output).is_ok() && &start == b"null"
    };
    if unit {
        return Ok(None);
    }
    let json = serde_json::to_vec(output).map_err(|error| {
        JobError::retry(format!("the result cannot be written as JSON: {error}"))
    })?;
    Ok(Some(json.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    enum One {
        Only,
    }

    #[test]
    fn unit_stores_nothing_and_everything_else_is_json() {
        let json = |bytes: Option<Bytes>| bytes.map(|b| String::from_utf8(b.to_vec()).unwrap());
        assert_eq!(json(encode(&()).unwrap()), None);
        assert_eq!(json(encode(&7).unwrap()).as_deref(), Some("7"));
        assert_eq!(json(encode(&None::<u8>).unwrap()).as_deref(), Some("null"));
        assert_eq!(json(encode(&One::Only).unwrap()).as_deref(), Some("\"Only\""));
    }
}
