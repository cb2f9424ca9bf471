//! Error groups.

use serde_json::{Value, json};

use crate::common::{Server, guarded, on_every_store, secret};

on_every_store!(r8_10_a_note_is_written_and_shown_with_its_group);

fn r8_10_a_note_is_written_and_shown_with_its_group(server: &mut Server) {
    let job = json!({"kind": "mail", "queue": "mails"});
    let stored = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
    let path = format!("/v1/jobs/{}/dead-letter", stored["id"].as_str().unwrap());
    server.ask("POST", &path).json(&json!({"reason": "order 7 is gone"})).expect(200);
    let group = || {
        let groups = server.get("/v1/errors?queue=mails").send().expect(200).value();
        groups["groups"][0].clone()
    };
    let id = group()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/errors/{id}/note?queue=mails");
    let write = |text: &str| server.ask("PUT", &path).json(&json!({ "text": text }));
    write("known, ticket 123").expect(204);
    let note = group()["note"].clone();
    assert_eq!((&note["text"], &note["by"]), (&json!("known, ticket 123"), &json!("-")));
    let found = server.get(&format!("/v1/errors/{id}")).send().expect(200).value();
    assert_eq!(found["groups"][0]["id"], id.as_str());
    let queue = server.get("/v1/queues/mails").send().expect(200).value();
    assert!(!queue.to_string().contains("ticket"), "not everybody may see the group: {queue}");
    let patched = server.ask("PATCH", "/v1/queues/mails").json(&json!({"per_key": 2})).expect(200);
    assert!(!patched.value().to_string().contains("ticket"));
    assert_eq!(group()["note"], note, "another setting changes");
    for text in ["x".repeat(501), "a\nb".to_owned()] {
        write(&text).problem(422, "invalid");
    }
    write("").expect(204);
    assert!(group().get("note").is_none());
    let acts = server.get("/v1/audit").send().expect(200).value();
    let target = acts["entries"][0]["target"].as_str().unwrap().to_owned();
    assert_eq!(acts["entries"][0]["action"], "note");
    assert!(target.starts_with(&format!("error group {id} of queue mails")), "{target}");
}

#[test]
fn r8_10_a_note_needs_a_group_and_an_unrestricted_administrator() {
    let server = guarded();
    let by = |id: &str, method: &str, path: &str| server.ask(method, path).key(&secret(id));
    let job = json!({"kind": "mail.send", "queue": "acme.jobs"});
    let stored = by("admin", "POST", "/v1/jobs").json(&job).expect(201).value();
    let path = format!("/v1/jobs/{}/dead-letter", stored["id"].as_str().unwrap());
    by("admin", "POST", &path).json(&json!({"reason": "gone"})).expect(200);
    let groups = by("admin", "GET", "/v1/errors?queue=acme.jobs").send().expect(200).value();
    let id = groups["groups"][0]["id"].as_str().unwrap().to_owned();
    let write = |key: &str, id: &str, queue: &str| {
        let path = format!("/v1/errors/{id}/note?queue={queue}");
        by(key, "PUT", &path).json(&json!({"text": "known"}))
    };
    for key in ["acme", "mailer"] {
        write(key, &id, "other").problem(403, "forbidden");
    }
    write("mailer", &id, "acme.jobs").problem(403, "forbidden");
    write("admin", &id, "none").problem(404, "not_found");
    by("admin", "GET", "/v1/queues/none").send().problem(404, "not_found");
    write("admin", "0123456789abcdef", "acme.jobs").problem(404, "not_found");
    write("admin", "x", "acme.jobs").problem(422, "invalid");
    write("admin", &id, "acme.jobs").expect(204);
    let groups = by("acme", "GET", "/v1/errors").send().expect(200).value();
    assert_eq!(groups["groups"][0]["note"]["by"], "admin");
}

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
