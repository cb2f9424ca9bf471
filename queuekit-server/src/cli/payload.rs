//! JSON that is given in a command line, a file or stdin.

use std::fs::File;
use std::io::Read;

use anyhow::{Context as _, Result};
use serde_json::value::RawValue;

use crate::cli::Usage;

/// No store takes more, and a device has no end.
const MOST_BYTES: u64 = 16 << 20;

/// The JSON that was given by this flag, byte for byte but for the space around it.
pub(crate) fn read(flag: &str, given: &str) -> Result<Box<RawValue>> {
    let (from, text) = match given.strip_prefix('@') {
        Some(path) => {
            let file = File::open(path);
            let file = file.with_context(|| format!("the file {path} cannot be read"))?;
            (path, bounded(path, file)?)
        }
        None if given == "-" => ("stdin", bounded("stdin", std::io::stdin())?),
        None => (flag, given.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        Usage::error(format!(
            "what {from} holds is no JSON: {error}; text stands in double quotes, and a shell \
             wants single ones around it all: {flag} '{{\"name\": \"Ada\"}}'"
        ))
    })
}

fn bounded(from: &str, read: impl Read) -> Result<String> {
    let mut text = String::new();
    let mut read = read.take(MOST_BYTES + 1);
    read.read_to_string(&mut text).with_context(|| format!("{from} cannot be read"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Usage::error(format!(
            "what {from} holds is larger than the {MOST_BYTES} bytes that a store takes at most"
        )));
    }
    Ok(text)
}
