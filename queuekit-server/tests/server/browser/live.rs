//! A page changes with the store, without a reload.

use std::time::Duration;

use queuekit_conformance::{skip, this_test};
use serde_json::{Value, json};

use super::{Tab, chrome};
use crate::common::{Server, Store};

/// After a change of the store, the page shows it within this time: in most tries, because a busy
/// machine can stop a browser for longer than that.
const WITHIN: Duration = Duration::from_secs(2);
const TRIES: u64 = 5;

#[test]
fn a_change_is_on_each_page_within_two_seconds_without_a_reload() {
    changes_are_shown(this_test!(), "sqlite");
}

/// The pages ask every store in the same way.
mod over_other_stores {
    use queuekit_conformance::this_test;

    use super::changes_are_shown;

    #[test]
    fn memory() {
        changes_are_shown(this_test!(), "memory");
    }

    #[test]
    fn postgres() {
        changes_are_shown(this_test!(), "postgres");
    }

    #[test]
    fn redis() {
        changes_are_shown(this_test!(), "redis");
    }
}

fn changes_are_shown(test: &str, kind: &str) {
    let Some(chrome) = chrome(test) else { return };
    let Some(store) = Store::of(kind) else {
        return skip(test, &format!("there is no {kind}"));
    };
    let server = Server::start(store, &[]);
    enqueue(&server);
    let tab = chrome.tab();
    let mut late = Vec::new();
    let mut see = |page: &str, css: &str, change: &dyn Fn(u64) -> String| {
        tab.go(&format!("{}{page}", server.url));
        tab.until("return document.getElementById('live-word').textContent === 'Live'");
        tab.js("window.isSame = true");
        let mut times = Vec::new();
        for number in 0..TRIES {
            let text = change(number);
            let has =
                "return document.querySelector(arguments[0]).textContent.includes(arguments[1])";
            let took = tab.until_with(has, &[json!(css), json!(text)]);
            println!("{kind} {page}: {took:?}");
            times.push(took);
        }
        times.sort_unstable();
        late.extend((times[times.len() / 2] > WITHIN).then(|| format!("{page}: {times:?}")));
        assert_eq!(tab.js("return window.isSame"), true, "{page} was loaded again");
    };
    let more = |_| {
        let jobs = enqueue(&server);
        format!("mails has {jobs} jobs ready")
    };
    see("/ui", "#attention", &more);
    see("/ui/queues/mails", "#queue-head", &|_| enqueue(&server).to_string());
    see("/ui/workers", "#worker-table", &|number| {
        let name = format!("shop-{number}");
        let beat = json!({
            "id": name, "name": name, "queues": ["mails"], "kinds": ["t"], "slots": 1,
            "running": 0, "ttl_ms": 60_000,
        });
        server.ask("POST", "/v1/beat").json(&beat).expect(200);
        name
    });
    assert!(late.is_empty(), "over {kind}: {late:?}");
}

/// One more job; returns how many are ready.
fn enqueue(server: &Server) -> u64 {
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "mails"})).expect(201);
    let queue = server.get("/v1/queues/mails").send().expect(200).value();
    queue["counts"]["ready"]["value"].as_u64().unwrap_or_else(|| panic!("{queue}"))
}

/// Focus, what was typed, and what was opened are the reader's, not the server's.
#[test]
fn an_update_keeps_the_focus_and_what_is_open() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = Server::start(Store::of("memory").expect("a store"), &[]);
    enqueue(&server);
    let tab = chrome.tab();
    tab.go(&format!("{}/ui", server.url));
    tab.until("return document.querySelector('#queue-table a') !== null");
    tab.js("document.querySelector('#queue-table a').focus()");
    let focused = |tab: &Tab| tab.js("return document.activeElement.getAttribute('href')");
    let before = focused(&tab);
    assert_eq!(before, Value::from("/ui/queues/mails"));
    let jobs = enqueue(&server);
    tab.until_seen(&format!("mails has {jobs} jobs ready"));
    assert_eq!(focused(&tab), before);
    tab.go(&format!("{}/ui/queues", server.url));
    tab.until("return document.getElementById('live-word').textContent === 'Live'");
    tab.js("document.querySelector('input[name=q]').focus()");
    tab.press("ma");
    let jobs = enqueue(&server);
    let told = "return document.getElementById('queue-table').textContent.includes(arguments[0])";
    tab.until_with(told, &[json!(jobs.to_string())]);
    tab.press("il");
    assert_eq!(tab.js("return document.activeElement.value"), Value::from("mail"));
}

#[test]
fn updates_pause_until_the_reader_resumes_them() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = Server::start(Store::of("memory").expect("a store"), &[]);
    enqueue(&server);
    let tab = chrome.tab();
    tab.go(&format!("{}/ui", server.url));
    tab.until("return document.getElementById('live-word').textContent === 'Live'");
    tab.press("p");
    tab.until("return document.getElementById('live-word').textContent === 'Paused'");
    let jobs = enqueue(&server);
    let text = format!("mails has {jobs} jobs ready");
    // A page that is opened now shows it.
    while !server.get("/ui").send().expect(200).text.contains(&text) {}
    assert!(!tab.seen().contains(&text));
    tab.press("p");
    tab.until_seen(&text);
}
