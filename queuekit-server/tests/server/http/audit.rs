//! Who did what, and who was refused, in the log.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Server, Store, guarded, guarded_on, secret};

#[test]
fn s14_every_change_is_told_with_who_made_it_and_what_came_of_it() {
    let server = guarded();
    let by = |method: &str, path: &str| server.ask(method, path).key(&secret("admin"));
    let schedule = json!({"every_ms": 60000, "job": {"kind": "t"}});
    by("PUT", "/v1/schedules/s").json(&schedule).expect(201);
    by("POST", "/v1/schedules/s/run").send().expect(201);
    by("PUT", "/v1/subscriptions/c").json(&json!({"events": "*"})).expect(201);
    by("POST", "/v1/subscriptions/c/replay").json(&json!({"name": "r"})).expect(200);
    by("POST", "/v1/queues/q/pause").send().expect(200);
    by("DELETE", "/v1/queues/none").send().expect(404);
    by("DELETE", "/v1/workers/w").send().expect(404);
    let beat = json!({"id": "v", "name": "v", "queues": ["q"], "kinds": [], "slots": 1,
        "running": 0, "ttl_ms": 60_000});
    by("POST", "/v1/beat").json(&beat).expect(200);
    by("POST", "/v1/workers/control").json(&json!({"workers": ["v"], "slots": 3})).expect(200);
    by("POST", "/v1/workers/control").json(&json!({"all": true, "order": "quiet"})).expect(200);
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
        ["\"slots\"", "on=\"worker v: 3\"", "matched=1 changed=1 outcome=\"done\""],
        ["\"quiet\"", "on=\"all workers\"", "matched=1 changed=1 outcome=\"done\""],
        ["\"cancel\"", "on=\"job 01890000", "\"not_found\""],
        ["\"bulk cancel\"", told, "matched=0 changed=0 outcome=\"done\""],
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
    let job = json!({"kind": "t", "queue": "private", "payload": "private"});
    server.ask("POST", "/v1/jobs").json(&job).expect(201);
    server.get("/v1/jobs?queue=private").send().expect(200);
    server.logged(&["queuekit::access", "method=\"POST\" route=\"/v1/jobs\" status=201 ms="]);
    let line = server.logged(&["queuekit::access", "method=\"GET\" route=\"/v1/jobs\" status=200"]);
    assert!(line.contains("peer=\"127.0.0.1\" key=\"-\"") && line.contains(" bytes="), "{line}");
    assert!(!line.contains("private"), "{line}");
}

/// Entries as `who action target outcome`, the latest first.
fn entries(server: &Server) -> Vec<String> {
    let page = server.ask("GET", "/v1/audit").key(&secret("admin")).send().expect(200).value();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let line = |entry: &Value| {
        ["who", "action", "target", "outcome"].map(|field| text(entry, field)).join(" ")
    };
    page["entries"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn r8_6_each_act_of_an_administrator_is_in_the_store() {
    let server = guarded();
    let by = |key: &str, method: &str, path: &str| server.ask(method, path).key(&secret(key));
    by("admin", "POST", "/v1/queues/q/pause").send().expect(200);
    by("admin", "DELETE", "/v1/queues/none").send().expect(404);
    let job = by("admin", "POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201).value();
    let id = job["id"].as_str().unwrap();
    by("admin", "POST", &format!("/v1/jobs/{id}/cancel")).send().expect(200);
    let dead = json!({"action": "retry", "filter": {"queue": "default", "status": "cancelled"}});
    let mut dry = dead.clone();
    dry["dry_run"] = json!(true);
    by("admin", "POST", "/v1/jobs/bulk").json(&dry).expect(200);
    by("admin", "POST", "/v1/jobs/bulk").json(&dead).expect(200);
    by("reader", "POST", "/v1/queues/q/resume").send().expect(403);
    let filter = r#"jobs {"queue":"default","status":"cancelled"}"#;
    assert_eq!(
        entries(&server),
        [
            format!("admin bulk retry {filter} done"),
            format!("admin cancel job {id} cancelled"),
            r#"admin configure queue q {"paused":true} done"#.to_owned(),
        ]
    );
    let first = by("admin", "GET", "/v1/audit?limit=2").send().expect(200).value();
    let bulk = &first["entries"][0];
    assert_eq!((&bulk["matched"], &bulk["changed"]), (&json!(1), &json!(1)), "{bulk}");
    let next = format!("/v1/audit?limit=3&before={}", first["before"]);
    let second = by("admin", "GET", &next).send().expect(200).value();
    assert_eq!(second["entries"].as_array().unwrap().len(), 1);
    for key in ["reader", "manager", "acme", "mailer"] {
        by(key, "GET", "/v1/audit").send().problem(403, "forbidden");
    }
}

/// Guard: 10,000 acts of a key with fewer rights would push those of administrators out.
#[test]
fn r8_6_only_who_may_read_the_audit_log_fills_it() {
    let server = guarded();
    let by = |key: &str, method: &str, path: &str| server.ask(method, path).key(&secret(key));
    let beat = json!({"id": "w", "name": "w", "queues": ["q"], "kinds": [], "slots": 1,
        "running": 0, "ttl_ms": 60_000});
    for key in ["worker", "admin"] {
        by(key, "POST", "/v1/beat").json(&beat).expect(200);
        by(key, "DELETE", "/v1/workers/w").send().expect(204);
        by(key, "DELETE", "/v1/workers/w").send().expect(404);
    }
    for key in ["manager", "admin"] {
        let c = format!("/v1/subscriptions/{key}");
        by(key, "PUT", &c).json(&json!({"events": "*"})).expect(201);
        by(key, "DELETE", "/v1/subscriptions/none").send().expect(404);
    }
    by("acme", "POST", "/v1/queues/acme.q/pause").send().expect(200);
    by("mailer", "POST", "/v1/jobs/bulk")
        .json(&json!({"action": "cancel", "filter": {"kind": "mail.a"}}))
        .expect(200);
    assert_eq!(
        entries(&server),
        ["admin put subscription admin done", "admin remove worker w done"],
        "what changed nothing, and acts of others, are in the server's log"
    );
    server.logged(&["\"put\"", "on=\"subscription manager\"", "key=\"manager\""]);
    server.logged(&["on=\"queue acme.q", "key=\"acme\""]);
}

/// Guard: an act and its entry run to their end though the client has gone.
#[test]
fn r8_6_who_hangs_up_is_recorded() {
    let server = guarded_on(Store::of("sqlite").unwrap(), "");
    let key = secret("admin");
    for n in 0..100 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let head = format!("POST /v1/queues/q{n}/pause HTTP/1.1\r\nhost: a\r\n");
        write!(stream, "{head}authorization: Bearer {key}\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
    let queues = || {
        let queues = server.ask("GET", "/v1/queues").key(&key).send().expect(200).value();
        let name = |queue: &Value| queue["name"].as_str().unwrap().to_owned();
        queues["queues"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    let is_recorded = |name: &String| {
        let act = format!(r#"admin configure queue {name} {{"paused":true}} done"#);
        entries(&server).contains(&act)
    };
    // Some never arrived. Those that took effect have their entries after at most a moment.
    let end = Instant::now() + Duration::from_secs(30);
    while !queues().iter().all(is_recorded) {
        assert!(Instant::now() < end, "queues without an entry: {:?}", queues());
    }
}
