//! Workers that cannot read a payload, by HTTP (contract R13.8).

use serde_json::{Value, json};

use super::work::{enqueue, reserve, settle, status};
use crate::common::{Server, on_every_store};

on_every_store! {
    r13_8_a_worker_says_that_it_cannot_read_a_payload,
}

/// Guard: the server reads what is known of the job, and says what happens to it.
fn r13_8_a_worker_says_that_it_cannot_read_a_payload(server: &mut Server) {
    let id = enqueue(server, json!({"kind": "t"}));
    let mut since = Value::Null;
    for (times, in_ms) in [(1, 1000), (2, 2000)] {
        let token = reserve(server, 0)[0]["token"].clone();
        let nack = json!({
            "token": token, "kind": "release", "cause": "undecodable", "error": "no name",
            "delay_ms": 0,
        });
        let outcomes = settle(server, "/v1/nack", json!({"nacks": [nack, nack]}));
        assert_eq!(outcomes[0], json!({"outcome": "released", "in_ms": in_ms}));
        assert_eq!(outcomes[1]["outcome"], "lease_lost", "it is settled once");
        let shown = status(server, &id);
        let mark = &shown["undecodable"];
        if times == 1 {
            assert_eq!(mark["since"], shown["started_at"]);
            since = mark["since"].clone();
        }
        assert_eq!(*mark, json!({"error": "no name", "since": since, "times": times}));
        assert_eq!((&shown["attempts"], &shown["errors"]), (&json!(0), &json!([])));
        let last = shown["released"].as_array().unwrap().last().unwrap();
        assert_eq!(last["undecodable"], *mark);
        let soon = json!({"delay_ms": 0});
        server.ask("POST", &format!("/v1/jobs/{id}/reschedule")).json(&soon).expect(200);
    }
    let gone = reserve(server, 0)[0]["token"].clone();
    server.ask("DELETE", &format!("/v1/jobs/{id}?force=true")).send().expect(204);
    let nack = json!({"token": gone, "kind": "release", "cause": "undecodable"});
    let outcomes = settle(server, "/v1/nack", json!({"nacks": [nack]}));
    assert_eq!(outcomes[0]["outcome"], "not_found");
}
