//! What stays and is shared: no key creates so much of it that nothing is left for another.

use serde_json::{Value, json};

use crate::common::{Reply, Server, Store, by, command, digest, guarded_on, guarded_with, secret};

fn enqueue(server: &Server, key: &str, queue: &str) -> Reply {
    by(server, key, "POST", "/v1/jobs").json(&json!({"kind": "t", "queue": queue}))
}

fn schedule(server: &Server, key: &str, name: &str, queue: &str) -> Reply {
    let body = json!({"every_ms": 86_400_000, "job": {"kind": "t", "queue": queue}});
    by(server, key, "PUT", &format!("/v1/schedules/{name}")).json(&body)
}

fn subscribe(server: &Server, key: &str, consumer: &str) -> Reply {
    by(server, key, "PUT", &format!("/v1/subscriptions/{consumer}")).json(&json!({"events": "*"}))
}

fn remove(server: &Server, key: &str, path: &str) {
    by(server, key, "DELETE", path).send().expect(204);
}

/// The lines of a key that may do so much in a second.
fn bounded_key(id: &str, scopes: &[&str], per_second: u32) -> String {
    let digest = digest(&secret(id));
    format!(
        "[[keys]]\nid = {id:?}\nsha256 = {digest:?}\nscopes = {scopes:?}\n\
         per_second = {per_second}\n"
    )
}

/// Refused by this quota, whose figure and setting it names.
#[track_caller]
fn refused(reply: Reply, says: &[&str]) {
    let problem = reply.problem(409, "quota_exceeded");
    let detail = problem["detail"].as_str().unwrap();
    assert!(says.iter().all(|word| detail.contains(word)), "{detail}");
}

const QUEUES: [&str; 2] = ["the key hostile", "may create at most 3 queues: "];

#[test]
fn s6_a_key_that_has_created_all_its_queues_leaves_room_for_others() {
    let server = guarded_with("[limits]\nmax_queues_per_key = 3");
    let batch = |queues: &[&str]| {
        let jobs: Vec<Value> = queues.iter().map(|q| json!({"kind": "t", "queue": q})).collect();
        by(&server, "hostile", "POST", "/v1/jobs").json(&json!({"jobs": jobs}))
    };
    enqueue(&server, "hostile", "q1").expect(201);
    batch(&["q1", "q2", "q3", "q2"]).expect(201);
    refused(enqueue(&server, "hostile", "q4"), &[&QUEUES[..], &["max_queues_per_key"]].concat());
    refused(batch(&["q1", "q5"]), &QUEUES);
    refused(schedule(&server, "hostile", "s", "q4"), &QUEUES);
    refused(subscribe(&server, "hostile", "c"), &QUEUES);
    refused(by(&server, "hostile", "POST", "/createJob").json(&json!({"kind": "t"})), &QUEUES);
    enqueue(&server, "hostile", "q3").expect(201);
    schedule(&server, "hostile", "s", "q3").expect(201);
    for n in 0..5 {
        enqueue(&server, "admin", &format!("admin{n}")).expect(201);
    }
    enqueue(&server, "producer", "q4").expect(201);
    enqueue(&server, "hostile", "q4").expect(201);
    enqueue(&server, "neighbour", "neighbour").expect(201);
    schedule(&server, "manager", "own", "manager").expect(201);
    subscribe(&server, "manager", "own").expect(201);
    remove(&server, "admin", "/v1/queues/q2?force=true");
    enqueue(&server, "hostile", "q6").expect(201);
    refused(enqueue(&server, "hostile", "q2"), &QUEUES);
}

#[test]
fn s6_a_schedule_and_a_consumer_have_queues_that_count_from_the_first() {
    let server = guarded_with("[limits]\nmax_queues_per_key = 2");
    schedule(&server, "hostile", "s", "of.schedule").expect(201);
    subscribe(&server, "hostile", "c").expect(201);
    for queue in ["of.schedule", "event.c"] {
        by(&server, "admin", "GET", &format!("/v1/queues/{queue}")).send().expect(200);
    }
    refused(enqueue(&server, "hostile", "q"), &["may create at most 2"]);
    // Who has created none yet finds one that is there.
    enqueue(&server, "producer", "of.schedule").expect(201);
    remove(&server, "admin", "/v1/queues/of.schedule?force=true");
    let run = || by(&server, "hostile", "POST", "/v1/schedules/s/run").send();
    enqueue(&server, "hostile", "q").expect(201);
    refused(run(), &["may create at most 2"]);
    remove(&server, "admin", "/v1/queues/q?force=true");
    run().expect(201);
    refused(enqueue(&server, "hostile", "q"), &["may create at most 2"]);
}

