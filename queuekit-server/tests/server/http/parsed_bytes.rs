//! A request counts as the memory that it takes, not only as the bytes that arrive.

use serde_json::{Value, json};

use super::fair_share::{begun, first_answer};
use crate::common::{by, guarded_with};

const MIB: usize = 1 << 20;

/// Guard: a request counts as what it takes once it is parsed, not only as its JSON.
#[test]
fn s6_a_batch_of_small_items_counts_as_the_memory_that_it_takes() {
    // A key has 4 MiB.
    let server = guarded_with("[limits]\nmax_body_bytes = 1048576\nmax_buffered_bytes = 16777216");
    let metadata: Value = (0..32).map(|n| (n.to_string(), json!(""))).collect();
    let item = json!({"kind": "t", "metadata": metadata});
    let jobs = |many| json!({"jobs": vec![item.clone(); many]});
    assert!(jobs(1000).to_string().len() < 512 * 1024);
    let enqueue = |many| by(&server, "producer", "POST", "/v1/jobs").json(&jobs(many));
    enqueue(1000).problem(413, "too_large");
    enqueue(500).expect(201);
    let event = json!({"type": "t", "metadata": metadata});
    let events = |many| json!({"events": vec![event.clone(); many]});
    let emit = |many| by(&server, "admin", "POST", "/v1/events").json(&events(many));
    emit(1000).problem(413, "too_large");
    emit(500).expect(201);
    let report = json!({"token": "", "lines": vec!["x"; 100]});
    let reports = json!({"reports": vec![report; 1000]});
    by(&server, "worker", "POST", "/v1/report").json(&reports).problem(413, "too_large");
}

/// Guard: memory is taken before a body is parsed, so that a client that repeats at once what was
/// refused costs no more than its bytes.
#[test]
fn s6_a_body_for_which_its_key_has_no_memory_is_not_parsed() {
    // A key has 4 MiB.
    let server = guarded_with("[limits]\nmax_body_bytes = 1048576\nmax_buffered_bytes = 16777216");
    let items = vec![r#"{"kind": "t", "metadata": {"a": "b"}}"#; 1000].join(",");
    let send = |path: &str| by(&server, "hostile", "POST", path).text(format!("[{items}"));
    let paths = ["/v1/jobs", "/v1/events", "/v1/report", "/createJob"];
    for path in paths {
        send(path).problem(400, "bad_request");
    }
    // When the server refuses the fifth body, it has read the others.
    let begin = |_| begun(&server, "hostile", ("POST", "/v1/jobs"), MIB, 900 * 1024);
    let mut held: Vec<_> = (0..5).map(begin).collect();
    let refused = first_answer(&mut held);
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    for path in paths {
        send(path).problem(429, "rate_limited");
    }
    // Those that settle leases are small.
    send("/v1/ack").problem(400, "bad_request");
}
