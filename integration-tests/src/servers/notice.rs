//! What is told on stderr, past the capture of the test harness.

use std::io::Write;

use super::Result;
use super::environment::{variable, words};

/// Straight to stderr: the test harness captures what `eprintln!` prints in a test that passes.
pub(super) fn tell(line: &str) {
    // Nobody is left to tell if this fails.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Something is not here, so tests will be skipped: told, or a failure if it is required.
pub(super) fn missing(what: &str, remedy: &str) -> Result<()> {
    if is_required(what, variable("QUEUEKIT_TEST_REQUIRE").as_deref()) {
        return Err(format!("QUEUEKIT_TEST_REQUIRE has `{what}`, which is not here: {remedy}"));
    }
    tell(&format!("SKIPPED tests that need `{what}`, which is not here: {remedy}"));
    Ok(())
}

fn is_required(what: &str, list: Option<&str>) -> bool {
    list.is_some_and(|list| words(list).any(|word| word == what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_is_required() {
        assert!(!is_required("postgres", None));
        assert!(is_required("postgres", Some("redis, postgres")));
        assert!(!is_required("postgres", Some("postgres-local")));
    }
}
