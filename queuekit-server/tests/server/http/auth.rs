//! Who gets in, and what they may do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::{KEYS, Server, Store, digest, guarded, secret};
use serde_json::{Value, json};

const ROOT: &str = "qk_root_marker-secret-of-root";

/// Every route and method that is described.
fn routes(server: &Server) -> Vec<(String, String)> {
    let api = server.get("/openapi.json").key(&secret("admin")).send().expect(200).value();
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let id = match path.starts_with("/v1/errors/") {
            true => "0123456789abcdef",
            false => "01890000-0000-7000-8000-0000000037a8",
        };
        let path = path.replace("{id}", id).replace("{name}", "a").replace("{consumer}", "c");
        for method in item.as_object().unwrap().keys() {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    routes
}

const OPEN: [&str; 4] = ["/healthz", "/readyz", "/openapi.json", "/docs"];

#[test]
fn s1_nothing_but_health_answers_without_a_key() {
    let server = guarded();
    let routes = routes(&server);
    assert!(routes.len() > 35, "{}", routes.len());
    for (method, path) in &routes {
        let ask = || server.ask(method, path);
        if ["/healthz", "/readyz"].contains(&path.as_str()) {
            assert!(ask().send().text.len() < 40, "a word");
            continue;
        }
        for wrong in [
            ask(),
            ask().key(""),
            ask().header("authorization", secret("admin")),
            ask().header("authorization", format!("Basic {}", secret("admin"))),
        ] {
            let reply = wrong.send();
            assert!(reply.header("www-authenticate").is_some(), "{method} {path}");
            reply.problem(401, "unauthorized");
        }
    }
    for wrong in ["qk_admin_x", &secret("nobody"), &secret("old")] {
        server.get("/v1/jobs").key(wrong).send().problem(401, "unauthorized");
    }
    for path in ["/docs", "/openapi.json"] {
        let shown = server.get(path).send().expect(200).text;
        assert!(shown.contains("/v1/jobs/bulk") && !shown.contains("marker-secret"), "{path}");
    }
    for path in ["/v1", "/v1/nothing", "/dashboard", "/healthz/", "/readyz/x", "//healthz"] {
        server.get(path).send().problem(401, "unauthorized");
    }
}

/// The scope that a route asks for.
fn scope_of(method: &str, path: &str) -> &'static str {
    let work = [
        "/v1/reserve",
        "/v1/ack",
        "/v1/nack",
        "/v1/extend",
        "/v1/report",
        "/v1/checkpoint",
        "/v1/checkpoints",
        "/v1/beat",
    ];
    let writes = ["/createJob", "/v1/jobs", "/v1/events"].contains(&path);
    let manages =
        ["/v1/subscriptions", "/v1/schedules"].iter().any(|begin| path.starts_with(begin));
    match method {
        "GET" if ["/v1/keys", "/v1/audit", "/v1/findings"].contains(&path) => "admin",
        "GET" => "read",
        "DELETE" if path.starts_with("/v1/workers/") => "work",
        _ if work.contains(&path) => "work",
        _ if writes => "enqueue",
        _ if manages => "manage",
        _ => "admin",
    }
}

#[test]
fn s2_a_key_opens_what_its_scope_says() {
    let server = guarded();
    for (method, path) in routes(&server) {
        if OPEN.contains(&path.as_str()) || path == "/v1/stream" {
            continue;
        }
        let wanted = scope_of(&method, &path);
        for (id, scope) in [
            ("reader", "read"),
            ("producer", "enqueue"),
            ("worker", "work"),
            ("manager", "manage"),
            ("admin", "admin"),
        ] {
            let ask = server.ask(&method, &path).key(&secret(id));
            let reply = match method.as_str() {
                "GET" => ask.send(),
                _ => ask.json(&body_of(&method, &path)),
            };
            let opens = scope == wanted || scope == "admin";
            if opens {
                assert!(
                    ![401, 403].contains(&reply.status),
                    "{id}: {method} {path}: {}",
                    reply.text
                );
            } else {
                let problem = reply.problem(403, "forbidden");
                assert!(
                    problem["detail"].as_str().unwrap().contains(wanted),
                    "{method} {path}: {problem}"
                );
            }
        }
    }
}

