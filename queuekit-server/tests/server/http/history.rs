//! History.

use crate::common::{guarded, secret};

#[test]
fn s11_a_bound_key_sees_history_of_its_queues_only() {
    let server = guarded();
    let by = |id: &str, path: &str| server.ask("GET", path).key(&secret(id));
    let answer = by("admin", "/v1/history").send().expect(200).value();
    assert_eq!(answer["step"], "1m");
    assert!(answer["totals"].is_array() && answer["runs"].is_array(), "{answer}");
    assert_eq!(answer["next"], serde_json::Value::Null);
    let old = by("admin", "/v1/history?from=2026-01-01T00:00:00Z").send().expect(200).value();
    assert_eq!(old["step"], "1h", "the shortest that is still kept");
    by("acme", "/v1/history?queue=acme.jobs").send().expect(200);
    by("acme", "/v1/history?queue=other").send().problem(403, "forbidden");
    for path in ["/v1/history?step=2m", "/v1/history?queue=a%20b", "/v1/history?kind=a%20b"] {
        by("admin", path).send().problem(422, "invalid");
    }
}
