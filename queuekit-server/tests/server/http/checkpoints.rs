//! Checkpoints by HTTP.

use serde_json::{Value, json};

use super::work::{enqueue, reserve, settle, status};
use crate::common::{Server, on_every_store};

on_every_store! {
    r13_10_a_later_run_reads_what_was_stored_by_http,
    r13_10_limits_of_checkpoints_are_told_by_http,
    r13_10_a_fresh_retry_by_http_forgets_the_steps,
    r13_10_the_steps_of_a_job_are_listed_without_results,
}

fn leased(server: &Server) -> String {
    reserve(server, 0)[0]["token"].as_str().unwrap().to_owned()
}

fn put(server: &Server, step: &Value) -> Value {
    server.ask("POST", "/v1/checkpoint").json(step).expect(200).value()["outcome"].clone()
}

fn read(server: &Server, token: &str) -> Value {
    server.ask("POST", "/v1/checkpoints").json(&json!({"token": token})).expect(200).value()
}

fn names(read: &Value) -> Vec<&str> {
    read["checkpoints"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

fn nack(server: &Server, token: &str, kind: &str) {
    let nack = json!({"token": token, "kind": kind, "error": "boom", "delay_ms": 0});
    settle(server, "/v1/nack", json!({"nacks": [nack]}));
}

/// Guard: results are kept byte for byte, in their order, and under their first name.
fn r13_10_a_later_run_reads_what_was_stored_by_http(server: &mut Server) {
    enqueue(server, json!({"kind": "t"}));
    let token = leased(server);
    let step = |name: &str, result: Value| json!({"token": token, "name": name, "result": result});
    let charge = step("charge", json!({"receipt": 7}));
    assert_eq!(put(server, &charge), "stored");
    assert_eq!(put(server, &charge), "stored", "a repeat");
    assert_eq!(put(server, &step("charge", json!(8))), "conflict");
    assert_eq!(
        put(server, &json!({"token": token, "name": "a", "result_base64": "/wA="})),
        "stored"
    );
    assert_eq!(put(server, &json!({"token": token, "name": "nothing"})), "stored");
    nack(server, &token, "release");
    assert_eq!(put(server, &step("late", json!(1))), "lease_lost");
    assert_eq!(read(server, &token), json!({"outcome": "lease_lost", "checkpoints": []}));
    let read = read(server, &leased(server));
    assert_eq!((&read["outcome"], names(&read)), (&json!("held"), vec!["charge", "a", "nothing"]));
    let steps = read["checkpoints"].as_array().unwrap();
    assert_eq!(steps[0]["result"], json!({"receipt": 7}));
    assert_eq!(steps[1]["result_base64"], "/wA=");
    assert_eq!(steps[2].get("result"), Some(&Value::Null));
    assert!(steps.iter().all(|step| step["at"].as_str() <= read["now"].as_str()), "{read}");
}

/// Guard: the largest result, the most checkpoints, and the rule for names.
fn r13_10_limits_of_checkpoints_are_told_by_http(server: &mut Server) {
    enqueue(server, json!({"kind": "t"}));
    let token = leased(server);
    let step = |name: &str, bytes: usize| {
        let result = "x".repeat(bytes - 2);
        json!({"token": token, "name": name, "result": result})
    };
    assert_eq!(put(server, &step("s0", 64 * 1024)), "stored");
    for (body, field) in [(step("more", 64 * 1024 + 1), "result"), (step("no name", 2), "name")] {
        let refused = server.ask("POST", "/v1/checkpoint").json(&body).problem(422, "invalid");
        assert_eq!(refused["field"], field, "{refused}");
    }
    let both = json!({"token": token, "name": "s", "result": 1, "result_base64": ""});
    server.ask("POST", "/v1/checkpoint").json(&both).problem(422, "invalid");
    for n in 1..64 {
        assert_eq!(put(server, &step(&format!("s{n}"), 2)), "stored");
    }
    assert_eq!(put(server, &step("s64", 2)), "full");
    assert_eq!(names(&read(server, &token)).len(), 64);
}

/// Guard: only a fresh retry forgets.
fn r13_10_a_fresh_retry_by_http_forgets_the_steps(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let mut token = leased(server);
    assert_eq!(put(server, &json!({"token": token, "name": "s"})), "stored");
    let retry = |body: Value| server.ask("POST", &format!("/v1/jobs/{id}/retry")).json(&body);
    retry(json!({"fresh": true})).problem(409, "conflict");
    assert_eq!(names(&read(server, &token)), ["s"], "it is not forgotten under a run");
    for (fresh, kept) in [(false, vec!["s"]), (true, vec![])] {
        nack(server, &token, "fatal");
        let outcome = retry(json!({"fresh": fresh})).expect(200).value();
        assert_eq!(outcome["outcome"], "retried");
        token = leased(server);
        assert_eq!(names(&read(server, &token)), kept, "fresh: {fresh}");
    }
    assert_eq!(status(server, &id)["status"], "running");
}

/// Guard: what is listed has no result, and a job that is not stored is not found.
fn r13_10_the_steps_of_a_job_are_listed_without_results(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let list = |id: &str| server.get(&format!("/v1/jobs/{id}/checkpoints")).send();
    assert_eq!(list(&id).expect(200).value(), json!({"checkpoints": []}));
    let token = leased(server);
    put(server, &json!({"token": token, "name": "charge", "result": {"receipt": 7}}));
    put(server, &json!({"token": token, "name": "ship"}));
    let stored = read(server, &token)["checkpoints"].clone();
    nack(server, &token, "fatal");
    let info = |at: usize, name: &str, bytes: usize| {
        let at = &stored[at]["at"];
        json!({"name": name, "at": at, "bytes": bytes})
    };
    let expected = json!({"checkpoints": [info(0, "charge", 13), info(1, "ship", 4)]});
    assert_eq!(list(&id).expect(200).value(), expected);
    server.ask("DELETE", &format!("/v1/jobs/{id}")).send().expect(204);
    list(&id).problem(404, "not_found");
}
