//! Looking changes nothing: only `serve`, `work`, `dev` and `migrate up` change a schema.

use queuekit::sqlite::rusqlite::Connection;
use queuekit_conformance::{skip, this_test};

use crate::commands::stored_data::Inside;
use crate::common::Store;
use crate::sandbox::Sandbox;

/// Commands that show or change what a store has.
const EXISTING: [&[&str]; 9] = [
    &["job", "list"],
    &["queue", "list"],
    CHANGING,
    &["dlq", "list"],
    &["cron", "list"],
    &["event", "list"],
    &["subscription", "list"],
    &["worker", "list"],
    &["stats"],
];
/// The one of those that changes something.
const CHANGING: &[&str] = &["queue", "pause", "a"];
/// They store something.
const STORING: [&[&str]; 3] =
    [&["enqueue", "echo"], &["queue", "set", "a", "--order", "fair"], &["bench", "--jobs", "1"]];
/// They tell of the store itself.
const TELLING: [&[&str]; 4] =
    [&["doctor"], &["migrate", "status"], &["migrate", "plan"], &["migrate", "sql", "--pending"]];

fn stored(sandbox: &Sandbox) -> Option<u64> {
    sandbox.run(&["migrate", "status", "--json"]).json()["stored"].as_u64()
}

#[test]
fn an_empty_server_stays_empty() {
    for kind in ["postgres", "redis"] {
        let Some(store) = Store::of(kind) else {
            skip("an_empty_server_stays_empty", &format!("there is no {kind}"));
            continue;
        };
        let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
        let inside = Inside::of(&store);
        let before = inside.dump();
        for command in EXISTING.iter().chain(&STORING) {
            sandbox.run(command).failed(3, &["no queuekit here", "`queuekit migrate up`"]);
            assert_eq!(inside.dump(), before, "{kind}: {command:?}");
        }
        for command in TELLING {
            sandbox.run(command);
            assert_eq!(inside.dump(), before, "{kind}: {command:?}");
        }
        assert_eq!(stored(&sandbox), Some(0), "{kind}");
        // What is made is seen.
        sandbox.run(&["migrate", "up"]).ok();
        assert_ne!(inside.dump(), before, "{kind}");
    }
}

#[test]
fn a_store_that_is_up_to_date_stays_as_it_is() {
    let more: [&[&str]; 4] = [
        &["doctor", "--production"],
        &["queue", "show", "a"],
        &["job", "list", "queue:a", "--json"],
        &["audit"],
    ];
    for kind in ["sqlite", "postgres", "redis"] {
        let Some(store) = Store::of(kind) else {
            skip(this_test!(), &format!("there is no {kind}"));
            continue;
        };
        let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
        sandbox.run(&["migrate", "up"]).ok();
        sandbox.run(&["enqueue", "echo", "--queue", "a"]).ok();
        let inside = Inside::of(&store);
        let before = inside.dump();
        let looking = EXISTING.iter().filter(|command| **command != CHANGING);
        for command in looking.chain(&TELLING).chain(&more) {
            let ran = sandbox.run(command);
            // The servers of tests do not sync, which `doctor` finds.
            assert!(ran.code == 0 || command[0] == "doctor", "{kind}: {command:?}: {ran:?}");
            assert!(inside.dump() == before, "{kind}: {command:?}");
        }
        sandbox.run(CHANGING).ok();
        assert!(inside.dump() != before, "{kind}: what is changed is seen");
    }
}

/// Of Redis there is one version so far.
#[test]
fn an_older_schema_of_postgres_stays_as_it_is() {
    let Some(store) = Store::of("postgres") else {
        return skip(this_test!(), "there is no postgres");
    };
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
    sandbox.run(&["migrate", "up"]).ok();
    sandbox.run(&["enqueue", "echo", "--queue", "a"]).ok();
    let newest = stored(&sandbox).unwrap();
    let inside = Inside::of(&store);
    inside.says(&format!("DELETE FROM queuekit.migrations WHERE version = {newest}"));
    let before = inside.dump();
    for command in EXISTING.iter().chain(&STORING) {
        sandbox.run(command).failed(1, &["run `queuekit migrate up`"]);
        assert_eq!(inside.dump(), before, "{command:?}");
    }
    for command in TELLING {
        sandbox.run(command);
        assert_eq!(inside.dump(), before, "{command:?}");
    }
}

#[test]
fn an_older_schema_stays_older() {
    let sandbox = Sandbox::new();
    sandbox.run(&["migrate", "up"]).ok();
    let conn = Connection::open(sandbox.path("queuekit.db")).unwrap();
    let older = "UPDATE queuekit_migrations SET version = 1, compatible_from = 1";
    conn.execute(older, []).unwrap();
    drop(conn);
    let before = std::fs::read(sandbox.path("queuekit.db")).unwrap();
    for command in EXISTING.iter().chain(&STORING) {
        sandbox.run(command).failed(1, &["was never published"]);
    }
    for command in TELLING {
        sandbox.run(command);
    }
    assert_eq!(std::fs::read(sandbox.path("queuekit.db")).unwrap(), before);
}

#[test]
fn an_argument_that_is_no_text_is_refused_and_a_device_is_not_read_to_its_end() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let sandbox = Sandbox::new();
    let wrong = sandbox.command(&[]).arg(OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    sandbox.run(&["enqueue", "echo", "--payload", "@/dev/zero"]).failed(2, &["more than 16777216"]);
    sandbox.run(&["stats", "--config", "/dev/zero"]).failed(1, &["is it a settings file?"]);
    for name in [".env", "queuekit.toml"] {
        std::os::unix::fs::symlink("/dev/zero", sandbox.path(name)).unwrap();
        sandbox.run(&["stats"]).failed(1, &[name, "not a regular file"]);
        std::fs::remove_file(sandbox.path(name)).unwrap();
    }
}
