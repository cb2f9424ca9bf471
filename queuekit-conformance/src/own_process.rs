use std::process::{Command, Stdio};

/// The variable that is set for a process started for one test.
const ALONE: &str = "QUEUEKIT_TEST_ALONE";

/// Whether this process runs only this test, whose name is that of
/// [`this_test!`](crate::this_test). If it runs others, it starts itself again for this one, waits
/// for its end, and returns false: then the test is over. For tests that look at a whole process,
/// such as its threads.
///
/// # Panics
/// If the test fails there, or the program does not start again.
pub fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let status = Command::new(program)
        .args([test, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .status()
        .expect("this program starts again");
    assert!(status.success(), "{test} failed in a process of its own, see above: {status}");
    false
}
