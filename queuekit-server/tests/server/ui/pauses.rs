//! Pausing a queue on its page, and its limits.

use serde_json::{Value, json};

use super::Browser;
use crate::common::{Server, on_every_store};

on_every_store! {
    r16_10_a_page_pauses_a_queue_with_a_reason_and_an_end,
    the_page_of_a_queue_says_how_full_its_limits_are,
}

/// The page, once its figures are new enough to say this.
fn until(browser: &Browser<'_>, path: &str, words: &[&str]) -> String {
    loop {
        let page = browser.get(path).expect(200).text;
        if words.iter().all(|word| page.contains(word)) {
            return page;
        }
    }
}

fn settings(server: &Server) -> Value {
    server.get("/v1/queues/mails").send().expect(200).value()["settings"].clone()
}

fn r16_10_a_page_pauses_a_queue_with_a_reason_and_an_end(server: &mut Server) {
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "mails"})).expect(201);
    let browser = Browser::new(server);
    let page = browser.get("/ui/queues/mails").expect(200).text;
    assert!(page.contains("name=\"reason\"") && page.contains("after 30 minutes"), "{page}");
    let pause = |fields: &[(&str, &str)]| browser.post("/ui/queues/mails/pause", fields);
    pause(&[("reason", "<b>provider</b> down"), ("for", "30m")]).expect(303);
    let paused = settings(server);
    assert_eq!(paused["pause_reason"], "<b>provider</b> down");
    assert!(paused["paused_until"].is_string(), "{paused}");
    for (path, words) in [
        ("/ui/queues/mails", &["paused", "ends <time", "provider"][..]),
        ("/ui/queues", &["paused", "ends <time", "provider"]),
        ("/ui", &["mails is paused, with 1 job ready", "The pause ends in ", "provider"]),
    ] {
        let page = until(&browser, path, words);
        assert!(!page.contains("<b>provider"), "{path} escapes the reason: {page}");
    }
    let page = browser.get("/ui/queues/mails").expect(200).text;
    assert!(page.contains("Resume mails"), "{page}");
    browser.post("/ui/queues/mails/resume", &[]).expect(303);
    assert_eq!(settings(server).get("paused_until"), None);
    let long = "x".repeat(501);
    for (field, value) in [("for", "soon"), ("for", "0s"), ("for", "367d"), ("reason", &long)] {
        pause(&[(field, value)]).expect(422);
        assert_eq!(settings(server)["paused"], json!(false), "{field} {value}");
    }
    pause(&[("reason", " "), ("for", "")]).expect(303);
    let paused = settings(server);
    assert_eq!((paused.get("pause_reason"), paused.get("paused_until")), (None, None));
    assert_eq!(paused["paused"], json!(true));
}

fn the_page_of_a_queue_says_how_full_its_limits_are(server: &mut Server) {
    server.ask("PATCH", "/v1/queues/mails").json(&json!({"max_pending": 4})).expect(200);
    let browser = Browser::new(server);
    for (jobs, words) in [(1, "1 of 4"), (4, "4 of 4")] {
        while ready(server) < jobs {
            server
                .ask("POST", "/v1/jobs")
                .json(&json!({"kind": "t", "queue": "mails"}))
                .expect(201);
        }
        let page = until(&browser, "/ui/queues/mails", &["Pending jobs", words]);
        assert_eq!(page.contains("100 %, full"), jobs == 4, "{page}");
        assert!(page.contains("Runs at once per partition key"), "{page}");
    }
}

fn ready(server: &Server) -> u64 {
    let queue = server.get("/v1/queues/mails").send().expect(200).value();
    queue["counts"]["ready"]["value"].as_u64().unwrap()
}
