//! Working jobs by HTTP.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{Server, on_every_store};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

on_every_store! {
    a_job_is_reserved_and_acked_with_its_result,
    r3_3_a_token_settles_once_and_a_wrong_one_nothing,
    a_failed_run_is_tried_again_until_it_is_dead,
    r14_7_a_failed_delivery_waits_as_its_subscription_says,
    r4_8_a_release_is_shown_with_its_cause,
    an_extended_lease_tells_of_a_cancel_request,
    a_report_is_shown_with_the_job,
    a_long_poll_is_answered_when_work_comes,
    a_long_poll_ends_without_work,
    r13_11_a_read_is_answered_when_the_job_ends,
    r13_11_a_read_shows_at_its_time_what_has_not_ended,
    s6_large_payloads_are_leased_in_parts_and_small_ones_at_once,
    s6_a_payload_that_clients_cannot_parse_is_leased_in_base64,
    who_hangs_up_leaves_no_lease_behind,
    who_hangs_up_behind_another_request_leaves_no_lease_behind,
    queues_are_served_in_order_or_by_weight,
    what_is_wrong_with_a_batch_is_named_with_its_item,
    numbers_beyond_what_is_described_are_refused,
}

pub(super) fn enqueue(server: &Server, job: Value) -> String {
    let reply = server.ask("POST", "/v1/jobs").json(&job).expect(201);
    reply.value()["id"].as_str().unwrap().to_owned()
}

pub(super) fn status(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/jobs/{id}")).send().expect(200).value()
}

pub(super) fn reserve(server: &Server, wait_ms: u64) -> Vec<Value> {
    let body = json!({"queues": ["default"], "limit": 10, "worker": "w", "wait_ms": wait_ms});
    let reply = server.ask("POST", "/v1/reserve").json(&body).expect(200).value();
    reply["leases"].as_array().unwrap().clone()
}

pub(super) fn settle(server: &Server, path: &str, body: Value) -> Vec<Value> {
    let reply = server.ask("POST", path).json(&body).expect(200).value();
    reply["outcomes"].as_array().unwrap().clone()
}

fn a_job_is_reserved_and_acked_with_its_result(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t", "payload": {"n": 1}, "partition_key": "k"}));
    let leases = reserve(server, 0);
    let lease = &leases[0];
    for (name, wanted) in [
        ("id", json!(id)),
        ("status", json!("running")),
        ("attempts", json!(1)),
        ("lease_seq", json!(1)),
        ("payload", json!({"n": 1})),
        ("partition_key", json!("k")),
    ] {
        assert_eq!(lease["job"][name], wanted, "{name}");
    }
    let shown = server.get(&format!("/v1/jobs/{id}")).send().expect(200).text;
    let token = lease["token"].as_str().unwrap();
    let nonce = token.rsplit('~').next().unwrap();
    assert!(!shown.contains(nonce), "R3.1: no read shows it");
    let result = json!({"acks": [{"token": token, "result": [1, 2]}]});
    assert_eq!(settle(server, "/v1/ack", result)[0]["outcome"], "acked");
    let done = status(server, &id);
    assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &json!([1, 2])));
}

fn r3_3_a_token_settles_once_and_a_wrong_one_nothing(server: &mut Server) {
    let first = enqueue(server, json!({"kind": "t"}));
    let second = enqueue(server, json!({"kind": "t"}));
    let leases = reserve(server, 0);
    let token = |at: usize| leases[at]["token"].as_str().unwrap().to_owned();
    let mut forged = token(1);
    let last = if forged.pop() == Some('0') { '1' } else { '0' };
    forged.push(last);
    let acks = json!({"acks": [{"token": token(0)}, {"token": token(0)}, {"token": forged}]});
    let outcomes = settle(server, "/v1/ack", acks);
    let words: Vec<_> = outcomes.iter().map(|outcome| outcome["outcome"].clone()).collect();
    assert_eq!(words, ["acked", "already_done", "lease_lost"]);
    assert_eq!(status(server, &first)["status"], "completed");
    assert_eq!(status(server, &second)["status"], "running");
    server.ask("DELETE", &format!("/v1/jobs/{second}")).send().problem(409, "conflict");
    server.ask("DELETE", &format!("/v1/jobs/{second}?force=true")).send().expect(204);
    let gone = settle(server, "/v1/ack", json!({"acks": [{"token": token(1)}]}));
    assert_eq!(gone[0]["outcome"], "not_found");
}

