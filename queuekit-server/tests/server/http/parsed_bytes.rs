//! A request counts as the memory that it takes, not only as the bytes that arrive.

use serde_json::{Value, json};

use crate::common::{by, guarded_with};

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
    enqueue(1000).problem(429, "rate_limited");
    enqueue(500).expect(201);
    let event = json!({"type": "t", "metadata": metadata});
    let events = |many| json!({"events": vec![event.clone(); many]});
    let emit = |many| by(&server, "admin", "POST", "/v1/events").json(&events(many));
    emit(1000).problem(429, "rate_limited");
    emit(500).expect(201);
    let report = json!({"token": "", "lines": vec!["x"; 100]});
    let reports = json!({"reports": vec![report; 1000]});
    by(&server, "worker", "POST", "/v1/report").json(&reports).problem(429, "rate_limited");
}