/// A body that is in order, so that only the key can be wrong.
fn body_of(method: &str, path: &str) -> Value {
    let job = json!({"kind": "t", "payload": 1});
    match path {
        "/v1/jobs" | "/createJob" | "/v1/events" if method == "POST" => job_or_event(path, job),
        "/v1/jobs/bulk" => json!({"action": "retry", "filter": {"queue": "none"}}),
        "/v1/reserve" => json!({"queues": ["none"], "worker": "w"}),
        "/v1/ack" => json!({"acks": []}),
        "/v1/nack" => json!({"nacks": []}),
        "/v1/extend" => json!({"tokens": [], "lease_ms": 1000}),
        "/v1/report" => json!({"reports": []}),
        "/v1/checkpoint" => json!({"token": "t", "name": "s"}),
        "/v1/checkpoints" => json!({"token": "t"}),
        "/v1/beat" => json!({
            "id": "w", "name": "w", "queues": [], "kinds": [], "slots": 1, "running": 0,
            "ttl_ms": 1000,
        }),
        "/v1/workers/control" => json!({"all": true, "order": "resume"}),
        path if path.ends_with("/dead-letter") => json!({"reason": "r"}),
        path if path.ends_with("/reschedule") => json!({"delay_ms": 0}),
        path if path.ends_with("/retention") => json!({"age_ms": 604_800_000, "events": 1000}),
        path if path.ends_with("/replay") => json!({"name": "r"}),
        path if path.starts_with("/v1/subscriptions/") => json!({"events": "*"}),
        path if path.starts_with("/v1/schedules/") => json!({"every_ms": 60_000, "job": job}),
        _ => json!({}),
    }
}

fn job_or_event(path: &str, job: Value) -> Value {
    if path == "/v1/events" { json!({"type": "t"}) } else { job }
}

#[test]
fn s2_when_a_key_was_last_used_is_told_without_what_opens() {
    let server = guarded();
    server.get("/v1/queues").key(&secret("reader")).send().expect(200);
    server.get("/v1/queues").key(&secret("old")).send().expect(401);
    let shown = server.get("/v1/keys").key(&secret("admin")).send().expect(200);
    assert!(!shown.text.contains("marker-secret") && !shown.text.contains(&digest(ROOT)));
    let shown = shown.value();
    let key = |id: &str| {
        let mut keys = shown["keys"].as_array().unwrap().iter();
        keys.find(|key| key["id"] == id).unwrap().clone()
    };
    let used: Vec<_> =
        KEYS.map(|key| key.id).into_iter().filter(|id| key(id)["last_used"].is_string()).collect();
    assert_eq!(used, ["reader", "admin"]);
    assert_eq!(key("acme")["queues"], json!(["acme.*"]));
    assert_eq!(key("mailer")["kinds"], json!(["mail.*"]));
    assert_eq!(key("slow")["per_second"], 5);
    assert_eq!(key("old")["expires"], "2020-01-01T00:00:00.000Z");
    assert!(key("old")["last_used"].is_null(), "what lets nobody in is not used");
    for id in ["acme", "mailer"] {
        for path in ["/v1/keys", "/v1/findings"] {
            server.get(path).key(&secret(id)).send().problem(403, "forbidden");
        }
    }
}

/// What is wrong with a batch is for those who may send one.
#[test]
fn s2_who_may_not_work_is_told_so_before_a_batch_is_read() {
    let server = guarded();
    for path in ["reserve", "ack", "nack", "extend", "report", "beat"] {
        let ask = server.ask("POST", &format!("/v1/{path}")).key(&secret("producer"));
        ask.text("{").problem(403, "forbidden");
    }
}

#[test]
fn s6_a_key_does_no_more_in_a_second_than_it_may() {
    let server = guarded();
    let one = || server.ask("POST", "/v1/jobs").key(&secret("slow")).json(&json!({"kind": "t"}));
    let refused = (0..20).map(|_| one()).find(|reply| reply.status == 429).expect("a bound");
    assert!(refused.header("retry-after").is_some());
    refused.problem(429, "rate_limited");
}

#[test]
fn s1_an_empty_key_opens_nothing_whatever_its_digest() {
    let store = Store::of("memory").unwrap();
    let digest = digest("");
    let file = format!("[[keys]]\nid = \"x\"\nsha256 = {digest:?}\nscopes = [\"admin\"]\n");
    std::fs::write(store.directory.path().join("queuekit.toml"), file).unwrap();
    let server = Server::start(store, &[]);
    for ask in [server.get("/v1/jobs"), server.get("/v1/jobs").key("")] {
        ask.send().problem(401, "unauthorized");
    }
}

