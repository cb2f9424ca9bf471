//! The description of the API is true: what it says is tried out on the running server.

use std::path::Path;
use std::process::Command;

use queuekit_conformance::{program, this_test};

use crate::common::{Server, Store};

/// Removing what the others look at goes apart.
const WITHOUT_REMOVAL: &[&str] = &["--exclude-method", "DELETE"];
const ONLY_REMOVAL: &[&str] = &["--include-method", "DELETE"];

#[test]
fn the_server_does_what_its_description_says() {
    let Some(program) = program(this_test!(), "schemathesis") else { return };
    holds_what_it_says(&program, "memory", "examples,coverage,fuzzing", WITHOUT_REMOVAL);
    holds_what_it_says(&program, "memory", "coverage,fuzzing", ONLY_REMOVAL);
}

/// The description is that of every store, so a daily run tries it on one.
mod over_sqlite {
    use super::*;

    #[test]
    fn the_server_does_what_its_description_says() {
        let Some(program) = program(this_test!(), "schemathesis") else { return };
        holds_what_it_says(&program, "sqlite", "examples,coverage,fuzzing", WITHOUT_REMOVAL);
        holds_what_it_says(&program, "sqlite", "coverage,fuzzing", ONLY_REMOVAL);
    }
}

/// `pip install schemathesis` brings its program, `schemathesis`.
fn holds_what_it_says(program: &Path, store: &str, phases: &str, methods: &[&str]) {
    let store_of = Store::of(store).expect("a store");
    let environment = store_of.directory.path().join(".env");
    std::fs::write(environment, "QUEUEKIT_API_KEY=marker-secret\n").expect("a file");
    let server = Server::start(store_of, &[]);
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/http/schemathesis.toml");
    let ran = Command::new(program)
        .current_dir(server.store.directory.path())
        .arg("--config-file")
        .arg(config)
        .args(["run", &format!("{}/openapi.json", server.url), "--phases", phases])
        .args(["--checks", "all", "-n", "30", "--seed", "1", "--request-timeout", "70"])
        .args(methods)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{store}, {phases}:\n{told}");
    println!("{}", told.lines().last().unwrap_or_default());
}