#[test]
fn s6_a_key_that_has_put_all_its_schedules_leaves_room_for_others() {
    let server = guarded_with("[limits]\nmax_schedules_per_key = 2");
    schedule(&server, "admin", "admin1", "q").expect(201);
    for name in ["s1", "s2"] {
        schedule(&server, "hostile", name, "q").expect(201);
    }
    let says = ["the key hostile", "may create at most 2 schedules: ", "max_schedules_per_key"];
    refused(schedule(&server, "hostile", "s3", "q"), &says);
    for name in ["s1", "admin1"] {
        schedule(&server, "hostile", name, "q").expect(200);
    }
    schedule(&server, "manager", "s3", "q").expect(201);
    schedule(&server, "admin", "admin2", "q").expect(201);
    remove(&server, "manager", "/v1/schedules/s2");
    schedule(&server, "hostile", "s4", "q").expect(201);
    refused(schedule(&server, "hostile", "s2", "q"), &says);
}

#[test]
fn s6_a_key_that_has_put_all_its_subscriptions_leaves_room_for_others() {
    let server = guarded_with("[limits]\nmax_subscriptions_per_key = 2");
    for consumer in ["c1", "c2"] {
        subscribe(&server, "hostile", consumer).expect(201);
    }
    let says = ["the key hostile", "at most 2 subscriptions: ", "max_subscriptions_per_key"];
    refused(subscribe(&server, "hostile", "c3"), &says);
    subscribe(&server, "hostile", "c1").expect(200);
    subscribe(&server, "manager", "c3").expect(201);
    for n in 0..5 {
        subscribe(&server, "admin", &format!("admin{n}")).expect(201);
    }
    remove(&server, "manager", "/v1/subscriptions/c2");
    subscribe(&server, "hostile", "c4").expect(201);
    refused(subscribe(&server, "hostile", "c2"), &says);
}

#[test]
fn s6_a_key_adds_few_deliveries_to_the_events_of_others() {
    let server = guarded_with("[limits]\nmax_subscriptions_per_event = 2");
    let subscribe = |key, consumer: &str, events: &str| {
        let path = format!("/v1/subscriptions/{consumer}");
        by(&server, key, "PUT", &path).json(&json!({ "events": events }))
    };
    for (consumer, events) in [("c1", "*"), ("c2", "order.*"), ("c3", "bill.*"), ("c4", "bill")] {
        subscribe("hostile", consumer, events).expect(201);
    }
    let says = ["more than 2 subscriptions of the key hostile", "max_subscriptions_per_event"];
    refused(subscribe("hostile", "c5", "order.paid"), &says);
    refused(subscribe("hostile", "c4", "*"), &says);
    subscribe("hostile", "c2", "order.paid").expect(200);
    subscribe("manager", "c5", "order.paid").expect(201);
    subscribe("hostile", "c6", "order.sent").expect(201);
}

#[test]
fn s6_a_key_that_has_all_its_live_workers_leaves_room_for_others() {
    let server = guarded_with("[limits]\nmax_workers_per_key = 2");
    let beat = |key: &str, id: &str| {
        by(&server, key, "POST", "/v1/beat").json(&json!({"id": id, "name": id,
            "queues": ["neighbour"], "kinds": [], "slots": 1, "running": 0, "ttl_ms": 60_000}))
    };
    for id in ["w1", "w2", "w1"] {
        beat("hostile", id).expect(200);
    }
    let problem = beat("hostile", "w3").problem(429, "rate_limited");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("2 live workers") && detail.contains("max_workers_per_key"),
        "{detail}"
    );
    beat("neighbour", "w3").expect(200);
    for id in ["a1", "a2", "a3"] {
        beat("admin", id).expect(200);
    }
    remove(&server, "admin", "/v1/workers/w1");
    beat("hostile", "w3").expect(200);
}

/// Guard: a tenant's key with `admin` for its own queues could create all that a store holds.
#[test]
fn s6_a_key_that_is_admin_of_some_queues_has_quotas() {
    let server = guarded_with("[limits]\nmax_queues_per_key = 2\nmax_workers_per_key = 1");
    for queue in ["acme.1", "acme.2"] {
        enqueue(&server, "acme", queue).expect(201);
    }
    refused(enqueue(&server, "acme", "acme.3"), &["the key acme", "max_queues_per_key"]);
    let configure = |queue: &str| {
        by(&server, "acme", "PATCH", &format!("/v1/queues/{queue}")).json(&json!({"paused": true}))
    };
    configure("acme.2").expect(200);
    refused(configure("acme.4"), &["the key acme", "max_queues_per_key"]);
    remove(&server, "acme", "/v1/queues/acme.1?force=true");
    configure("acme.4").expect(200);
    refused(by(&server, "acme", "POST", "/v1/queues/acme.5/pause").send(), &["the key acme"]);
    by(&server, "admin", "POST", "/v1/queues/acme.5/pause").send().expect(200);
}

