//! The log of events, and consumers.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Browser;
use crate::common::{Server, Store, by, guarded, on_every_store};

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

/// Guard: the rate is made of history, which the page waits for.
fn the_list_of_consumers_says_how_much_each_completes(server: &mut Server) {
    server.ask("PUT", "/v1/subscriptions/books").json(&json!({"events": "order.*"})).expect(201);
    server.ask("POST", "/v1/events").json(&json!({"type": "order.paid"})).expect(201);
    let browser = Browser::new(server);
    let end = Instant::now() + Duration::from_secs(30);
    let rate = "<td data-l=\"rate\" class=\"n\">0/min</td>";
    while !browser.get("/ui/events").expect(200).text.contains(rate) {
        assert!(Instant::now() < end, "{}", browser.get("/ui/events").text);
        std::thread::sleep(Duration::from_millis(50));
    }
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

/// A replay counts first, then delivers in the background, over each store.
fn a_replay_is_counted_and_then_delivered_once(server: &mut Server) {
    for at in 0..7 {
        let event = json!({"type": "order.paid", "data": {"at": at}});
        server.ask("POST", "/v1/events").json(&event).expect(201);
    }
    server.ask("POST", "/v1/events").json(&json!({"type": "user.left"})).expect(201);
    let subscription = json!({"events": "order.*"});
    server.ask("PUT", "/v1/subscriptions/books").json(&subscription).expect(201);
    let browser = Browser::new(server);
    let replay = |fields: &[(&str, &str)]| browser.post("/ui/consumers/books/replay", fields);
    let counted = replay(&[("step", "count"), ("from", "2h")]).expect(303);
    let to = counted.header("location").unwrap().split('#').next().unwrap().to_owned();
    let page = browser.get(&to).expect(200).text;
    assert!(page.contains("Deliver 7 events again"), "{page}");
    let depth = || {
        let found = server.get("/v1/subscriptions/books").send().expect(200).value();
        found["stats"]["depth"].as_u64().unwrap()
    };
    assert_eq!(depth(), 0, "nothing was delivered yet");
    let field = |name: &str| {
        let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect("a field");
        rest.split('"').next().unwrap().to_owned()
    };
    let (name, from) = (field("name"), field("from"));
    // A form that is sent twice delivers once.
    for _ in 0..2 {
        let fields =
            [("step", "deliver"), ("from", from.as_str()), ("name", &name), ("matched", "7")];
        let run = replay(&fields).expect(303).header("location").unwrap().to_owned();
        let end = Instant::now() + Duration::from_secs(30);
        while !browser.get(&run).expect(200).text.contains("done") {
            assert!(Instant::now() < end, "{}", browser.get(&run).text);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(browser.get(&run).text.contains("Replay events to books"));
    }
    assert_eq!(depth(), 7);
    replay(&[("step", "count"), ("from", "soon")]).expect(422);
}

/// Guard: the last page of a count is full, and what follows it may be of other types.
#[test]
fn a_replay_of_as_many_events_as_are_counted_is_not_said_to_be_of_more() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let subscription = json!({"events": "order.*"});
    server.ask("PUT", "/v1/subscriptions/books").json(&subscription).expect(201);
    let emit = |count: usize| {
        let events = vec![json!({"type": "order.paid"}); count];
        server.ask("POST", "/v1/events").json(&json!({ "events": events })).expect(201);
    };
    let browser = Browser::new(&server);
    let told = || {
        let page = browser.get("/ui/consumers/books?replay=").expect(200).text;
        let (_, rest) = page.split_once("value=\"deliver\">Deliver ").expect("a button");
        rest.split_once(" events").unwrap().0.to_owned()
    };
    for (events, expected) in [(999, "999"), (1, "1,000"), (9000, "10,000"), (1, "10,000+")] {
        for step in (0..events).step_by(1000) {
            emit(1000.min(events - step));
        }
        server.ask("POST", "/v1/events").json(&json!({"type": "user.left"})).expect(201);
        assert_eq!(told(), expected);
    }
}

on_every_store!(
    the_newest_events_are_shown_first,
    a_replay_is_counted_and_then_delivered_once,
    the_list_of_consumers_says_how_much_each_completes,
);
