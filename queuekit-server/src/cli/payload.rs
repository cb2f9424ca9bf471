//! JSON from a command line, a file or stdin.

use std::fs::File;
use std::io::Read;

use anyhow::{Context as _, Result};
use serde_json::value::RawValue;

use crate::error::Usage;

/// No store accepts more. The bound also ends the reading of an endless device.
const MOST_BYTES: u64 = 16 << 20;

/// The JSON of this flag, byte for byte except for the white space around it.
pub(crate) fn read(flag: &str, given: &str) -> Result<Box<RawValue>> {
    let (from, text) = match given.strip_prefix('@') {
        Some(path) => {
            let file = File::open(path);
            let file = file.with_context(|| format!("cannot read the file {path}"))?;
            (path, bounded(path, file)?)
        }
        None if given == "-" => ("stdin", bounded("stdin", std::io::stdin())?),
        None => (flag, given.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        Usage::error(format!(
            "{from} is not JSON: {error}; put texts in double quotes, and all of it in single \
             quotes for the shell: {flag} '{{\"name\": \"Ada\"}}'"
        ))
    })
}

fn bounded(from: &str, read: impl Read) -> Result<String> {
    let mut text = String::new();
    let mut read = read.take(MOST_BYTES + 1);
    read.read_to_string(&mut text).with_context(|| format!("cannot read {from}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Usage::error(format!(
            "{from} has more than {MOST_BYTES} bytes, the most that a store accepts"
        )));
    }
    Ok(text)
}