fn a_failed_run_is_tried_again_until_it_is_dead(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t", "max_attempts": 2}));
    let lease = reserve(server, 0).remove(0);
    let nack = json!({"nacks": [{"token": lease["token"], "error": "boom"}]});
    let outcome = settle(server, "/v1/nack", nack).remove(0);
    assert_eq!(outcome["outcome"], "retrying");
    assert!((500..=2000).contains(&outcome["in_ms"].as_u64().unwrap()), "about 1 s: {outcome}");
    let failed = status(server, &id);
    assert_eq!(failed["status"], "failed");
    assert_eq!(
        (&failed["errors"][0]["error"], &failed["errors"][0]["worker"]),
        (&json!("boom"), &json!("w"))
    );
    server
        .ask("POST", &format!("/v1/jobs/{id}/reschedule"))
        .json(&json!({"delay_ms": 0}))
        .expect(200);
    let lease = reserve(server, 0).remove(0);
    let release = json!({"nacks": [{"token": lease["token"], "kind": "release", "delay_ms": 0}]});
    assert_eq!(settle(server, "/v1/nack", release)[0]["outcome"], "released");
    let lease = reserve(server, 0).remove(0);
    assert_eq!((&lease["job"]["attempts"], &lease["job"]["releases"]), (&json!(2), &json!(1)));
    let fatal = json!({"nacks": [{"token": lease["token"], "kind": "fatal", "error": "no"}]});
    assert_eq!(settle(server, "/v1/nack", fatal)[0]["outcome"], "dead");
    assert_eq!(status(server, &id)["status"], "dead");
}

/// Guard: the cause reaches the store, and the answer.
fn r4_8_a_release_is_shown_with_its_cause(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let release = |cause: Value| {
        let token = reserve(server, 0)[0]["token"].clone();
        let nack = json!({"token": token, "kind": "release", "delay_ms": 0, "cause": cause});
        json!({"nacks": [nack]})
    };
    let refused = server.ask("POST", "/v1/nack").json(&release(json!("whim")));
    let problem = refused.problem(422, "invalid");
    assert!(problem["detail"].as_str().unwrap().contains("snooze"), "{problem}");
    let ran = server.ask("DELETE", &format!("/v1/jobs/{id}?force=true"));
    ran.send().expect(204);
    let id = enqueue(server, json!({"kind": "t"}));
    for cause in [json!("snooze"), Value::Null] {
        assert_eq!(settle(server, "/v1/nack", release(cause))[0]["outcome"], "released");
    }
    let shown = status(server, &id);
    assert_eq!(shown["errors"], json!([]));
    let released = shown["released"].as_array().unwrap();
    assert_eq!(released.len(), 2, "{shown}");
    let [first, second] = [&released[0], &released[1]];
    assert_eq!((&first["cause"], &first["worker"]), (&json!("snooze"), &json!("w")));
    assert_eq!(first["lease_seq"], 1);
    assert!(first["started_at"].as_str() <= first["at"].as_str(), "{first}");
    assert!(second.get("cause").is_none(), "{second}");
}

fn r14_7_a_failed_delivery_waits_as_its_subscription_says(server: &mut Server) {
    let subscription = json!({"events": "*", "retry": "fixed 60000"});
    server.ask("PUT", "/v1/subscriptions/c").json(&subscription).expect(201);
    server.ask("POST", "/v1/events").json(&json!({"type": "order.paid"})).expect(201);
    let ask = json!({"queues": ["event.c"], "worker": "w", "wait_ms": 0});
    let reserved = server.ask("POST", "/v1/reserve").json(&ask).expect(200).value();
    let nack = json!({"nacks": [{"token": reserved["leases"][0]["token"], "error": "boom"}]});
    let outcome = settle(server, "/v1/nack", nack).remove(0);
    assert_eq!(outcome, json!({"outcome": "retrying", "in_ms": 60_000}));
}

