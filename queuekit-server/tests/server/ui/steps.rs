//! The steps of a job on its page.

use serde_json::json;

use super::Browser;
use super::jobs::{enqueue, status};
use crate::common::{Server, Store, on_every_store};

/// Guard: the steps are those of the job, without their results.
#[test]
fn the_page_of_a_job_lists_its_steps() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let id = enqueue(&server, &json!({"kind": "mail", "queue": "mails"}));
    let browser = Browser::new(&server);
    let page = || browser.get(&format!("/ui/jobs/{id}")).expect(200).text;
    assert!(steps(&page()).contains(" hidden>"));
    step(&server, &reserve(&server, "mails"), "charge");
    let page = page();
    let steps = steps(&page);
    assert!(!steps.contains(" hidden>") && steps.contains("<code>charge</code>"), "{steps}");
    assert!(!page.contains("hunter2"), "{page}");
}

/// Guard: a retry continues after the last step, unless all steps are asked for.
fn a_retry_runs_all_steps_again_if_that_is_asked_for(server: &mut Server) {
    let job = json!({"kind": "mail", "queue": "mails", "max_attempts": 1});
    let id = enqueue(server, &job);
    let browser = Browser::new(server);
    let page = || browser.get(&format!("/ui/jobs/{id}")).expect(200).text;
    let steps = || {
        let steps = server.get(&format!("/v1/jobs/{id}/checkpoints")).send().expect(200).value();
        steps["checkpoints"].as_array().expect("a list").len()
    };
    let (fresh, retry) = (format!("/ui/jobs/{id}/retry-fresh"), format!("/ui/jobs/{id}/retry"));
    let fail = || {
        let token = reserve(server, "mails");
        step(server, &token, "charge");
        let nack = json!({"token": token, "kind": "fatal", "error": "no stock"});
        server.ask("POST", "/v1/nack").json(&json!({ "nacks": [nack] })).expect(200);
    };
    assert!(!page().contains(&fresh), "there are no steps to repeat");
    fail();
    assert!(page().contains(&fresh) && page().contains("queuekit job retry --fresh"));
    browser.post(&retry, &[]).expect(303);
    assert_eq!(steps(), 1, "it continues after them");
    browser.post(&fresh, &[]).expect(409);
    assert_eq!(steps(), 1, "nothing is removed of a job that is not retried");
    fail();
    let reply = browser.post(&fresh, &[]).expect(303);
    assert_eq!((status(server, &id).as_str(), steps()), ("ready", 0));
    let to = reply.header("location").expect("the page of the job");
    assert!(browser.get(to).expect(200).text.contains("all of its steps run again"));
}

on_every_store!(a_retry_runs_all_steps_again_if_that_is_asked_for);

/// Reserves the next job of a queue, and returns the token of its lease.
fn reserve(server: &Server, queue: &str) -> String {
    let reserve = json!({"queues": [queue], "worker": "w", "limit": 1, "lease_ms": 60_000});
    let reserved = server.ask("POST", "/v1/reserve").json(&reserve).expect(200).value();
    reserved["leases"][0]["token"].as_str().unwrap_or_else(|| panic!("{reserved}")).to_owned()
}

/// Ends a step of the leased job.
fn step(server: &Server, token: &str, name: &str) {
    let step = json!({"token": token, "name": name, "result": "hunter2"});
    server.ask("POST", "/v1/checkpoint").json(&step).expect(200);
}

/// The steps of a job on its page.
fn steps(page: &str) -> &str {
    let (_, steps) = page.split_once("id=\"steps\"").expect("steps");
    steps.split("</section>").next().expect("their end")
}
