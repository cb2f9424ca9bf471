//! Actions that the statuses of jobs allow, and those that are disabled.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Browser;
use super::jobs::{enqueue, status};
use crate::common::{Server, Store};

/// A job in its queue, which has this status.
fn in_status(server: &Server, status: &str, queue: &str) -> String {
    let job = json!({"kind": "t", "queue": queue, "max_attempts": 3});
    let with = |field: &str, value: Value| {
        let mut job = job.clone();
        job[field] = value;
        job
    };
    let reserve = |lease_ms: u64| {
        let ask = json!({"worker": "w", "queues": [queue], "lease_ms": lease_ms});
        let leased = server.ask("POST", "/v1/reserve").json(&ask).expect(200).value();
        leased["leases"][0]["token"].clone()
    };
    let end = |path: &str, name: &str, end: Value| {
        let mut end = end;
        end["token"] = reserve(60_000);
        server.ask("POST", path).json(&json!({ name: [end] })).expect(200);
    };
    if status == "blocked" {
        enqueue(server, &with("partition_key", json!("k")));
        return enqueue(server, &with("partition_key", json!("k")));
    }
    if status == "scheduled" {
        return enqueue(server, &with("delay_ms", json!(3_600_000)));
    }
    let id = enqueue(server, &job);
    let act = |action: &str| {
        let path = format!("/v1/jobs/{id}/{action}");
        server.ask("POST", &path).json(&json!({})).expect(200);
    };
    match status {
        "running" => drop(reserve(600_000)),
        "expired" => drop(reserve(1000)),
        "failed" => {
            end("/v1/nack", "nacks", json!({"kind": "retry", "delay_ms": 3_600_000, "error": "e"}));
        }
        "dead" => end("/v1/nack", "nacks", json!({"kind": "fatal", "error": "e"})),
        "completed" => end("/v1/ack", "acks", json!({})),
        "cancelled" => act("cancel"),
        _ => {}
    }
    id
}

/// What the page offers is what the store does: the other actions are disabled, with the reason.
#[test]
fn an_action_is_offered_in_exactly_the_statuses_that_allow_it() {
    const ACTIONS: [&str; 5] = ["retry", "reschedule", "cancel", "dead-letter", "delete"];
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let browser = Browser::new(&server);
    let mut jobs = Vec::new();
    for status in ["expired", "running", "ready", "failed", "scheduled", "blocked"]
        .into_iter()
        .chain(["dead", "cancelled", "completed"])
    {
        for action in ACTIONS {
            let queue = format!("{status}-{action}");
            jobs.push((status, action, in_status(&server, status, &queue), queue));
        }
    }
    for (wanted, action, id, queue) in jobs {
        let end = Instant::now() + Duration::from_secs(10);
        while status(&server, &id) != wanted {
            assert!(Instant::now() < end, "{id} is {}, not {wanted}", status(&server, &id));
            std::thread::sleep(Duration::from_millis(20));
        }
        let path = format!("/ui/jobs/{id}/{action}");
        let page = browser.get(&format!("/ui/jobs/{id}")).expect(200).text;
        let is_offered = page.contains(&format!("action=\"{path}\""));
        let is_refused = page.contains(&format!("id=\"{action}-why\">Only a"))
            || page.contains(&format!("id=\"{action}-why\">A running job"));
        assert_ne!(is_offered, is_refused, "{wanted}, {action}: {page}");
        let list = browser.get(&format!("/ui/jobs?q=queue:{queue}+status:{wanted}")).expect(200);
        let link = format!("/ui/bulk?action={action}&#38;");
        let of_all = list.text.contains(&link);
        let page_of_all = format!("/ui/bulk?action={action}&q=queue:{queue}+status:{wanted}");
        if action != "reschedule" {
            assert_eq!(of_all, is_offered, "{wanted}, {action}: {}", list.text);
            let page = browser.get(&page_of_all).expect(200).text;
            assert_eq!(page.contains("id=\"b-why\">"), !is_offered, "{wanted}, {action}: {page}");
        }
        let done = browser.post(&path, &[]).status;
        // These change nothing, and are no conflict.
        let is_needless = match action {
            "reschedule" => ["ready", "blocked"].contains(&wanted),
            "dead-letter" => wanted == "dead",
            "cancel" => wanted == "cancelled",
            _ => false,
        };
        let expected = if is_offered || is_needless { 303 } else { 409 };
        assert_eq!(done, expected, "{wanted}, {action}");
    }
}

/// Guard: an action on all that match would count jobs that it then leaves as they are.
#[test]
fn an_action_on_all_that_match_counts_those_that_allow_it() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    for status in ["dead", "dead", "ready", "running", "completed"] {
        in_status(&server, status, "q");
    }
    let browser = Browser::new(&server);
    for (action, told) in [
        ("retry", "Retry 2 jobs?"),
        ("cancel", "Cancel 2 jobs?"),
        ("dead-letter", "Dead-letter 1 job?"),
        ("delete", "Delete 4 jobs?"),
    ] {
        let page = browser.get(&format!("/ui/bulk?action={action}&q=queue:q")).expect(200).text;
        assert!(page.contains(told), "{told}: {page}");
    }
    let fields = [("action", "cancel"), ("q", "queue:q status:dead"), ("matched", "2")];
    browser.post("/ui/bulk", &fields).expect(422);
}