fn an_extended_lease_tells_of_a_cancel_request(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let token = reserve(server, 0)[0]["token"].clone();
    let body = json!({"tokens": [token], "lease_ms": 60_000});
    let extended = settle(server, "/v1/extend", body.clone()).remove(0);
    assert_eq!(extended["outcome"], "extended");
    assert_eq!(
        (&extended["lease_ms"], &extended["cancel_requested"]),
        (&json!(60_000), &json!(false))
    );
    let left = status(server, &id)["lease_expires_in_ms"].as_u64().unwrap();
    assert!(left > 30_000, "{left}");
    let cancelled = server.ask("POST", &format!("/v1/jobs/{id}/cancel")).send().expect(200).value();
    assert_eq!(cancelled["outcome"], "requested");
    assert_eq!(settle(server, "/v1/extend", body)[0]["cancel_requested"], true);
    let nack = json!({"nacks": [{"token": token, "kind": "cancelled"}]});
    assert_eq!(settle(server, "/v1/nack", nack)[0]["outcome"], "cancelled");
}

fn a_report_is_shown_with_the_job(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let token = reserve(server, 0)[0]["token"].clone();
    let progress = json!({"fraction": 0.5, "message": "half"});
    let body = json!({"reports": [{"token": token, "progress": progress, "lines": ["a", "b"]}]});
    assert_eq!(settle(server, "/v1/report", body)[0]["outcome"], "reported");
    let shown = status(server, &id);
    assert_eq!(shown["progress"], progress);
    assert_eq!(shown["logs"][1]["text"], "b");
}

fn a_long_poll_is_answered_when_work_comes(server: &mut Server) {
    std::thread::scope(|scope| {
        let polling = scope.spawn(|| reserve(server, 30_000));
        let id = enqueue(server, json!({"kind": "t"}));
        assert_eq!(polling.join().unwrap()[0]["job"]["id"], id);
    });
}

fn a_long_poll_ends_without_work(server: &mut Server) {
    let begun = Instant::now();
    assert!(reserve(server, 300).is_empty());
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let body = json!({"queues": ["default"], "worker": "w", "wait_ms": 60_001});
    server.ask("POST", "/v1/reserve").json(&body).problem(422, "invalid");
}

/// Guard: what ends by a call of this server is not looked for, and is answered once it has ended.
fn r13_11_a_read_is_answered_when_the_job_ends(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let wait = format!("/v1/jobs/{id}?wait_ms=30000");
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.get(&wait).send().expect(200).value());
        let token = reserve(server, 0)[0]["token"].clone();
        settle(server, "/v1/ack", json!({"acks": [{"token": token, "result": 7}]}));
        let ended = waiting.join().unwrap();
        assert_eq!((&ended["status"], &ended["result"]), (&json!("completed"), &json!(7)));
    });
    let again = server.get(&wait).send().expect(200).value();
    assert_eq!(again["status"], "completed", "also of a job that had ended before");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

fn r13_11_a_read_shows_at_its_time_what_has_not_ended(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let begun = Instant::now();
    let shown = server.get(&format!("/v1/jobs/{id}?wait_ms=300")).send().expect(200).value();
    assert_eq!(shown["status"], "ready");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    server.get(&format!("/v1/jobs/{id}?wait_ms=60001")).send().problem(422, "invalid");
    server.get(&format!("/v1/jobs/{id}?wait=1")).send().problem(400, "bad_request");
    let unknown = "/v1/jobs/01890000-0000-7000-8000-0000000037a8?wait_ms=30000";
    server.get(unknown).send().problem(404, "not_found");
}

