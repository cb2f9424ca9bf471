//! Keys that are for some queues or kinds only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Ask, guarded, secret};
use serde_json::{Value, json};

#[test]
fn s11_a_bound_key_sees_and_changes_only_what_it_is_bound_to() {
    let server = guarded();
    let by = |id: &str, method: &str, path: &str| server.ask(method, path).key(&secret(id));
    let store = |queue: &str, kind: &str| {
        let job = json!({"kind": kind, "queue": queue, "idempotency_key": "k"});
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
        ("mailer", "/v1/jobs?kind=mail.send", "jobs"),
    ] {
        assert_eq!(count(by(id, "GET", path).send(), of), 1, "{id} {path}");
    }
    // Cursors would tell of what is hidden.
    for (id, path) in [
        ("acme", "/v1/jobs"),
        ("acme", "/v1/jobs?queue=other"),
        ("acme", "/v1/queues/other/jobs"),
        ("acme", "/v1/scale?queues=acme.jobs,other"),
        ("mailer", "/v1/jobs"),
        ("mailer", "/v1/jobs?kind=sms"),
    ] {
        by(id, "GET", path).send().problem(403, "forbidden");
    }
    let metrics = by("acme", "GET", "/metrics").send().expect(200).text;
    assert!(metrics.contains(r#""acme.jobs""#) && !metrics.contains(r#""other""#), "{metrics}");
    let scale = by("acme", "GET", "/v1/scale").send().expect(200).value();
    assert_eq!(scale["ready"], 1, "those it does not see are not counted");
    by("acme", "GET", &format!("/v1/jobs/{own}")).send().expect(200);
    for id in ["acme", "mailer"] {
        for (method, action) in [
            ("GET", ""),
            ("GET", "/why"),
            ("GET", "/checkpoints"),
            ("DELETE", ""),
            ("POST", "/retry"),
            ("POST", "/cancel"),
        ] {
            let reply = by(id, method, &format!("/v1/jobs/{other}{action}")).send();
            reply.problem(404, "not_found");
        }
        let dead_letter = by(id, "POST", &format!("/v1/jobs/{other}/dead-letter"));
        dead_letter.json(&json!({"reason": "r"})).problem(404, "not_found");
    }
    let refused = |ask: Ask, body: Value| drop(ask.json(&body).problem(403, "forbidden"));
    refused(by("acme", "POST", "/v1/jobs"), json!({"kind": "t", "queue": "other"}));
    refused(by("mailer", "POST", "/v1/jobs"), json!({"kind": "sms"}));
    refused(by("acme", "POST", "/v1/jobs/bulk"), json!({"action": "cancel", "filter": {}}));
    let filter = json!({"action": "cancel", "filter": {"queue": "other"}});
    refused(by("acme", "POST", "/v1/jobs/bulk"), filter);
    refused(by("acme", "POST", "/v1/reserve"), json!({"queues": ["other"], "worker": "w"}));
    refused(by("mailer", "POST", "/v1/reserve"), json!({"queues": ["other"], "worker": "w"}));
    refused(by("acme", "PATCH", "/v1/queues/other"), json!({"paused": true}));
    refused(by("mailer", "POST", "/v1/queues/other/pause"), json!({}));
    let schedule = json!({"every_ms": 60_000, "job": {"kind": "t", "queue": "other"}});
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
    refused(by("acme", "POST", "/v1/checkpoint"), json!({"token": token, "name": "s"}));
    refused(by("acme", "POST", "/v1/checkpoints"), json!({"token": token}));
    assert_eq!(count(by("acme", "GET", "/v1/schedules").send(), "schedules"), 0);
}

/// Guard: a page ends at a queue that the key sees, and has no `after` if only others follow.
#[test]
fn s11_pages_of_queues_and_workers_do_not_tell_a_bound_key_of_others() {
    let server = guarded();
    let own: Vec<String> = (0..3).map(|number| format!("acme.{number}")).collect();
    let others: Vec<String> = (0..4).map(|number| format!("acme{number}")).collect();
    let more = ["a".to_owned(), "acme-x".to_owned(), "z".to_owned()];
    for name in own.iter().chain(&others).chain(&more) {
        let job = json!({"kind": "t", "queue": name});
        server.ask("POST", "/v1/jobs").key(&secret("admin")).json(&job).expect(201);
        let beat = json!({
            "id": name, "name": "w", "queues": [name], "kinds": [], "slots": 1, "running": 0,
            "ttl_ms": 600_000,
        });
        server.ask("POST", "/v1/beat").key(&secret("admin")).json(&beat).expect(200);
    }
    for (path, items, key) in [("/v1/queues", "queues", "name"), ("/v1/workers", "workers", "id")] {
        for limit in [1, 2, 3, 100] {
            let (mut after, mut listed, mut pages) = (String::new(), Vec::new(), 0);
            loop {
                let ask = server.get(&format!("{path}?limit={limit}{after}"));
                let page = ask.key(&secret("acme")).send().expect(200).value();
                let shown = page[items].as_array().unwrap();
                listed.extend(shown.iter().map(|item| item[key].as_str().unwrap().to_owned()));
                pages += 1;
                let Some(last) = page["after"].as_str() else { break };
                assert!(own.iter().any(|name| name == last), "{path} tells of {last}");
                after = format!("&after={last}");
            }
            assert_eq!(listed, own, "{path}");
            assert_eq!(pages, own.len().div_ceil(limit), "{path}, {limit} a page");
        }
    }
}

#[test]
fn s11_a_bound_key_does_not_speak_for_workers_of_others() {
    let server = guarded();
    let beat = |id: &str, queues: &[&str]| {
        let beat = json!({
            "id": "w", "name": id, "queues": queues, "kinds": [], "slots": 1, "running": 0,
            "ttl_ms": 10_000,
        });
        server.ask("POST", "/v1/beat").key(&secret(id)).json(&beat)
    };
    beat("worker", &["other"]).expect(200);
    beat("acme", &["acme.a"]).problem(403, "forbidden");
    beat("acme", &[]).problem(403, "forbidden");
    let more = json!({
        "id": "m", "name": "m", "queues": ["acme.a"], "more_queues": true, "kinds": [],
        "slots": 1, "running": 0, "ttl_ms": 1000,
    });
    server.ask("POST", "/v1/beat").key(&secret("acme")).json(&more).problem(403, "forbidden");
    let remove = |id: &str| server.ask("DELETE", "/v1/workers/w").key(&secret(id)).send();
    remove("acme").problem(403, "forbidden");
    let workers = server.get("/v1/workers").key(&secret("reader")).send().expect(200).value();
    assert_eq!(workers["workers"][0]["name"], "worker");
    remove("worker").expect(204);
    beat("acme", &["acme.a"]).expect(200);
    remove("acme").expect(204);
    remove("acme").problem(404, "not_found");
}

/// Guard: each worker that an order is for is checked, and jobs are shown of such workers only.
#[test]
fn s11_a_bound_key_gives_orders_to_workers_of_its_own_queues_only() {
    let server = guarded();
    let job = json!({"kind": "t", "queue": "acme.a"});
    let job = server.ask("POST", "/v1/jobs").key(&secret("admin")).json(&job).expect(201).value();
    let running = json!([{"id": job["id"], "kind": "t", "since": "2026-01-31T12:00:00Z"}]);
    for (id, queues, more) in [
        ("own", &["acme.a"][..], false),
        ("both", &["acme.a", "other"], false),
        ("any", &["acme.a"], true),
        ("other", &["other"], false),
    ] {
        let beat = json!({
            "id": id, "name": "w", "queues": queues, "more_queues": more, "kinds": ["t"],
            "slots": 1, "running": 1, "ttl_ms": 600_000, "jobs": running,
        });
        server.ask("POST", "/v1/beat").key(&secret("admin")).json(&beat).expect(200);
    }
    let control =
        |body: Value| server.ask("POST", "/v1/workers/control").key(&secret("acme")).json(&body);
    let own = json!({"workers": ["own"]});
    for all in [json!({"all": true, "order": "quiet"}), json!({"name": "w", "order": "quiet"})] {
        assert_eq!(control(all).expect(200).value(), own);
    }
    assert_eq!(control(json!({"workers": ["own", "gone"], "slots": 2})).expect(200).value(), own);
    for hidden in ["both", "any", "other"] {
        let body = json!({"workers": ["own", hidden], "order": "stop"});
        control(body).problem(403, "forbidden");
    }
    let seen = |id: &str| server.get(&format!("/v1/workers/{id}")).key(&secret("acme")).send();
    assert_eq!(seen("own").expect(200).value()["orders"]["mode"], "quiet", "none was stopped");
    assert_eq!(seen("own").expect(200).value()["jobs"].as_array().unwrap().len(), 1);
    for partly in ["both", "any"] {
        let shown = seen(partly).expect(200).value();
        assert_eq!((&shown["jobs"], &shown["orders"]), (&json!([]), &Value::Null), "{partly}");
    }
    seen("other").problem(404, "not_found");
}

#[test]
fn s11_a_key_for_some_kinds_does_not_speak_for_workers_of_other_kinds() {
    let server = guarded();
    let beat = |key: &str, kinds: &[&str], more: bool| {
        let beat = json!({
            "id": "w", "name": key, "queues": ["acme.a"], "kinds": kinds, "more_kinds": more,
            "slots": 1, "running": 0, "ttl_ms": 10_000,
        });
        server.ask("POST", "/v1/beat").key(&secret(key)).json(&beat)
    };
    let remove = || server.ask("DELETE", "/v1/workers/w").key(&secret("mailer")).send();
    beat("mailer", &["sms"], false).problem(403, "forbidden");
    beat("mailer", &["mail.send"], true).problem(403, "forbidden");
    beat("mailer", &[], false).problem(403, "forbidden");
    for (kinds, more) in [(&["mail.send", "sms"][..], false), (&["mail.send"], true)] {
        beat("worker", kinds, more).expect(200);
        beat("mailer", &["mail.send"], false).problem(403, "forbidden");
        remove().problem(403, "forbidden");
    }
    beat("worker", &["mail.send"], false).expect(200);
    beat("mailer", &["mail.send"], false).expect(200);
    remove().expect(204);
}

/// Guard: a worker that names nothing serves nothing that the key is for.
#[test]
fn s11_a_worker_that_names_no_queues_or_no_kinds_is_for_unrestricted_keys() {
    let server = guarded();
    let job = json!({"kind": "mail.send", "queue": "acme.a"});
    let job = server.ask("POST", "/v1/jobs").key(&secret("admin")).json(&job).expect(201).value();
    let jobs = json!([{"id": job["id"], "kind": "mail.send", "since": "2026-01-31T12:00:00Z"}]);
    let beat = |key: &str, id: &str, queues: &[&str], kinds: &[&str]| {
        let beat = json!({
            "id": id, "name": "w", "queues": queues, "kinds": kinds, "slots": 1, "running": 1,
            "ttl_ms": 600_000, "host": "h", "pid": 1, "jobs": jobs,
        });
        server.ask("POST", "/v1/beat").key(&secret(key)).json(&beat)
    };
    for (id, queues, kinds) in [
        ("no-kinds", &["acme.a"][..], &[][..]),
        ("no-queues", &[], &["mail.send"]),
        ("nothing", &[], &[]),
    ] {
        beat("worker", id, queues, kinds).expect(200);
    }
    let control = |key: &str, body: Value| {
        server.ask("POST", "/v1/workers/control").key(&secret(key)).json(&body)
    };
    let get = |key: &str, path: &str| server.get(path).key(&secret(key)).send();
    let delete = |key: &str, path: &str| server.ask("DELETE", path).key(&secret(key)).send();
    let all = json!({"all": true, "order": "stop"});
    assert_eq!(control("acme", all.clone()).expect(200).value(), json!({"workers": ["no-kinds"]}));
    control("mailer", all).problem(404, "not_found");
    for (key, ids) in
        [("acme", &["no-queues", "nothing"][..]), ("mailer", &["no-kinds", "no-queues", "nothing"])]
    {
        for id in ids {
            let path = format!("/v1/workers/{id}");
            control(key, json!({"workers": [id], "slots": 1})).problem(403, "forbidden");
            get(key, &path).problem(404, "not_found");
            beat(key, id, &["acme.a"], &["mail.send"]).problem(403, "forbidden");
            delete(key, &path).problem(403, "forbidden");
        }
    }
    let seen = |key: &str| {
        let page = get(key, "/v1/workers").expect(200).value();
        page["workers"].as_array().unwrap().len()
    };
    assert_eq!([seen("acme"), seen("mailer"), seen("reader")], [1, 0, 3]);
    // A key for all kinds may send a beat that names none, and may remove that worker.
    beat("acme", "no-kinds", &["acme.a"], &[]).expect(200);
    delete("acme", "/v1/workers/no-kinds").expect(204);
}

#[test]
fn s11_a_key_for_some_kinds_sees_workers_of_its_kinds_only() {
    let server = guarded();
    for (id, queue, kinds, more) in [
        ("both", "a", &["mail.send", "sms"][..], false),
        ("consumer", "event.c", &["event.c"], false),
        ("more", "a", &["sms"], true),
        ("other", "a", &["sms"], false),
    ] {
        let beat = json!({
            "id": id, "name": "w", "queues": [queue], "kinds": kinds, "more_kinds": more,
            "slots": 1, "running": 0, "ttl_ms": 600_000,
        });
        server.ask("POST", "/v1/beat").key(&secret("worker")).json(&beat).expect(200);
    }
    let page = server.get("/v1/workers").key(&secret("mailer")).send().expect(200).value();
    let seen = page["workers"].as_array().unwrap().iter();
    let seen: Vec<_> = seen.map(|worker| (&worker["id"], &worker["kinds"])).collect();
    let (own, none) = (json!(["mail.send"]), json!([]));
    let ids = [json!("both"), json!("consumer"), json!("more")];
    assert_eq!(seen, [(&ids[0], &own), (&ids[1], &none), (&ids[2], &none)]);
}

#[test]
fn s11_a_key_for_some_kinds_is_told_nothing_of_a_job_of_another_kind() {
    let server = guarded();
    let store = |key: &str, job: &Value| server.ask("POST", "/v1/jobs").key(&secret(key)).json(job);
    let job = |kind: &str, key: &str| {
        let queue = "acme.a";
        json!({"kind": kind, "queue": queue, "idempotency_key": key, "partition_key": "p"})
    };
    let hidden = store("admin", &job("sms", "k")).expect(201).value();
    let told = store("mailer", &job("mail.send", "k")).expect(200).value();
    assert_eq!(told, json!({"id": hidden["id"], "outcome": "duplicate"}));
    let own = store("mailer", &job("mail.send", "own")).expect(201).value();
    let path = format!("/v1/jobs/{}/why", own["id"].as_str().unwrap());
    let why = |key: &str| {
        let why = server.get(&path).key(&secret(key)).send().expect(200).value();
        why["sentence"].as_str().unwrap().to_owned()
    };
    let hidden = hidden["id"].as_str().unwrap();
    assert_eq!(why("admin"), format!("blocked behind job {hidden} of partition key p"));
    assert_eq!(why("mailer"), "blocked behind another job of partition key p");
}

#[test]
fn s11_a_duplicate_tells_id_and_state_only_unless_the_key_may_read() {
    let server = guarded();
    let job = json!({"kind": "t", "queue": "acme.a", "idempotency_key": "k", "payload": "private"});
    let ask = |id: &str| server.ask("POST", "/v1/jobs").key(&secret(id)).json(&job);
    let first = ask("admin").expect(201).value();
    let told = ask("writer").expect(200).value();
    assert_eq!((&told["id"], &told["status"]), (&first["id"], &json!("ready")));
    assert_eq!(told.as_object().unwrap().len(), 3, "{told}");
    assert_eq!(ask("acme").expect(200).value()["job"]["payload"], "private");
}

#[test]
fn s11_a_page_does_not_name_a_job_that_the_key_may_not_see() {
    let server = guarded();
    for kind in ["mail.send", "secret"] {
        let job = json!({"kind": kind, "queue": "shared"});
        server.ask("POST", "/v1/jobs").key(&secret("producer")).json(&job).expect(201);
    }
    let examined = |key: &str| {
        let path = "/v1/jobs?queue=shared&kind=mail.send";
        let page = server.get(path).key(&secret(key)).send().expect(200).value();
        page["examined"].clone()
    };
    assert_eq!(examined("mailer"), json!({"jobs": 2}));
    assert!(examined("admin")["up_to"].is_string());
}

/// Guard: whose schedule it is, is checked while nobody can replace it.
#[test]
fn s11_a_schedule_is_not_taken_over_while_it_is_created() {
    let server = guarded();
    let schedule = |queue: &str| json!({"cron": "0 0 1 1 *", "job": {"kind": "t", "queue": queue}});
    for round in 0..5 {
        let path = format!("/v1/schedules/s{round}");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let ask = |method| server.ask(method, &path).key(&secret("planner"));
                        ask("PUT").json(&schedule("acme.a"));
                        ask("DELETE").send();
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(50));
            let put = server.ask("PUT", &path).key(&secret("admin")).json(&schedule("other"));
            assert!([200, 201].contains(&put.status), "{}", put.text);
            std::thread::sleep(Duration::from_millis(200));
            is_over.store(true, Ordering::Relaxed);
        });
        let stored = server.get(&path).key(&secret("admin")).send().expect(200).value();
        assert_eq!(stored["job"]["queue"], "other");
    }
}
