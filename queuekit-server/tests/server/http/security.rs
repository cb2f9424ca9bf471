//! Who gets in, and what they may do.

use crate::common::{KEYS, Server, Store, digest, guarded, secret};
use serde_json::{Value, json};

const ROOT: &str = "qk_root_marker-secret-of-root";

/// Every route and method that is described.
fn routes(server: &Server) -> Vec<(String, String)> {
    let api = server.get("/openapi.json").key(&secret("admin")).send().expect(200).value();
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        let id = "01890000-0000-7000-8000-0000000037a8";
        let path = path.replace("{id}", id).replace("{name}", "a").replace("{consumer}", "c");
        for method in item.as_object().unwrap().keys() {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    for path in ["/openapi.json", "/docs"] {
        routes.push(("GET".to_owned(), path.to_owned()));
    }
    routes
}

#[test]
fn s1_nothing_but_health_answers_without_a_key() {
    let server = guarded();
    let routes = routes(&server);
    assert!(routes.len() > 35, "{}", routes.len());
    for (method, path) in &routes {
        let is_open = ["/healthz", "/readyz"].contains(&path.as_str());
        let ask = || server.ask(method, path);
        if is_open {
            assert!(ask().send().text.len() < 40, "a word");
            continue;
        }
        for wrong in [
            ask(),
            ask().key(""),
            ask().key("qk_admin_x"),
            ask().key(&secret("nobody")),
            ask().key(&secret("old")),
            ask().header("authorization", secret("admin")),
            ask().header("authorization", format!("Basic {}", secret("admin"))),
        ] {
            let reply = wrong.send();
            assert!(reply.header("www-authenticate").is_some(), "{method} {path}");
            reply.problem(401, "unauthorized");
        }
    }
    for path in ["/", "/v1", "/v1/nothing", "/dashboard", "/healthz/", "/readyz/x", "//healthz"] {
        server.get(path).send().problem(401, "unauthorized");
    }
}

/// The scope that a route asks for.
fn scope_of(method: &str, path: &str) -> &'static str {
    let work = ["/v1/reserve", "/v1/ack", "/v1/nack", "/v1/extend", "/v1/report", "/v1/beat"];
    let writes = path == "/createJob"
        || ["/v1/jobs", "/v1/events"].contains(&path)
        || ["/v1/subscriptions", "/v1/schedules"].iter().any(|begin| path.starts_with(begin));
    match method {
        "GET" if path == "/v1/keys" => "admin",
        "GET" => "read",
        _ if work.contains(&path) => "work",
        _ if writes => "enqueue",
        _ => "admin",
    }
}

#[test]
fn s2_a_key_opens_what_its_scope_says() {
    let server = guarded();
    for (method, path) in routes(&server) {
        if ["/healthz", "/readyz", "/openapi.json", "/docs", "/v1/stream"].contains(&path.as_str())
        {
            continue;
        }
        let wanted = scope_of(&method, &path);
        for (id, scope) in
            [("reader", "read"), ("producer", "enqueue"), ("worker", "work"), ("admin", "admin")]
        {
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
    let job = json!({"type": "t", "payload": 1});
    match path {
        "/v1/jobs" | "/createJob" | "/v1/events" if method == "POST" => job_or_event(path, job),
        "/v1/jobs/bulk" => json!({"action": "retry", "filter": {}}),
        "/v1/reserve" => json!({"queues": ["none"], "worker": "w"}),
        "/v1/ack" => json!({"acks": []}),
        "/v1/nack" => json!({"nacks": []}),
        "/v1/extend" => json!({"tokens": [], "lease_ms": 1000}),
        "/v1/report" => json!({"reports": []}),
        "/v1/beat" => json!({
            "id": "w", "name": "w", "queues": [], "types": [], "slots": 1, "running": 0,
            "ttl_ms": 1000,
        }),
        path if path.ends_with("/bury") => json!({"reason": "r"}),
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
    assert_eq!(key("mailer")["types"], json!(["mail.*"]));
    assert_eq!(key("slow")["per_second"], 5);
    assert_eq!(key("old")["expires"], "2020-01-01T00:00:00.000Z");
    assert!(key("old")["last_used"].is_null(), "what lets nobody in is not used");
    for id in ["acme", "mailer"] {
        server.get("/v1/keys").key(&secret(id)).send().problem(403, "forbidden");
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
    let one = || server.ask("POST", "/v1/jobs").key(&secret("slow")).json(&json!({"type": "t"}));
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
    let id = "01890000-0000-7000-8000-0000000037a8";
    by("POST", &format!("/v1/jobs/{id}/cancel")).send().expect(404);
    let all = json!({"action": "cancel", "filter": {"queue": "q"}});
    by("POST", "/v1/jobs/bulk").json(&all).expect(200);
    for words in [
        ["\"put\"", "on=schedule s", "\"done\""],
        ["\"run\"", "on=schedule s", "\"done\""],
        ["\"put\"", "on=subscription c", "\"done\""],
        ["\"replay\"", "on=subscription c", "\"done\""],
        ["\"configure\"", "on=queue q", "\"done\""],
        ["\"remove\"", "on=queue none", "\"not_found\""],
        ["\"cancel\"", "on=job 01890000", "\"not_found\""],
        ["\"bulk cancel\"", "on=jobs of", "changed 0"],
    ] {
        let line = server.logged(&words);
        assert!(line.contains("queuekit::audit") && line.contains("key=\"admin\""), "{line}");
    }
}

#[test]
fn s6_a_page_of_another_site_cannot_use_a_server_without_keys() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let job = json!({"type": "t"});
    for (method, path) in [
        ("POST", "/v1/jobs"),
        ("POST", "/createJob"),
        ("POST", "/v1/queues/a/pause"),
        ("PATCH", "/v1/queues/a"),
        ("DELETE", "/v1/queues/a"),
        ("PUT", "/v1/schedules/s"),
    ] {
        let ask = || server.ask(method, path);
        let cross = ask().header("origin", "http://evil.example");
        cross.json(&job).problem(403, "forbidden");
        let site = ask().header("sec-fetch-site", "cross-site");
        site.json(&job).problem(403, "forbidden");
        let form = ask().header("content-type", "text/plain");
        form.json(&job).problem(415, "unsupported_media_type");
        ask().header("host", "evil.example").json(&job).problem(403, "forbidden");
    }
    server.get("/v1/jobs").header("host", "evil.example:80").send().problem(403, "forbidden");
    let queues = server.get("/v1/queues").send().expect(200).value();
    assert_eq!(queues["queues"], json!([]), "nothing was done");
    let preflight =
        server.ask("OPTIONS", "/v1/jobs").header("origin", "http://evil.example").send();
    assert!(preflight.header("access-control-allow-origin").is_none());
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
