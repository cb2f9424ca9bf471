//! What ended last, by HTTP.

use crate::common::{Server, on_every_store};
use serde_json::json;

on_every_store! {
    r8_7_what_ended_last_is_listed_first,
}

fn r8_7_what_ended_last_is_listed_first(server: &mut Server) {
    let mut ended = Vec::new();
    for queue in ["a", "b", "a"] {
        let job = json!({"kind": "t", "queue": queue});
        let stored = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
        let id = stored["id"].as_str().unwrap().to_owned();
        server.ask("POST", &format!("/v1/jobs/{id}/cancel")).json(&json!({})).expect(200);
        ended.insert(0, id);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "a"})).expect(201);
    let page = |path: &str| server.get(path).send().expect(200).value();
    let first = page("/v1/jobs?recent=true&limit=2");
    let cursor = first["cursor"].as_str().unwrap();
    let second = page(&format!("/v1/jobs?recent=true&limit=2&cursor={cursor}"));
    let jobs = [&first, &second].into_iter().flat_map(|page| page["jobs"].as_array().unwrap());
    assert_eq!(jobs.map(|job| job["id"].as_str().unwrap()).collect::<Vec<_>>(), ended);
    assert_eq!(page("/v1/queues/b/jobs?recent=true")["jobs"][0]["id"], ended[1]);
    let problem = server.get("/v1/jobs?recent=true&status=ready").send().problem(422, "invalid");
    assert_eq!(problem["field"], "recent", "{problem}");
}
