//! The description of the API is true: what it says is tried out on the running server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says what it has found"
)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{Server, Store};

/// `pip install schemathesis`; `QUEUEKIT_TEST_SCHEMATHESIS` names its program if it is elsewhere.
#[test]
fn the_server_does_what_its_description_says() {
    let program = std::env::var("QUEUEKIT_TEST_SCHEMATHESIS").unwrap_or_else(|_| "st".to_owned());
    if Command::new(&program).arg("--version").output().is_err() {
        eprintln!("SKIPPED schemathesis: there is no {program}; pip install schemathesis");
        return;
    }
    // Removing what the others look at goes apart.
    for (store, phases, without) in [
        ("memory", "examples,coverage,fuzzing", &["--exclude-method", "DELETE"][..]),
        ("sqlite", "examples,coverage,fuzzing", &["--exclude-method", "DELETE"]),
        ("memory", "coverage,fuzzing", &["--include-method", "DELETE"]),
    ] {
        let store_of = Store::of(store).expect("a store");
        let environment = store_of.directory.path().join(".env");
        std::fs::write(environment, "QUEUEKIT_API_KEY=marker-secret\n").expect("a file");
        let server = Server::start(store_of, &[]);
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis.toml");
        let ran = Command::new(&program)
            .current_dir(server.store.directory.path())
            .arg("--config-file")
            .arg(config)
            .args(["run", &format!("{}/openapi.json", server.url), "--phases", phases])
            .args(["--checks", "all", "-n", "30", "--seed", "1", "--request-timeout", "70"])
            .args(without)
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{store}, {phases}:\n{told}");
        println!("{}", told.lines().last().unwrap_or_default());
    }
}
