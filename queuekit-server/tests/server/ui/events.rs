//! The log of events, and consumers.

use serde_json::json;

use super::Browser;
use crate::common::{Server, by, guarded, on_every_store};

/// The newest events are on the first page over each store, and its links lead to all others.
fn the_newest_events_are_shown_first(server: &mut Server) {
    const EVENTS: usize = 130;
    let events: Vec<_> =
        (0..EVENTS).map(|at| json!({"type": "order.paid", "data": {"at": at}})).collect();
    server.ask("POST", "/v1/events").json(&json!({ "events": events })).expect(201);
    let browser = Browser::new(server);
    let (mut seen, mut next) = (Vec::new(), Some("/ui/events?types=order.*".to_owned()));
    while let Some(url) = next {
        let page = browser.get(&url).expect(200).text.replace("&#34;", "\"");
        let found = page.split("<span title=\"{\"at\":").skip(1);
        seen.extend(found.map(|rest| rest.split('}').next().unwrap().parse::<usize>().unwrap()));
        let link = page.split_once("rel=\"next\">Older").map(|(before, _)| before);
        next = link
            .and_then(|before| before.rsplit_once("href=\""))
            .map(|(_, url)| url.trim_end_matches(['"', ' ']).replace("&#38;", "&"));
    }
    assert!(seen.iter().copied().eq((0..EVENTS).rev()), "{seen:?}");
    assert!(browser.get("/ui/events?types=other.*").expect(200).text.contains("No event matches"));
    assert!(browser.get("/ui/events?types=a%20b").expect(200).text.contains("types-error"));
}

#[test]
fn s11_a_key_that_is_not_for_events_sees_none() {
    let server = guarded();
    let event = json!({"type": "order.paid", "data": "hunter2"});
    by(&server, "admin", "POST", "/v1/events").json(&event).expect(201);
    assert!(Browser::of(&server, "admin").get("/ui/events").expect(200).text.contains("hunter2"));
    let page = Browser::of(&server, "acme").get("/ui/events").expect(200).text;
    assert!(!page.contains("hunter2"));
    // A key for some kinds sees events of these types only.
    let page = Browser::of(&server, "mailer").get("/ui/events").expect(200).text;
    assert!(!page.contains("hunter2"));
}

on_every_store!(the_newest_events_are_shown_first);