#[test]
fn s6_what_is_refused_by_the_store_is_not_counted() {
    let server = guarded_with("[limits]\nmax_queues_per_key = 1\nmax_schedules_per_key = 1");
    enqueue(&server, "admin", "q").expect(201);
    let large = json!({"kind": "t", "queue": "large", "payload": "x".repeat(1 << 20)});
    by(&server, "hostile", "POST", "/v1/jobs").json(&large).problem(422, "invalid");
    let over = json!({"every_ms": 60_000, "end": "2020-01-01T00:00:00Z",
        "job": {"kind": "t", "queue": "q"}});
    by(&server, "hostile", "PUT", "/v1/schedules/over").json(&over).problem(422, "invalid");
    enqueue(&server, "hostile", "own").expect(201);
    schedule(&server, "hostile", "own", "q").expect(201);
    refused(enqueue(&server, "hostile", "other"), &["may create at most 1"]);
    refused(schedule(&server, "hostile", "other", "q"), &["may create at most 1"]);
}

#[test]
fn s6_what_was_removed_by_way_of_others_makes_room() {
    let server = guarded_on(Store::of("sqlite").unwrap(), "[limits]\nmax_queues_per_key = 1");
    enqueue(&server, "hostile", "q1").expect(201);
    let removed = command(&server.store)
        .args(["queue", "remove", "q1", "--force", "--yes", "--url", &server.store.url])
        .output()
        .unwrap();
    assert!(removed.status.success(), "{removed:?}");
    enqueue(&server, "hostile", "q2").expect(201);
    refused(enqueue(&server, "hostile", "q3"), &["may create at most 1"]);
}

/// Asks until the key has rested.
fn rested(ask: impl Fn() -> Reply) -> Reply {
    let is_let_in = |reply: &Reply| !reply.text.contains("rate_limited");
    (0..10_000).map(|_| ask()).find(is_let_in).expect("it rests")
}

#[test]
fn s6_the_schedules_of_a_key_enqueue_no_more_a_second_than_it_may() {
    let server = guarded_with(&bounded_key("timed", &["manage"], 2));
    let put = |key: &str, name: &str, timing: Value| {
        let mut body = json!({"job": {"kind": "t"}});
        body.as_object_mut().unwrap().extend(timing.as_object().unwrap().clone());
        rested(|| by(&server, key, "PUT", &format!("/v1/schedules/{name}")).json(&body))
    };
    let every = |millis: u64| json!({"every_ms": millis});
    put("timed", "s1", every(1000)).expect(201);
    put("timed", "s2", json!({"cron": "* * * * * *"})).expect(201);
    refused(put("timed", "s3", every(10_000)), &["the key timed", "2.000", "0.100", "per_second"]);
    refused(put("timed", "s3", json!({"cron": "0 * * * *"})), &["per_second is 2"]);
    put("manager", "s3", every(1000)).expect(201);
    refused(put("timed", "s3", every(1000)), &["per_second is 2"]);
    put("timed", "s1", every(2000)).expect(200);
    put("timed", "s4", every(2000)).expect(201);
    refused(put("timed", "s1", every(1000)), &["per_second is 2"]);
    remove(&server, "manager", "/v1/schedules/s4");
    put("timed", "s1", every(1000)).expect(200);
}

#[test]
fn s6_a_key_pays_for_deliveries_of_its_replays_and_not_for_who_subscribes() {
    let server = guarded_with(&bounded_key("replayer", &["manage"], 5));
    for n in 0..50 {
        subscribe(&server, "admin", &format!("c{n}")).expect(201);
    }
    let wait = |reply: Reply| {
        let wait = reply.header("retry-after").map(|wait| wait.parse::<u64>().unwrap());
        reply.problem(429, "rate_limited");
        wait.unwrap()
    };
    let emit = || by(&server, "slow", "POST", "/v1/events").json(&json!({"type": "t"}));
    emit().expect(201);
    emit().expect(201);
    for _ in 0..19 {
        by(&server, "admin", "POST", "/v1/events").json(&json!({"type": "t"})).expect(201);
    }
    let replay = || {
        let path = "/v1/subscriptions/c1/replay";
        by(&server, "replayer", "POST", path).json(&json!({"name": "again"}))
    };
    assert_eq!(replay().expect(200).value()["delivered"], 21);
    let waits = wait(replay());
    assert!((2..=4).contains(&waits), "21 deliveries at 5 a second: {waits} s");
}

#[test]
fn s6_a_key_pays_for_schedules_that_are_read_for_it_and_not_shown() {
    let bound = format!("{}queues = [\"none\"]\n", bounded_key("bound", &["read"], 2));
    let server = guarded_with(&bound);
    for n in 0..17 {
        let body =
            json!({"every_ms": 86_400_000, "job": {"kind": "t", "payload": "x".repeat(1_000_000)}});
        by(&server, "admin", "PUT", &format!("/v1/schedules/s{n}")).json(&body).expect(201);
    }
    let list = || by(&server, "bound", "GET", "/v1/schedules").send();
    assert_eq!(list().expect(200).value()["schedules"], json!([]));
    list().problem(429, "rate_limited");
}