fn s6_large_payloads_are_leased_in_parts_and_small_ones_at_once(server: &mut Server) {
    let large = "x".repeat(700 * 1024);
    (0..20).for_each(|_| drop(enqueue(server, json!({"kind": "t", "payload": large}))));
    let small: Vec<_> = (0..100).map(|_| json!({"kind": "t", "queue": "small"})).collect();
    server.ask("POST", "/v1/jobs").json(&json!({ "jobs": small })).expect(201);
    let taken = |queue: &str| {
        let ask = json!({"queues": [queue], "worker": "w", "limit": 100});
        let got = server.ask("POST", "/v1/reserve").json(&ask).expect(200).value();
        (got["leases"].as_array().unwrap().len(), got["more"].as_bool().unwrap())
    };
    assert_eq!(taken("default"), (5, true), "one more would be more than 3.5 MiB");
    assert_eq!(taken("default").0, 5);
    assert_eq!(taken("small").0, 100);
}

/// Most parsers fail on JSON this deep, and with it on the leases that stand beside it.
fn s6_a_payload_that_clients_cannot_parse_is_leased_in_base64(server: &mut Server) {
    let deep = STANDARD.encode("[".repeat(5000) + &"]".repeat(5000));
    let id = enqueue(server, json!({"kind": "t", "payload_base64": deep}));
    enqueue(server, json!({"kind": "t", "payload": 1}));
    let leases = reserve(server, 0);
    let payloads: Vec<_> = leases
        .iter()
        .map(|lease| (&lease["job"]["payload"], &lease["job"]["payload_base64"]))
        .collect();
    assert_eq!(payloads, [(&Value::Null, &json!(deep)), (&json!(1), &Value::Null)]);
    assert_eq!(status(server, &id)["payload_base64"], deep);
}

fn who_hangs_up_leaves_no_lease_behind(server: &mut Server) {
    hang_up_and_look(server, "");
}

