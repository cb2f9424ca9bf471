//! An action on many jobs that nobody watches.

use std::time::{Duration, Instant};

use queuekit_conformance::this_test;
use serde_json::{Value, json};

use super::chrome;
use crate::common::{Server, Store};

const JOBS: u64 = 10_000;

/// Stores dead jobs.
fn fill(server: &Server) {
    let send = |path: &str, body: Value| {
        let reply = server.ask("POST", path).json(&body);
        assert!(reply.status < 300, "{}", reply.text);
        reply.value()
    };
    let jobs = vec![json!({"kind": "mail", "queue": "mails"}); 1000];
    for _ in 0..JOBS / 1000 {
        send("/v1/jobs", json!({ "jobs": jobs }));
    }
    let filter = json!({"queue": "mails"});
    let mut step = json!({
        "action": "dead-letter", "filter": filter, "limit": 1000, "reason": "HTTP 503",
    });
    loop {
        let done = send("/v1/jobs/bulk", step.clone());
        let Some(cursor) = done.get("cursor") else { return };
        step["cursor"] = cursor.clone();
        step["since"] = done["since"].clone();
    }
}

fn counts(server: &Server) -> Value {
    let queue = server.get("/v1/queues/mails").send().expect(200).value();
    json!([queue["counts"]["dead"]["value"], queue["counts"]["ready"]["value"]])
}

#[test]
fn a_retry_of_ten_thousand_jobs_ends_though_its_tab_is_closed() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = Server::start(Store::of("sqlite").expect("a store"), &[]);
    fill(&server);
    assert_eq!(counts(&server), json!([JOBS, 0]));
    let tab = chrome.tab();
    tab.go(&format!("{}/ui/jobs?q=queue:mails+status:dead", server.url));
    tab.click("details.pop summary");
    tab.follow("details.pop a[href*='action=retry']");
    tab.until_seen("Retry 10,000 jobs?");
    assert_eq!(counts(&server), json!([JOBS, 0]), "it asks first");
    tab.follow("form.settings .btn.primary");
    let run = tab.path();
    assert!(run.contains("/ui/runs/"), "{run}");
    tab.close();
    let end = Instant::now() + Duration::from_secs(100);
    while counts(&server) != json!([0, JOBS]) {
        assert!(Instant::now() < end, "{}", counts(&server));
        std::thread::sleep(Duration::from_millis(20));
    }
    tab.go(&format!("{}{run}", server.url));
    tab.until("return document.querySelector('#run progress').value === 10000");
    let shown = tab.seen();
    assert!(shown.contains("done") && shown.matches("10,000").count() >= 2, "{shown}");
}

#[test]
fn the_page_of_a_run_follows_it_to_its_end() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = Server::start(Store::of("memory").expect("a store"), &[]);
    fill(&server);
    let tab = chrome.tab();
    tab.go(&format!("{}/ui/bulk?action=retry&q=queue:mails+status:dead", server.url));
    tab.follow("form.settings .btn.primary");
    tab.js("window.isSame = true");
    tab.until("return document.querySelector('#run').textContent.includes('done')");
    assert_eq!(tab.js("return window.isSame"), true, "without a reload");
}
