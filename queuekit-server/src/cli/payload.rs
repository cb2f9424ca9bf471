//! JSON that is given in a command line, a file or stdin.

use std::io::Read;

use anyhow::{Context as _, Result};
use serde_json::value::RawValue;

use crate::cli::Usage;

/// The JSON that was given by this flag, byte for byte but for the space around it.
pub(crate) fn read(flag: &str, given: &str) -> Result<Box<RawValue>> {
    let (from, text) = match given.strip_prefix('@') {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            (path, read.with_context(|| format!("the file {path} cannot be read"))?)
        }
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
            ("stdin", text)
        }
        None => (flag, given.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| {
        Usage::error(format!(
            "what {from} holds is no JSON: {error}; text stands in double quotes, and a shell \
             wants single ones around it all: {flag} '{{\"name\": \"Ada\"}}'"
        ))
    })
}
