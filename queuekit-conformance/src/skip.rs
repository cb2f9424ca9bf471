//! Tests that cannot run on this machine: they print a line, and fail if they are required.

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Once;

use crate::kit::SLACK;

/// Lists what must be available, separated by commas. A test that would be skipped because it is
/// missing fails.
const REQUIRE: &str = "QUEUEKIT_TEST_REQUIRE";

/// Says that a test was skipped: straight to stderr, because the test harness captures what
/// `eprintln!` prints in a test that passes. `cargo xtask` counts these lines.
pub fn skip(test: &str, why: &str) {
    tell(&format!("SKIPPED {test}: {why}"));
}

/// Finds a program for a test, by its name in `QUEUEKIT_TEST_REQUIRE`. If it is not in the path,
/// the test is skipped and must return.
///
/// # Panics
/// If it is required and not here.
pub fn program(test: &str, name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|place| place.join(name)).find(|file| file.is_file());
    if found.is_none() {
        lacks(test, name);
    }
    found
}

/// Skips a test, because something with this name in `QUEUEKIT_TEST_REQUIRE` is missing.
///
/// # Panics
/// If it is required.
pub fn lacks(test: &str, what: &str) {
    if let Err(error) = missing(what, &format!("{test} needs it")) {
        panic!("{error}");
    }
    skip(test, &format!("`{what}` is not here"));
}

/// Says once that bounds of time are not tested to the millisecond.
pub(crate) fn tell_of_slack() {
    static TOLD: Once = Once::new();
    let why = format!(
        "a store's clock does not stand (`Expect::clock_stands`); they have a slack of {SLACK:?}"
    );
    TOLD.call_once(|| skip("bounds of time, to the millisecond", &why));
}

/// Prints on stderr that something is missing.
///
/// # Errors
/// If `QUEUEKIT_TEST_REQUIRE` names it.
pub fn missing(what: &str, remedy: &str) -> Result<(), String> {
    if is_required(what, &env::var(REQUIRE).unwrap_or_default()) {
        return Err(format!("{REQUIRE} has `{what}`, which is not here: {remedy}"));
    }
    tell(&format!("NOT HERE: `{what}`: {remedy}"));
    Ok(())
}

/// Writes a line to stderr, also where tests are captured.
pub fn tell(line: &str) {
    // Nobody is left to tell if this fails.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

fn is_required(what: &str, list: &str) -> bool {
    list.split(',').any(|word| word.trim() == what)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::this_test;

    #[test]
    fn only_what_is_named_is_required() {
        assert!(!is_required("postgres", ""));
        assert!(is_required("postgres", "redis, postgres"));
        assert!(!is_required("postgres", "postgres-local"));
    }

    const ABSENT: &str = "no-such-program";

    #[test]
    fn a_program_that_is_here_is_found() {
        let found = program(this_test!(), "sh").expect("every machine for tests has a shell");
        assert!(found.is_file(), "{found:?}");
    }

    /// Starts itself again with and without a program in the list of what is required.
    #[test]
    fn a_test_that_lacks_a_program_is_skipped_and_fails_if_that_is_required() {
        if env::var_os("QUEUEKIT_TEST_ALONE").is_some() {
            assert_eq!(program(this_test!(), ABSENT), None);
            return;
        }
        let lacks = |required: &str| {
            let mut run = Command::new(env::current_exe().unwrap());
            run.args([this_test!(), "--exact"]).env("QUEUEKIT_TEST_ALONE", "1");
            let output = run.env(REQUIRE, required).output().unwrap();
            (output.status.success(), String::from_utf8(output.stderr).unwrap())
        };
        let (passed, told) = lacks("another");
        assert!(passed && told.contains("SKIPPED skip::tests::a_test_that_lacks"), "{told}");
        let (passed, told) = lacks(&format!("another,{ABSENT}"));
        assert!(!passed && !told.contains("SKIPPED"), "{told}");
    }
}
