//! What can be done beside the sentences of "Needs attention".

use std::fs::File;

use serde_json::json;

use super::Browser;
use super::browser::token_in;
use crate::common::{Ask, Server, Store, by, guarded, guarded_on, on_every_store};

on_every_store!(what_needs_attention_is_mended_beside_its_sentence);

/// A paused queue with a job, an error group with a dead one, a disabled consumer, and one that
/// lags.
fn trouble(ask: impl Fn(&str, &str) -> Ask) {
    let job = |queue: &str| {
        let job = json!({"kind": "mail.send", "queue": queue});
        let stored = ask("POST", "/v1/jobs").json(&job).expect(201).value();
        stored["id"].as_str().unwrap().to_owned()
    };
    let dead = format!("/v1/jobs/{}/dead-letter", job("acme.orders"));
    ask("POST", &dead).json(&json!({"reason": "order 7 is gone"})).expect(200);
    job("acme.mails");
    ask("POST", "/v1/queues/acme.mails/pause").json(&json!({})).expect(200);
    let consumer = json!({"events": "order.*", "enabled": false});
    ask("PUT", "/v1/subscriptions/billing").json(&consumer).expect(201);
    ask("PUT", "/v1/subscriptions/crm").json(&json!({"events": "user.*"})).expect(201);
    let worker = json!({
        "id": "w1", "name": "w", "queues": ["event.crm"], "kinds": ["user.left"],
        "slots": 1, "running": 0, "ttl_ms": 600_000,
    });
    ask("POST", "/v1/beat").json(&worker).expect(200);
    let events = vec![json!({"type": "user.left"}); 100];
    ask("POST", "/v1/events").json(&json!({ "events": events })).expect(201);
}

/// What the overview then says.
const WORDS: [&str; 4] = [
    "acme.mails is paused",
    "New error in acme.orders",
    "billing is disabled",
    "Consumer crm lags: 100 deliveries wait",
];

/// The overview, once it shows all of that.
fn overview(browser: &Browser<'_>, words: &[&str]) -> String {
    loop {
        let page = browser.get("/ui").expect(200).text;
        if words.iter().all(|word| page.contains(word)) {
            return page.replace("&#38;", "&");
        }
    }
}

/// The buttons are forms, so they work without JavaScript.
fn what_needs_attention_is_mended_beside_its_sentence(server: &mut Server) {
    trouble(|method, path| server.ask(method, path));
    let browser = Browser::new(server);
    let page = overview(&browser, &WORDS);
    assert!(page.contains("href=\"/ui/consumers/crm\""), "{page}");
    for (path, label) in [
        ("/ui/queues/acme.mails/resume", "Resume acme.mails"),
        ("/ui/consumers/billing/enable", "Enable billing"),
    ] {
        let (_, form) = page.split_once(&format!("action=\"{path}\"")).expect(&page);
        let form = form.split("</form>").next().unwrap();
        assert!(form.contains(label), "{form}");
        let token = token_in(form).expect("a token");
        browser.form(path, &[]).expect(403);
        browser.form(path, &[("csrf", token)]).expect(303);
    }
    let queue = server.get("/v1/queues/acme.mails").send().expect(200).value();
    assert_eq!(queue["settings"]["paused"], json!(false));
    let consumer = server.get("/v1/subscriptions/billing").send().expect(200).value();
    assert_eq!(consumer["enabled"], json!(true));
    let (before, _) = page.split_once("\">Retry all</a>").expect(&page);
    let question = before.rsplit_once("href=\"").unwrap().1;
    let question = browser.get(question).expect(200).text;
    assert!(question.contains("value=\"10m\" checked"), "{question}");
    assert!(question.contains("queue:acme.orders kind:mail.send status:dead"), "{question}");
}

/// Guard: each action asks for the right of the page that it belongs to.
#[test]
fn s11_an_action_that_the_key_does_not_allow_is_disabled_with_its_reason() {
    let server = guarded();
    trouble(|method, path| by(&server, "admin", method, path));
    let page = overview(&Browser::of(&server, "reader"), &WORDS);
    assert!(!page.contains("/resume\"") && !page.contains("/enable\""), "{page}");
    assert!(!page.contains("/ui/bulk?"), "{page}");
    assert_eq!(page.matches("Your key lacks the scope admin").count(), 2, "{page}");
    assert_eq!(page.matches("Your key lacks the scope manage").count(), 1, "{page}");
    // Its kinds are those of the dead job; a queue is for all kinds.
    let page = overview(&Browser::of(&server, "mailer"), &WORDS);
    assert!(page.contains("Retry all</a>") && !page.contains("/resume\""), "{page}");
    assert!(page.contains("Your key is for some kinds"), "{page}");
}

/// Guard: what the store finds wrong is of all queues.
#[test]
fn s11_only_an_unrestricted_admin_is_told_what_the_store_finds_wrong() {
    let server = guarded_on(Store::of("sqlite").unwrap(), "");
    // SQLite reads nothing behind the last commit, so a hole makes the log large and changes
    // nothing.
    let log = server.store.directory.path().join("jobs.db-wal");
    File::options().write(true).open(log).unwrap().set_len((1 << 30) + 1).unwrap();
    let told = "the write-ahead log is larger than 1 GiB";
    let found = by(&server, "admin", "GET", "/v1/findings").send().expect(200).value();
    let found = found["findings"].as_array().unwrap();
    let is_told =
        |one: &serde_json::Value| one["message"].as_str().is_some_and(|text| text.contains(told));
    let finding = found.iter().find(|one| is_told(one)).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((&finding["severity"], &finding["cause"]), (&json!("warning"), &json!("operation")));
    let page =
        overview(&Browser::of(&server, "admin"), &["The write-ahead log is larger than 1 GiB"]);
    assert!(page.contains("End the long read") || page.contains("end the long read"), "{page}");
    for key in ["reader", "acme", "mailer"] {
        let page = Browser::of(&server, key).get("/ui").expect(200).text;
        assert!(!page.contains("write-ahead log"), "{key}: {page}");
    }
}