fn who_hangs_up_behind_another_request_leaves_no_lease_behind(server: &mut Server) {
    hang_up_and_look(server, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
}

/// Clients that hang up behind a long poll and what they have sent after it.
fn hang_up_and_look(server: &Server, behind: &str) {
    let polls: Vec<TcpStream> = (0..20).map(|_| begin_poll(server, behind)).collect();
    // A poll that is answered has been there before, so that those before it are as well.
    assert!(reserve(server, 50).is_empty());
    polls.into_iter().for_each(hang_up);
    let ids: Vec<String> = (0..5).map(|_| enqueue(server, json!({"kind": "t"}))).collect();
    let mut seen = Vec::new();
    let end = Instant::now() + Duration::from_secs(20);
    while seen.len() < ids.len() && Instant::now() < end {
        for lease in reserve(server, 200) {
            assert_eq!(lease["job"]["attempts"], 1, "no attempt was spent: {lease}");
            seen.push(lease["job"]["id"].as_str().unwrap().to_owned());
        }
    }
    seen.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(seen, ids, "each was free within 20 s, and leases last for 30");
}

/// Waits until the server has seen it: what it sends before that is on its way.
fn hang_up(mut poll: TcpStream) {
    poll.shutdown(Shutdown::Write).unwrap();
    poll.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let seen = poll.read_to_end(&mut Vec::new());
    assert!(seen.is_ok(), "the server ends the connection: {seen:?}");
}

fn begin_poll(server: &Server, behind: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let body = r#"{"queues":["default"],"worker":"gone","wait_ms":60000,"limit":5}"#;
    let (host, length) = (server.address(), body.len());
    write!(
        stream,
        "POST /v1/reserve HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}{behind}"
    )
    .unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    assert!(stream.read(&mut [0; 16]).is_err(), "there is no work yet");
    stream
}

fn queues_are_served_in_order_or_by_weight(server: &mut Server) {
    for queue in ["a", "b"] {
        for _ in 0..4 {
            enqueue(server, json!({"kind": "t", "queue": queue}));
        }
    }
    let queues_of = |queues: Value| {
        let body = json!({"queues": queues, "limit": 4, "worker": "w"});
        let reply = server.ask("POST", "/v1/reserve").json(&body).expect(200).value();
        let leases = reply["leases"].as_array().unwrap().clone();
        leases.iter().map(|lease| lease["job"]["queue"].as_str().unwrap().to_owned()).collect()
    };
    let weighted: Vec<String> = queues_of(json!({"a": 1, "b": 1}));
    assert_eq!(weighted.iter().filter(|queue| *queue == "a").count(), 2, "{weighted:?}");
    let strict: Vec<String> = queues_of(json!(["b", "a"]));
    assert_eq!(strict, ["b", "b", "a", "a"]);
}

fn what_is_wrong_with_a_batch_is_named_with_its_item(server: &mut Server) {
    let tokens = json!({"acks": [{"token": "x"}]});
    let problem = server.ask("POST", "/v1/ack").json(&tokens).problem(422, "invalid");
    assert_eq!((&problem["item"], &problem["field"]), (&json!(0), &json!("token")));
    assert!(settle(server, "/v1/ack", json!({"acks": []})).is_empty());
    let many: Vec<_> = (0..1001).map(|_| json!({"token": "x"})).collect();
    server.ask("POST", "/v1/nack").json(&json!({"nacks": many})).problem(422, "invalid");
    for (body, field) in [
        (json!({"queues": [], "worker": "w", "limit": 1001}), "queues"),
        (json!({"queues": ["default"], "worker": "a b"}), "worker"),
        (json!({"queues": ["default"]}), "body"),
        (json!({"queues": 1, "worker": "w"}), "queues"),
        (json!({"queues": ["default"], "worker": "w", "lease_ms": 1}), "lease_ms"),
        (json!({"queues": {"default": 0}, "worker": "w"}), "queues"),
        (json!({"queues": ["a b"], "worker": "w"}), "queues"),
    ] {
        let problem = server.ask("POST", "/v1/reserve").json(&body).problem(422, "invalid");
        assert_eq!(problem["field"], field, "{problem}");
    }
    // The JSON of these tests cannot hold a name twice.
    let twice = r#"{"queues": {"a": 1, "b": 1, "a": 2}, "worker": "w"}"#;
    let problem = server.ask("POST", "/v1/reserve").text(twice).problem(422, "invalid");
    assert_eq!(problem["field"], "queues", "{problem}");
    for (name, value, field) in [
        ("ttl_ms", json!(1), "ttl_ms"),
        ("kinds", json!(["a b"]), "kinds"),
        ("id", json!("a b"), "id"),
        ("host", json!("h".repeat(256)), "host"),
        ("version", json!("v".repeat(256)), "version"),
        ("quiet_ms", json!(3_600_001), "quiet_ms"),
        ("obeyed", json!(1_u64 << 53), "obeyed"),
        ("jobs", json!([{"id": "x", "kind": "t", "since": "2026-01-31T12:00:00Z"}]), "jobs"),
    ] {
        let mut beat = json!({
            "id": "w", "name": "w", "queues": [], "kinds": [], "slots": 1, "running": 0,
            "ttl_ms": 1000,
        });
        beat[name] = value;
        let problem = server.ask("POST", "/v1/beat").json(&beat).problem(422, "invalid");
        assert_eq!(problem["field"], field, "{problem}");
    }
}

fn numbers_beyond_what_is_described_are_refused(server: &mut Server) {
    enqueue(server, json!({"kind": "t"}));
    let leases = reserve(server, 0);
    let token = &leases[0]["token"];
    let report = |fraction: f64| {
        let progress = json!({"fraction": fraction});
        ("/v1/report", json!({"reports": [{"token": token, "progress": progress}]}), "fraction")
    };
    let nack = |delay_ms: u64| {
        ("/v1/nack", json!({"nacks": [{"token": token, "delay_ms": delay_ms}]}), "delay_ms")
    };
    for (path, body, field) in [report(5.0), report(-0.1), nack(u64::MAX), nack(2_592_000_001)] {
        let problem = server.ask("POST", path).json(&body).problem(422, "invalid");
        assert_eq!((&problem["field"], &problem["item"]), (&json!(field), &json!(0)));
    }
    for (path, body, _) in [report(0.0), report(1.0), nack(2_592_000_000)] {
        server.ask("POST", path).json(&body).expect(200);
    }
}
