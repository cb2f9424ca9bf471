//! Where commands cannot work.

use crate::commands::stub_server::stub;
use crate::common::{Server, Store};
use crate::sandbox::Sandbox;

#[test]
fn who_only_looks_makes_no_store() {
    for command in [
        &["job", "list"][..],
        &["queue", "list"],
        &["queue", "pause", "a"],
        &["dlq", "list"],
        &["cron", "list"],
        &["event", "list"],
        &["subscription", "list"],
        &["worker", "list"],
        &["stats"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.run(command).failed(3, &["queuekit.db", "there is no such file"]);
        assert!(!sandbox.path("queuekit.db").exists(), "{command:?}");
    }
}

#[test]
fn what_is_wrong_in_words_is_told_before_any_store_is_opened() {
    for command in [&["job", "list", "stat:dead"][..], &["job", "retry", "status:ded"]] {
        Sandbox::new().run(command).failed(2, &["did you mean"]);
    }
}

#[test]
fn an_environment_that_names_a_store_and_a_server_is_refused() {
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", "sqlite://a.db");
    let sandbox = sandbox.env("QUEUEKIT_SERVER", "http://127.0.0.1:9");
    sandbox.run(&["stats"]).failed(2, &["QUEUEKIT_URL and QUEUEKIT_SERVER are both set"]);
    sandbox.run(&["stats", "--url", "sqlite://b.db"]).failed(3, &["b.db"]);
    sandbox.run(&["stats", "--server", "http://127.0.0.1:9"]).failed(1, &["no answer from"]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let ran = Sandbox::new().run(&["job", "list", "--server", "http://127.0.0.1:9"]);
    ran.failed(1, &["no answer from http://127.0.0.1:9/", "check that it runs"]);
    for wrong in ["localhost:8080", "ftp://a", "http://", "nonsense", "http://h/?q", "http://h#f"] {
        let ran = Sandbox::new().run(&["job", "list", "--server", wrong]);
        ran.failed(2, &["--server must be a URL such as http://localhost:8080"]);
    }
}

#[test]
fn a_server_that_is_no_queuekit_does_not_say_that_something_is_not_found() {
    let url = stub(|_, _| (404, "<html>".to_owned()));
    for command in [&["job", "list"][..], &["queue", "show", "a"], &["queue", "remove", "a"]] {
        let ran = Sandbox::new().run(&[command, &["--server", &url]].concat());
        ran.failed(1, &["404", "is not from a queuekit server"]);
    }
}

/// Guard: a program reads what `--json` prints, and a terminal shows what an error repeats.
#[test]
fn s6_an_answer_that_is_no_json_is_refused_and_said_to_be_none() {
    let url = stub(|_, _| (200, format!("<html>\u{1b}]0;owned\u{7}{}", "x".repeat(1000))));
    let id = "0199c3a0-0000-7000-8000-000000000000";
    for command in [
        &["job", "show", id][..],
        &["job", "why", id],
        &["job", "cancel", id],
        &["queue", "show", "a"],
        &["queue", "pause", "a"],
        &["queue", "set", "a", "--max-pending", "1"],
        &["cron", "next", "a"],
        &["cron", "pause", "a"],
        &["event", "retention"],
        &["worker", "list"],
    ] {
        for format in [&[][..], &["--json"]] {
            let ran = Sandbox::new().run(&[command, &["--server", &url], format].concat());
            ran.failed(1, &[&format!("{url}/v1/"), "answered 200 OK with", "<html>", "not JSON"]);
            let is_bounded = ran.stderr.len() < 400 && !ran.stderr.contains(['\u{1b}', '\u{7}']);
            assert!(is_bounded && ran.stdout.is_empty(), "{command:?}: {}", ran.stderr);
        }
    }
    let url = stub(|_, _| (200, String::new()));
    let ran = Sandbox::new().run(&["queue", "pause", "a", "--json", "--server", &url]);
    ran.failed(1, &[r#"answered 200 OK with "", which is not JSON"#]);
}

#[test]
fn s9_a_key_does_not_stand_in_a_url_and_is_not_repeated() {
    let ran = Sandbox::new().run(&["job", "list", "--server", "http://me:hunter2@localhost"]);
    ran.failed(2, &["QUEUEKIT_API_KEY"]);
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn a_store_and_a_server_at_once_are_one_too_many() {
    let sandbox = Sandbox::new();
    let both = ["job", "list", "--url", "sqlite://a.db", "--server", "http://localhost"];
    sandbox.run(&both).failed(2, &["cannot be used with"]);
    // A flag goes before the environment, whichever of both it names.
    let sandbox = Sandbox::new().env("QUEUEKIT_SERVER", "http://127.0.0.1:9");
    sandbox.run(&["enqueue", "x", "--url", "sqlite://a.db"]).ok();
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", "sqlite://a.db");
    let ran = sandbox.run(&["job", "list", "--server", "http://127.0.0.1:9"]);
    ran.failed(1, &["no answer from"]);
}

#[test]
fn what_needs_the_store_itself_refuses_a_server() {
    for command in
        [&["doctor"][..], &["bench"], &["migrate", "status"], &["work"], &["serve"], &["dev"]]
    {
        let args = [command, &["--server", "http://localhost"]].concat();
        Sandbox::new().run(&args).failed(2, &["needs a store: pass --url"]);
    }
}

#[test]
fn s1_a_server_with_keys_wants_one_and_the_command_sends_it() {
    let store = Store::of("sqlite").unwrap();
    let key = Sandbox::new().run(&["key", "new", "--json", "--scope", "read"]).json();
    let entry = &key["entry"];
    let file = store.directory.path().join("queuekit.toml");
    let text =
        format!("[[keys]]\nid = \"reader\"\nsha256 = {}\nscopes = [\"read\"]\n", entry["sha256"]);
    std::fs::write(&file, text).unwrap();
    let server = Server::start(store, &[]);
    let sandbox = Sandbox::new().env("QUEUEKIT_SERVER", &server.url);
    let refused = sandbox.run(&["job", "list"]);
    refused.failed(1, &["queuekit key new", "set it as QUEUEKIT_API_KEY"]);
    let sandbox = sandbox.env("QUEUEKIT_API_KEY", key["key"].as_str().unwrap());
    assert_eq!(sandbox.run(&["job", "list"]).ok(), "no jobs match\n");
    sandbox.run(&["enqueue", "x"]).failed(1, &["lacks the scope"]);
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    for (args, meant) in [
        (&["jobs", "list"][..], "'job'"),
        (&["job", "lsit"], "'list'"),
        (&["job", "list", "--limt", "3"], "'--limit'"),
    ] {
        Sandbox::new().run(args).failed(2, &[meant]);
    }
}