/// What wrong keys come to is that of their own: a right one is answered at once.
#[test]
fn s6_who_guesses_keys_waits_and_hinders_nobody() {
    let server = guarded();
    let begun = Instant::now();
    for _ in 0..12 {
        server.get("/v1/jobs").key("qk_admin_guess").send().problem(401, "unauthorized");
    }
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_millis(500), "two of them wait: {waited:?}");
    let line = server.logged(&["queuekit::audit", "status=401", "peer=\"127.0.0.1\" key=\"-\""]);
    assert!(!line.contains("guess"), "{line}");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| server.get("/v1/jobs").key("qk_admin_guess").send().expect(401));
        }
        server.get("/v1/jobs").key(&secret("reader")).send().expect(200);
    });
}

/// Guard: without an answer for every key there is none for the one that lacks `read`.
#[test]
fn s2_no_payload_is_shown_to_a_key_that_may_not_read() {
    let server = guarded();
    let job =
        json!({"kind": "t", "queue": "acme.q", "payload": "hidden", "metadata": {"a": "hidden"}});
    let schedule = json!({"every_ms": 60000, "job": job});
    for id in ["manager", "planner", "admin"] {
        let path = format!("/v1/schedules/{id}");
        let by = |method: &str, action: &str| {
            server.ask(method, &format!("{path}{action}")).key(&secret(id))
        };
        let answers = [
            by("PUT", "").json(&schedule).expect(201),
            by("PUT", "").json(&schedule).expect(200),
            by("POST", "/pause").send().expect(200),
            by("POST", "/resume").send().expect(200),
            by("POST", "/run").send().expect(201),
        ];
        let shown = answers.iter().filter(|answer| answer.text.contains("hidden")).count();
        assert_eq!(shown, if id == "admin" { 4 } else { 0 }, "{id}");
    }
}

/// What lets a program store jobs is no right over those that others have planned.
#[test]
fn s2_a_producer_changes_no_schedule_and_no_subscription() {
    let server = guarded();
    let by = |id: &str, method: &str, path: &str| server.ask(method, path).key(&secret(id));
    let schedule = json!({"every_ms": 60000, "job": {"kind": "t", "queue": "acme.q"}});
    by("manager", "PUT", "/v1/schedules/s").json(&schedule).expect(201);
    by("manager", "PUT", "/v1/subscriptions/c").json(&json!({"events": "*"})).expect(201);
    for id in ["producer", "writer"] {
        by(id, "PUT", "/v1/schedules/s").json(&schedule).problem(403, "forbidden");
        by(id, "DELETE", "/v1/schedules/s").send().problem(403, "forbidden");
        by(id, "DELETE", "/v1/subscriptions/c").send().problem(403, "forbidden");
    }
    by("planner", "DELETE", "/v1/subscriptions/c").send().problem(403, "forbidden");
    by("planner", "DELETE", "/v1/schedules/s").send().expect(204);
}

#[test]
fn s4_the_page_of_docs_loads_and_runs_nothing() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let page = server.get("/docs").send().expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(!page.text.contains("<script") && !page.text.contains("src="), "nothing is loaded");
    for path in ["/v1/jobs/{id}/why", "/v1/reserve", "/v1/schedules/{name}/next"] {
        assert!(page.text.contains(path), "{path}");
    }
}

#[test]
fn the_key_of_the_environment_opens_everything() {
    let store = Store::of("memory").unwrap();
    std::fs::write(store.directory.path().join(".env"), format!("QUEUEKIT_API_KEY={ROOT}\n"))
        .unwrap();
    let server = Server::start(store, &[]);
    server.get("/v1/jobs").send().problem(401, "unauthorized");
    server.get("/v1/jobs").key(ROOT).send().expect(200);
    let reserve = json!({"queues": ["a"], "worker": "w"});
    server.ask("POST", "/v1/reserve").key(ROOT).json(&reserve).expect(200);
}

/// A stranger may send many requests at once, and reads no answer.
#[test]
fn s6_the_connection_of_a_stranger_ends_with_its_first_answer() {
    let server = guarded();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let one = "GET /v1/jobs HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(one.repeat(20).as_bytes()).unwrap();
    let mut answers = String::new();
    // The rest of the requests may have been answered with a reset.
    let _ = stream.read_to_string(&mut answers);
    assert_eq!(answers.matches("HTTP/1.1 401").count(), 1, "{answers}");
}
