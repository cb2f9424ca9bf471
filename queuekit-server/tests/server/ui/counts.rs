//! How many jobs match, before an action on all of them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Browser;
use crate::common::{Server, Store};

/// Stores dead jobs in the queue `q`.
fn die(server: &Server, jobs: usize) {
    let job = json!({"kind": "mail", "queue": "q"});
    for start in (0..jobs).step_by(1000) {
        let batch = vec![job.clone(); 1000.min(jobs - start)];
        server.ask("POST", "/v1/jobs").json(&json!({ "jobs": batch })).expect(201);
        let step = json!({
            "action": "dead-letter", "filter": {"queue": "q", "status": "ready"}, "limit": 1000,
        });
        server.ask("POST", "/v1/jobs/bulk").json(&step).expect(200);
    }
}

/// A count that stopped somewhere would have to be off at its bound.
#[test]
fn jobs_of_a_queue_and_a_status_are_counted_exactly_around_ten_thousand() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let browser = Browser::new(&server);
    let ask = || browser.get("/ui/bulk?action=retry&q=queue:q+status:dead").expect(200).text;
    die(&server, 9998);
    for told in ["9,999", "10,000", "10,001"] {
        die(&server, 1);
        let question = format!("Retry {told} jobs?");
        let end = Instant::now() + Duration::from_secs(20);
        let mut page = ask();
        while !page.contains(&question) {
            assert!(Instant::now() < end, "{page}");
            std::thread::sleep(Duration::from_millis(50));
            page = ask();
        }
        // Of this page: on a busy machine the next one may have had no time to count.
        assert!(!page.contains("At least"), "{page}");
    }
}

#[test]
fn jobs_that_were_not_all_counted_are_destroyed_only_by_the_word() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    die(&server, 20);
    let browser = Browser::new(&server);
    let post = |typed: &str| {
        let q = ("q", "queue:q status:dead kind:mail");
        let fields = [("action", "delete"), q, ("matched", "12"), ("or_more", "true")];
        browser.post("/ui/bulk", &[&fields[..], &[("typed", typed)]].concat())
    };
    post("").expect(422);
    let refused = post("12").expect(422).text;
    assert!(refused.contains("Type delete to confirm"), "{refused}");
    let run = post("delete").expect(303).header("location").unwrap().to_owned();
    let end = Instant::now() + Duration::from_secs(20);
    let page = || browser.get(&run).expect(200).text;
    // The number of jobs is known at the end.
    while !page().contains("of about 20") {
        assert!(Instant::now() < end, "{}", page());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(page().contains("done"), "{}", page());
}
