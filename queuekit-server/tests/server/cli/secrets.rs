//! S9: no output contains a secret.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{Ran, Sandbox};

/// In every place where a secret can stand.
const MARKER: &str = "hunter2";

#[track_caller]
fn keeps(ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(MARKER), "{text}");
    }
}

#[test]
fn s9_no_url_key_or_file_is_repeated_by_any_command_that_fails() {
    let commands: [&[&str]; 7] = [
        &["enqueue", "echo"],
        &["work", "--until-idle"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["migrate", "up"],
        &["migrate", "status"],
        &["doctor"],
        &["doctor", "--json"],
    ];
    let urls = [
        "postgres://ada:hunter2@127.0.0.1:1/jobs?op_timeout_ms=100",
        "postgres://ada:hunter2@127.0.0.1:1/jobs?op_timeout_ms=100&hunter2=1",
        "redis://:hunter2@127.0.0.1:1/0?op_timeout_ms=100",
        "redis-sentinel://:hunter2@127.0.0.1:1/m?op_timeout_ms=100&sentinel_password=hunter2",
        "sqlite://missing/jobs.db?key=hunter2",
        "mysql://ada:hunter2@db",
        "ada:hunter2@db",
    ];
    let sandbox = Sandbox::new().env("RUST_LOG", "trace").env("QUEUEKIT_API_KEY", MARKER);
    for command in commands {
        for url in urls {
            for log in ["text", "json"] {
                let args = [command, &["--url", url, "--log-format", log]].concat();
                let ran = sandbox.run(&args);
                assert_ne!(ran.code, 0, "{ran:?}");
                keeps(&ran);
            }
        }
    }
}

#[test]
fn s9_no_setting_that_cannot_be_read_is_repeated() {
    for (file, text) in [
        ("queuekit.toml", "url = hunter2"),
        ("queuekit.toml", "ulr = 'postgres://ada:hunter2@db'"),
        ("queuekit.toml", "concurrency = 'hunter2'"),
        (".env", "QUEUEKIT_API_KEY=two words hunter2"),
        (".env", "QUEUEKIT_LISTEN=hunter2"),
        (".env", "QUEUEKIT_CONCURRENCY=hunter2"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(file, text);
        let ran = sandbox.run(&["serve", "--work"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        keeps(&ran);
    }
}

#[test]
fn s9_a_server_that_runs_tells_no_key() {
    let sandbox = Sandbox::new().env("RUST_LOG", "trace");
    sandbox.write(".env", "QUEUEKIT_API_KEY=hunter2\nQUEUEKIT_LISTEN=127.0.0.1:0\n");
    let mut serve = sandbox.start(&["serve", "--work"]);
    assert!(!serve.line().contains(MARKER));
    serve.signal("TERM");
    let (code, said) = serve.ended();
    assert!(code == Some(0) && !said.contains(MARKER), "{said}");
    sandbox.run(&["enqueue", "echo", "--payload", "\"hunter2\"", "--log-format", "json"]).ok();
    let ran = sandbox.run(&["work", "--until-idle", "--log-format", "json"]);
    assert_eq!(ran.code, 0);
    keeps(&ran);
}

#[test]
fn s9_a_file_with_a_secret_that_everybody_can_read_is_told() {
    const TOLD: &str = "every user can read this file, which holds a secret";
    let sandbox = Sandbox::new().env("QUEUEKIT_LISTEN", "127.0.0.1:0");
    sandbox.run(&["migrate", "up"]).ok();
    let said = || {
        let report = sandbox.run(&["doctor", "--url", "sqlite://queuekit.db"]).ok();
        let worker = sandbox.run(&["work", "--until-idle", "--url", "sqlite://queuekit.db"]);
        assert!(!report.contains(MARKER));
        keeps(&worker);
        (report.matches(TOLD).count(), worker.stderr.matches(TOLD).count())
    };
    sandbox.write("queuekit.toml", "url = 'postgres://ada:hunter2@db/jobs?sslmode=require'");
    sandbox.write(".env", "QUEUEKIT_API_KEY=hunter2\n");
    let modes = |mode| {
        for file in ["queuekit.toml", ".env"] {
            std::fs::set_permissions(sandbox.path(file), Permissions::from_mode(mode)).unwrap();
        }
    };
    modes(0o644);
    assert_eq!(said(), (2, 2));
    modes(0o640);
    assert_eq!(said(), (0, 0));
    sandbox.write("queuekit.toml", "url = 'sqlite://queuekit.db'");
    sandbox.write(".env", "QUEUEKIT_CONCURRENCY=2\n");
    modes(0o644);
    assert_eq!(said(), (0, 0), "there is no secret in them");
}
