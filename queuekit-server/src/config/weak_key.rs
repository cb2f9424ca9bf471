//! Refuses API keys that are easy to guess.

use std::collections::HashSet;
use std::net::SocketAddr;

use anyhow::Result;

use crate::error::Usage;

/// Shortest key beyond loopback, in bytes.
const LEAST: usize = 16;
/// Fewest different bytes in it.
const VARIETY: usize = 6;
/// Placeholders of examples, with letters and digits only.
const PLACEHOLDERS: [&str; 6] =
    ["changeme", "changethis", "replaceme", "placeholder", "yourkey", "yourapikey"];

/// # Errors
/// If this key, which allows everything, is easy to guess, at an address that others can reach.
pub(super) fn refuse(key: Option<&str>, listen: SocketAddr) -> Result<()> {
    let Some(weakness) = key.and_then(|key| weakness(key.trim())) else { return Ok(()) };
    Err(Usage::error(format!(
        "QUEUEKIT_API_KEY {weakness}, and other machines can reach {listen}: anybody who guesses \
         it may do everything. Set it to a key that `queuekit key new` prints"
    )))
}

fn weakness(key: &str) -> Option<String> {
    let letters: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    if PLACEHOLDERS.iter().any(|placeholder| letters.contains(placeholder)) {
        return Some("is a placeholder from an example".to_owned());
    }
    if key.len() < LEAST {
        return Some(format!("has fewer than {LEAST} bytes"));
    }
    let variety = key.bytes().collect::<HashSet<_>>().len();
    (variety < VARIETY).then(|| format!("has only {variety} different characters"))
}
