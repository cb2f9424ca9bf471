//! Keys that are for some queues or types only.

use crate::common::{Ask, guarded, secret};
use serde_json::{Value, json};

#[test]
fn s11_a_bound_key_sees_and_changes_only_what_it_is_bound_to() {
    let server = guarded();
    let by = |id: &str, method: &str, path: &str| server.ask(method, path).key(&secret(id));
    let store = |queue: &str, kind: &str| {
        let job = json!({"type": kind, "queue": queue, "idempotency_key": "k"});
        let stored = by("admin", "POST", "/v1/jobs").json(&job).expect(201).value();
        stored["id"].as_str().unwrap().to_owned()
    };
    let own = store("acme.jobs", "mail.send");
    let other = store("other", "sms");
    let count = |reply: crate::common::Reply, of: &str| {
        reply.expect(200).value()[of].as_array().unwrap().len()
    };
    for (id, path, of) in [
        ("acme", "/v1/jobs?queue=acme.jobs", "jobs"),
        ("acme", "/v1/queues", "queues"),
        ("mailer", "/v1/jobs?type=mail.send", "jobs"),
    ] {
        assert_eq!(count(by(id, "GET", path).send(), of), 1, "{id} {path}");
    }
    // Cursors would tell of what is hidden.
    for (id, path) in [
        ("acme", "/v1/jobs"),
        ("acme", "/v1/jobs?queue=other"),
        ("acme", "/v1/queues/other/jobs"),
        ("mailer", "/v1/jobs"),
        ("mailer", "/v1/jobs?type=sms"),
    ] {
        by(id, "GET", path).send().problem(403, "forbidden");
    }
    assert!(!by("acme", "GET", "/metrics").send().expect(200).text.contains("other"));
    by("acme", "GET", &format!("/v1/jobs/{own}")).send().expect(200);
    for id in ["acme", "mailer"] {
        for (method, action) in
            [("GET", ""), ("GET", "/why"), ("DELETE", ""), ("POST", "/retry"), ("POST", "/cancel")]
        {
            let reply = by(id, method, &format!("/v1/jobs/{other}{action}")).send();
            reply.problem(404, "not_found");
        }
        let bury = by(id, "POST", &format!("/v1/jobs/{other}/bury"));
        bury.json(&json!({"reason": "r"})).problem(404, "not_found");
    }
    let refused = |ask: Ask, body: Value| drop(ask.json(&body).problem(403, "forbidden"));
    refused(by("acme", "POST", "/v1/jobs"), json!({"type": "t", "queue": "other"}));
    refused(by("mailer", "POST", "/v1/jobs"), json!({"type": "sms"}));
    refused(by("acme", "POST", "/v1/jobs/bulk"), json!({"action": "cancel", "filter": {}}));
    let filter = json!({"action": "cancel", "filter": {"queue": "other"}});
    refused(by("acme", "POST", "/v1/jobs/bulk"), filter);
    refused(by("acme", "POST", "/v1/reserve"), json!({"queues": ["other"], "worker": "w"}));
    refused(by("mailer", "POST", "/v1/reserve"), json!({"queues": ["other"], "worker": "w"}));
    refused(by("acme", "PATCH", "/v1/queues/other"), json!({"paused": true}));
    refused(by("mailer", "POST", "/v1/queues/other/pause"), json!({}));
    let schedule = json!({"every_ms": 60_000, "job": {"type": "t", "queue": "other"}});
    refused(by("acme", "PUT", "/v1/schedules/s"), schedule.clone());
    by("admin", "PUT", "/v1/schedules/s").json(&schedule).expect(201);
    by("acme", "DELETE", "/v1/schedules/s").send().problem(404, "not_found");
    refused(by("acme", "PUT", "/v1/subscriptions/c"), json!({"events": "*"}));
    let reserve = json!({"queues": ["other"], "worker": "w"});
    let leases = by("admin", "POST", "/v1/reserve").json(&reserve).expect(200).value();
    let token = &leases["leases"][0]["token"];
    refused(by("acme", "POST", "/v1/ack"), json!({"acks": [{"token": token}]}));
    refused(by("acme", "POST", "/v1/nack"), json!({"nacks": [{"token": token}]}));
    refused(by("acme", "POST", "/v1/extend"), json!({"tokens": [token], "lease_ms": 1000}));
    assert_eq!(count(by("acme", "GET", "/v1/schedules").send(), "schedules"), 0);
}

#[test]
fn s11_a_bound_key_does_not_speak_for_workers_of_others() {
    let server = guarded();
    let beat = |id: &str, queues: &[&str]| {
        let beat = json!({
            "id": "w", "name": id, "queues": queues, "types": [], "slots": 1, "running": 0,
            "ttl_ms": 10_000,
        });
        server.ask("POST", "/v1/beat").key(&secret(id)).json(&beat)
    };
    beat("worker", &["other"]).expect(204);
    beat("acme", &["acme.a"]).problem(403, "forbidden");
    beat("acme", &[]).problem(403, "forbidden");
    let more = json!({
        "id": "m", "name": "m", "queues": ["acme.a"], "more_queues": true, "types": [],
        "slots": 1, "running": 0, "ttl_ms": 1000,
    });
    server.ask("POST", "/v1/beat").key(&secret("acme")).json(&more).problem(403, "forbidden");
    let remove = |id: &str| server.ask("DELETE", "/v1/workers/w").key(&secret(id)).send();
    remove("acme").problem(403, "forbidden");
    let workers = server.get("/v1/workers").key(&secret("reader")).send().expect(200).value();
    assert_eq!(workers["workers"][0]["name"], "worker");
    remove("worker").expect(204);
    beat("acme", &["acme.a"]).expect(204);
    remove("acme").expect(204);
    remove("acme").problem(404, "not_found");
}

#[test]
fn s11_a_duplicate_tells_id_and_state_only_unless_the_key_may_read() {
    let server = guarded();
    let job = json!({"type": "t", "queue": "acme.a", "idempotency_key": "k", "payload": "private"});
    let ask = |id: &str| server.ask("POST", "/v1/jobs").key(&secret(id)).json(&job);
    let first = ask("admin").expect(201).value();
    let told = ask("writer").expect(200).value();
    assert_eq!((&told["id"], &told["status"]), (&first["id"], &json!("ready")));
    assert_eq!(told.as_object().unwrap().len(), 3, "{told}");
    assert_eq!(ask("acme").expect(200).value()["job"]["payload"], "private");
}
