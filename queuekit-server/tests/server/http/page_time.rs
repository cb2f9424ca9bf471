//! Pages and counts that end after a time (R8.8).

use serde_json::json;

use crate::common::{Server, on_every_store};

const JOBS: usize = 600;

on_every_store!(r8_8_a_page_and_a_count_end_once_their_time_is_over);

fn r8_8_a_page_and_a_count_end_once_their_time_is_over(server: &mut Server) {
    let jobs = vec![json!({"kind": "mail", "queue": "q"}); JOBS];
    server.ask("POST", "/v1/jobs").json(&json!({ "jobs": jobs })).expect(201);
    let page = server.get("/v1/jobs?kind=other&limit=1&within_ms=0").send().expect(200).value();
    assert_eq!(page["jobs"], json!([]));
    let examined = page["examined"]["jobs"].as_u64().unwrap();
    assert!(examined < JOBS as u64 && page["cursor"].is_string(), "{page}");
    let mut step = json!({
        "action": "cancel", "filter": {"queue": "q"}, "dry_run": true, "limit": 1000,
        "within_ms": 0,
    });
    let count = |step: &serde_json::Value| {
        server.ask("POST", "/v1/jobs/bulk").json(step).expect(200).value()
    };
    let first = count(&step);
    let matched = first["matched"].as_u64().unwrap();
    assert!(matched < JOBS as u64 && first["cursor"].is_string(), "{first}");
    step["cursor"] = first["cursor"].clone();
    step["within_ms"] = json!(60_000);
    let rest = count(&step);
    assert_eq!(matched + rest["matched"].as_u64().unwrap(), JOBS as u64, "{rest}");
    assert!(rest.get("cursor").is_none(), "{rest}");
    step["within_ms"] = json!(60_001);
    server.ask("POST", "/v1/jobs/bulk").json(&step).expect(422);
    server.get("/v1/jobs?within_ms=60000").send().expect(200);
    server.get("/v1/jobs?within_ms=60001").send().expect(422);
}
