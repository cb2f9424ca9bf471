//! Error groups.

use serde_json::{Value, json};

use crate::common::{guarded, secret};

#[test]
fn s11_a_bound_key_sees_errors_of_its_queues_and_kinds_only() {
    let server = guarded();
    let by = |id: &str, method: &str, path: &str| server.ask(method, path).key(&secret(id));
    let fails = ["acme.jobs mail.send", "other sms", "other mail.send", "other sms"];
    for (queue, kind) in fails.iter().filter_map(|of| of.split_once(' ')) {
        let job = json!({"kind": kind, "queue": queue});
        let stored = by("admin", "POST", "/v1/jobs").json(&job).expect(201).value();
        let path = format!("/v1/jobs/{}/dead-letter", stored["id"].as_str().unwrap());
        by("admin", "POST", &path).json(&json!({"reason": "order 7 is gone"})).expect(200);
    }
    let groups = |id: &str, path: &str| {
        let answer = by(id, "GET", path).send().expect(200).value();
        let groups = answer["groups"].as_array().unwrap().clone();
        let told = |group: &Value| {
            assert_eq!(group["signature"], "order <n> is gone");
            format!("{} {}", group["queue"].as_str().unwrap(), group["kind"].as_str().unwrap())
        };
        let mut told: Vec<String> = groups.iter().map(told).collect();
        told.sort();
        told
    };
    let all = ["acme.jobs mail.send", "other mail.send", "other sms"];
    assert_eq!(groups("admin", "/v1/errors"), all);
    assert_eq!(groups("admin", "/v1/errors?limit=1").len(), 1);
    assert_eq!(groups("acme", "/v1/errors"), all[..1]);
    assert_eq!(groups("mailer", "/v1/errors"), all[..2]);
    assert_eq!(groups("mailer", "/v1/errors?queue=other"), all[1..2]);
    assert_eq!(groups("mailer", "/v1/errors?limit=1").len(), 1, "of those that it sees");
    by("acme", "GET", "/v1/errors?queue=other").send().problem(403, "forbidden");
    let answer = by("admin", "GET", "/v1/errors?queue=acme.jobs").send().expect(200).value();
    let id = answer["groups"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(groups("admin", &format!("/v1/errors/{id}")), all[..2]);
    assert_eq!(groups("acme", &format!("/v1/errors/{id}")), all[..1]);
    for path in ["/v1/errors/0123456789abcdef", "/v1/errors/0123456789abcdef?queue=none"] {
        by("admin", "GET", path).send().problem(404, "not_found");
    }
    for path in ["/v1/errors/x", "/v1/errors?queue=a%20b", "/v1/errors?limit=0", "/v1/jobs?group=1"]
    {
        by("admin", "GET", path).send().problem(422, "invalid");
    }
}

#[test]
fn r6_8_only_a_retry_is_spread() {
    let server = guarded();
    let bulk = |action: &str| {
        let body = json!({"action": action, "over_ms": 1000, "filter": {"queue": "q"}});
        server.ask("POST", "/v1/jobs/bulk").key(&secret("admin")).json(&body)
    };
    bulk("retry").expect(200);
    bulk("cancel").problem(422, "invalid");
}
