//! Workers by HTTP: their beats, and orders to them.

use crate::common::{Server, on_every_store};
use serde_json::{Value, json};

on_every_store! {
    a_beat_shows_the_worker,
    r3_9_a_worker_says_what_runs_and_gets_its_orders,
    r13_8_a_worker_says_which_kinds_it_cannot_read,
}

fn a_beat_shows_the_worker(server: &mut Server) {
    let beat = json!({
        "id": "mailer-1", "name": "mailer", "queues": ["default"], "kinds": ["t"], "slots": 4,
        "running": 1, "ttl_ms": 10_000,
    });
    server.ask("POST", "/v1/beat").json(&beat).expect(200);
    let workers = server.get("/v1/workers").send().expect(200).value();
    let worker = &workers["workers"][0];
    assert_eq!((&worker["id"], &worker["kinds"]), (&json!("mailer-1"), &json!(["t"])));
    assert!(worker["age_ms"].as_u64().unwrap() < 10_000);
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
    let queue = server.get("/v1/queues/default").send().expect(200).value();
    assert_eq!((&queue["workers"], &queue["health"]["score"]), (&json!(1), &json!(100)));
}

fn r3_9_a_worker_says_what_runs_and_gets_its_orders(server: &mut Server) {
    let job = server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201).value();
    let id = &job["id"];
    let running = json!([{"id": id, "kind": "t", "since": "2026-01-31T12:00:00.000Z"}]);
    let mut beat = json!({
        "id": "mailer-1", "name": "mailer", "queues": ["default"], "kinds": ["t"], "slots": 4,
        "running": 1, "ttl_ms": 10_000, "host": "mail-7", "pid": 4711, "version": "1.4.0",
        "started_at": "2026-01-31T11:00:00.000Z", "jobs": running, "quiet_ms": 60_000,
    });
    let beats = |beat: &Value| server.ask("POST", "/v1/beat").json(beat).expect(200).value();
    assert_eq!(beats(&beat), json!({"orders": null}));
    let shown = || server.get("/v1/workers/mailer-1").send().expect(200).value();
    for field in ["host", "pid", "version", "started_at", "jobs", "quiet_ms"] {
        assert_eq!(shown()[field], beat[field], "{field}");
    }
    assert_eq!(shown()["orders"], Value::Null);
    let control = |body: &Value| server.ask("POST", "/v1/workers/control").json(body);
    let given = json!({"workers": ["mailer-1"]});
    let quiet = json!({"workers": ["mailer-1", "gone"], "order": "quiet"});
    assert_eq!(control(&quiet).expect(200).value(), given);
    assert_eq!(control(&json!({"name": "mailer", "slots": 2})).expect(200).value(), given);
    let orders = json!({"seq": 2, "mode": "quiet", "slots": 2});
    assert_eq!(shown()["orders"], orders);
    let listed = server.get("/v1/workers").send().expect(200).value();
    assert_eq!(listed["workers"][0]["orders"], orders);
    assert_eq!(beats(&beat)["orders"], orders);
    beat["obeyed"] = json!(2);
    assert_eq!(beats(&beat), json!({"orders": null}));
    assert_eq!(control(&json!({"all": true, "order": "stop"})).expect(200).value(), given);
    assert_eq!(beats(&beat)["orders"], json!({"seq": 3, "mode": "stop"}));
    server.get("/v1/workers/gone").send().problem(404, "not_found");
    for nobody in [json!({"name": "other"}), json!({"workers": ["gone"]})] {
        let mut body = nobody;
        body["order"] = json!("resume");
        control(&body).problem(404, "not_found");
    }
    for (body, field) in [
        (json!({"order": "quiet"}), "workers"),
        (json!({"order": "quiet", "workers": []}), "workers"),
        (json!({"order": "quiet", "workers": ["a b"]}), "workers"),
        (json!({"order": "quiet", "workers": ["w"], "all": true}), "workers"),
        (json!({"order": "quiet", "workers": ["w"], "name": "mailer"}), "workers"),
        (json!({"all": true}), "order"),
        (json!({"all": true, "order": "quiet", "slots": 1}), "order"),
        (json!({"all": true, "order": "pause"}), "order"),
        (json!({"all": true, "slots": 0}), "slots"),
        (json!({"all": true, "slots": 1_000_001}), "slots"),
    ] {
        assert_eq!(control(&body).problem(422, "invalid")["field"], field, "{body}");
    }
}

fn r13_8_a_worker_says_which_kinds_it_cannot_read(server: &mut Server) {
    let said = |kind: &str| {
        json!({
            "kind": kind, "times": 3, "first": "2026-01-31T12:00:00.000Z",
            "last": "2026-01-31T13:00:00.000Z", "error": "no field `to`",
        })
    };
    let beats = |undecodable: Vec<Value>| {
        server.ask("POST", "/v1/beat").json(&json!({
            "id": "mailer-1", "name": "mailer", "queues": ["default"], "kinds": ["mail"],
            "slots": 4, "running": 1, "ttl_ms": 10_000, "undecodable": undecodable,
        }))
    };
    beats(vec![said("mail")]).expect(200);
    let found = server.get("/v1/findings").send().expect(200).value();
    let found = found["findings"].as_array().unwrap();
    let wanted = "1 of 1 workers with a handler for mail could not read its payload, and parked \
                  jobs 3 times since 2026-01-31T12:00:00.000Z: no field `to`";
    assert!(found.iter().any(|one| one["message"] == wanted), "{found:?}");
    for wrong in [vec![said("mail"); 11], vec![said("a b")]] {
        assert_eq!(beats(wrong).problem(422, "invalid")["field"], "undecodable");
    }
}
