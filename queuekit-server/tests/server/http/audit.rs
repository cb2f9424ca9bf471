//! Who did what, and who was refused, in the log.

use crate::common::{Server, Store, guarded, secret};
use serde_json::json;

#[test]
fn s14_every_change_is_told_with_who_made_it_and_what_came_of_it() {
    let server = guarded();
    let by = |method: &str, path: &str| server.ask(method, path).key(&secret("admin"));
    let schedule = json!({"every_ms": 60000, "job": {"type": "t"}});
    by("PUT", "/v1/schedules/s").json(&schedule).expect(201);
    by("POST", "/v1/schedules/s/run").send().expect(201);
    by("PUT", "/v1/subscriptions/c").json(&json!({"events": "*"})).expect(201);
    by("POST", "/v1/subscriptions/c/replay").json(&json!({"name": "r"})).expect(200);
    by("POST", "/v1/queues/q/pause").send().expect(200);
    by("DELETE", "/v1/queues/none").send().expect(404);
    by("DELETE", "/v1/workers/w").send().expect(404);
    let id = "01890000-0000-7000-8000-0000000037a8";
    by("POST", &format!("/v1/jobs/{id}/cancel")).send().expect(404);
    let some = json!({"action": "cancel", "filter": {
        "queue": "q", "status": "ready", "error": "by \"me\"", "worker": "w",
        "created_to": "2026-01-01T00:00:00Z",
    }});
    by("POST", "/v1/jobs/bulk").json(&some).expect(200);
    by("PATCH", "/v1/queues/q").json(&json!({"max_pending": null, "order": "fair"})).expect(200);
    let told = concat!(
        r#"on="jobs {\"queue\":\"q\",\"status\":\"ready\",\"worker\":\"w\","#,
        r#"\"error\":\"by \\\"me\\\"\",\"created_to\":\"2026-01-01T00:00:00.000Z\"}""#,
    );
    for words in [
        ["\"put\"", "on=\"schedule s\"", "\"done\""],
        ["\"run\"", "on=\"schedule s\"", "\"done\""],
        ["\"put\"", "on=\"subscription c\"", "\"done\""],
        ["\"replay\"", "on=\"subscription c\"", "\"done\""],
        ["\"configure\"", r#"on="queue q {\"paused\":true}""#, "\"done\""],
        ["\"configure\"", r#"q {\"max_pending\":null,\"order\":\"fair\"}""#, "\"done\""],
        ["\"remove\"", "on=\"queue none\"", "\"not_found\""],
        ["\"remove\"", "on=\"worker w\"", "\"not_found\""],
        ["\"cancel\"", "on=\"job 01890000", "\"not_found\""],
        ["\"bulk cancel\"", told, "changed 0"],
    ] {
        let line = server.logged(&words);
        assert!(line.contains("queuekit::audit") && line.contains("key=\"admin\""), "{line}");
        assert!(line.contains("peer=\"127.0.0.1\""), "{line}");
    }
}

#[test]
fn s14_the_audit_goes_on_where_only_warnings_are_logged() {
    let store = Store::of("memory").unwrap();
    std::fs::write(store.directory.path().join(".env"), "RUST_LOG=warn\n").unwrap();
    let server = Server::start(store, &[]);
    server.ask("POST", "/v1/queues/q/pause").send().expect(200);
    server.logged(&["queuekit::audit", "\"configure\"", "\"done\""]);
}

#[test]
fn s14_a_refusal_is_told_with_who_asked_and_what_for() {
    let server = guarded();
    let pause = server.ask("POST", "/v1/queues/secret-name/pause").key(&secret("reader"));
    pause.send().problem(403, "forbidden");
    let words = ["WARN", "refused", "key=\"reader\"", "status=403", "refused=1"];
    let line = server.logged(&words);
    let route = "method=\"POST\" route=\"/v1/queues/{name}/pause\"";
    assert!(line.contains(route) && line.contains("peer=\"127.0.0.1\""), "{line}");
    assert!(!line.contains("secret-name"), "{line}");
}

#[test]
fn s14_each_request_is_logged_where_that_is_wanted_and_nothing_that_was_sent() {
    let server = Server::start(Store::of("memory").unwrap(), &["--access-log"]);
    let job = json!({"type": "t", "queue": "private", "payload": "private"});
    server.ask("POST", "/v1/jobs").json(&job).expect(201);
    server.get("/v1/jobs?queue=private").send().expect(200);
    server.logged(&["queuekit::access", "method=\"POST\" route=\"/v1/jobs\" status=201 ms="]);
    let line = server.logged(&["queuekit::access", "method=\"GET\" route=\"/v1/jobs\" status=200"]);
    assert!(line.contains("peer=\"127.0.0.1\" key=\"-\"") && line.contains(" bytes="), "{line}");
    assert!(!line.contains("private"), "{line}");
}
