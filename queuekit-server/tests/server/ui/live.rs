//! The stream of a page.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Browser;
use crate::common::{Server, Store, by, guarded, guarded_with, on_every_store};

/// A stream of the page, whose head has been read.
fn open(server: &Server, browser: &Browser<'_>, page: &str) -> (u16, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let host = server.address();
    let head = format!("GET /ui/live?page={page} HTTP/1.1\r\nHost: {host}\r\n");
    let cookie = browser.cookie().map(|cookie| format!("Cookie: {cookie}\r\n"));
    let cookie = cookie.unwrap_or_default();
    write!(stream, "{head}{cookie}Sec-Fetch-Site: same-origin\r\n\r\n").unwrap();
    let mut stream = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the head of an answer");
        head += &line;
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(status != 200 || head.contains("text/event-stream"), "{head}");
    (status, stream)
}

/// Reads until a line has this text.
#[track_caller]
fn read_until(stream: &mut BufReader<TcpStream>, text: &str) -> String {
    let end = Instant::now() + Duration::from_secs(20);
    let mut all = String::new();
    while !all.contains(text) {
        assert!(Instant::now() < end, "no {text:?} in {all}");
        assert_ne!(stream.read_line(&mut all).unwrap(), 0, "the stream has ended: {all}");
    }
    all
}

#[test]
fn a_page_changes_while_one_looks_and_shows_what_its_key_may_see() {
    let server = guarded_with("");
    let browser = Browser::of(&server, "acme");
    let (status, mut stream) = open(&server, &browser, "/ui");
    assert_eq!(status, 200);
    let first = read_until(&mut stream, "event: queue-table");
    for event in ["event: as-of", "event: attention", "event: numbers", "event: away"] {
        assert!(first.contains(event), "{first}");
    }
    for queue in ["zebra", "acme.mail"] {
        let job = json!({"kind": "t", "queue": queue});
        by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201);
    }
    let more = read_until(&mut stream, "acme.mail has 1 job ready and no worker");
    assert!(!more.contains("zebra"), "{more}");
    let (_, mut queue) = open(&server, &browser, "/ui/queues/acme.mail");
    read_until(&mut queue, "event: queue-head");
    let (_, mut none) = open(&server, &browser, "/ui/queues/zebra");
    let all = read_until(&mut none, "event: away");
    assert!(!all.contains("queue-head"));
}

#[test]
fn s6_viewers_of_one_key_leave_places_for_others() {
    let server = guarded_with("[limits]\nmax_streams = 4\nmax_streams_per_key = 2");
    let (reader, admin) = (Browser::of(&server, "reader"), Browser::of(&server, "admin"));
    let streams = [open(&server, &reader, "/ui"), open(&server, &reader, "/ui/queues")];
    assert!(streams.iter().all(|(status, _)| *status == 200));
    assert_eq!(open(&server, &reader, "/ui").0, 429);
    assert_eq!(open(&server, &admin, "/ui").0, 200);
    drop(streams);
    let end = Instant::now() + Duration::from_secs(10);
    while open(&server, &reader, "/ui").0 != 200 {
        assert!(Instant::now() < end, "a place that was left is not given back");
    }
}

/// The page of a job that runs follows it to its end, over each store.
fn the_page_of_a_job_follows_it_to_its_end(server: &mut Server) {
    let job = json!({"kind": "mail", "queue": "mails", "max_attempts": 1});
    let reply = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
    let id = reply["id"].as_str().unwrap().to_owned();
    let browser = Browser::new(server);
    let (_, mut stream) = open(server, &browser, &format!("/ui/jobs/{id}"));
    let first = read_until(&mut stream, "no live worker serves queue mails");
    for part in ["job-actions", "job-facts", "timeline", "logs", "gantt"] {
        assert!(first.contains(&format!("event: {part}")), "{part}: {first}");
    }
    let ask = json!({"worker": "w1", "queues": ["mails"], "lease_ms": 600_000});
    let leased = server.ask("POST", "/v1/reserve").json(&ask).expect(200).value();
    let token = leased["leases"][0]["token"].clone();
    read_until(&mut stream, "running on w1");
    let progress = json!({"fraction": 0.4, "message": "two of five"});
    let report = json!({"token": token, "progress": progress, "lines": ["line of the log"]});
    server.ask("POST", "/v1/report").json(&json!({"reports": [report]})).expect(200);
    let more = read_until(&mut stream, "event: job-head");
    let more = more + &read_until(&mut stream, "event: as-of");
    for shown in ["two of five", "40 %", "line of the log"] {
        assert!(more.contains(shown), "{shown}: {more}");
    }
    let step = json!({"token": token, "name": "deliver", "result": "hunter2"});
    server.ask("POST", "/v1/checkpoint").json(&step).expect(200);
    let more = read_until(&mut stream, "<code>deliver</code>");
    assert!(more.contains("event: steps") && !more.contains("hunter2"), "{more}");
    let ack = json!({"acks": [{"token": token, "result": {"sent": 5}}]});
    server.ask("POST", "/v1/ack").json(&ack).expect(200);
    let more = read_until(&mut stream, "sent</span>");
    assert!(more.contains("Attempt 1 completed"), "{more}");
    server.ask("DELETE", &format!("/v1/jobs/{id}")).send().expect(204);
    read_until(&mut stream, "The job was deleted");
}

on_every_store!(the_page_of_a_job_follows_it_to_its_end, errors_and_events_are_followed);

#[test]
fn s11_the_stream_of_a_job_shows_nothing_to_a_key_that_is_not_for_it() {
    let server = guarded();
    let job = json!({"kind": "t", "queue": "other", "metadata": {"name": "hunter2"}});
    let reply = by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201).value();
    let page = format!("/ui/jobs/{}", reply["id"].as_str().unwrap());
    let (admin, acme) = (Browser::of(&server, "admin"), Browser::of(&server, "acme"));
    let (_, mut seen) = open(&server, &admin, &page);
    read_until(&mut seen, "event: timeline");
    let (_, mut hidden) = open(&server, &acme, &page);
    let all = read_until(&mut hidden, "event: job-head");
    let all = all + &read_until(&mut hidden, "event: as-of");
    assert!(!all.contains("timeline") && !all.contains("/ui/queues/other"), "{all}");
}

/// The pages of errors and of events follow what happens, over each store.
fn errors_and_events_are_followed(server: &mut Server) {
    let fail = |error: &str| {
        server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "mails"})).expect(201);
        let ask = json!({"worker": "w1", "queues": ["mails"]});
        let leased = server.ask("POST", "/v1/reserve").json(&ask).expect(200).value();
        let token = &leased["leases"][0]["token"];
        let nack = json!({"token": token, "kind": "fatal", "error": error});
        server.ask("POST", "/v1/nack").json(&json!({ "nacks": [nack] })).expect(200);
    };
    fail("the disk is full");
    let browser = Browser::new(server);
    let (_, mut errors) = open(server, &browser, "/ui/errors?queue=mails");
    read_until(&mut errors, "the disk is full");
    fail("the disk is full");
    read_until(&mut errors, "<td data-l=\"deaths\" class=\"n c-dead\">2</td>");
    fail("no route to host");
    let more = read_until(&mut errors, "1 newer, show");
    assert!(!more.contains("no route to host"), "the list does not move: {more}");

    server.ask("PUT", "/v1/subscriptions/books").json(&json!({"events": "order.*"})).expect(201);
    let emit = |kind: &str| {
        server.ask("POST", "/v1/events").json(&json!({ "type": kind })).expect(201);
    };
    emit("order.paid");
    let page = browser.get("/ui/events?types=order.*").expect(200).text;
    let (_, since) = page.split_once("data-since=\"").expect("the end of the log");
    let since = since.split('"').next().unwrap();
    let path = format!("/ui/events%3Ftypes=order.*&since={since}");
    let (_, mut events) = open(server, &browser, &path);
    let first = read_until(&mut events, "event: consumer-table");
    assert!(!first.contains("newer, show"), "{first}");
    for kind in ["order.paid", "user.left", "order.sent"] {
        emit(kind);
    }
    // Either may come first.
    let lag = "<td data-l=\"lag\" class=\"n\">3</td>";
    let more = read_until(&mut events, "2 newer, show");
    assert!(more.contains(lag) || read_until(&mut events, lag).contains(lag));
}

/// Guard: the errors page of a key for some kinds would show what others fail with, or nothing new.
#[test]
fn s11_errors_are_followed_by_a_key_for_some_kinds_which_sees_no_others() {
    let server = guarded();
    let fail = |kind: &str, error: &str| {
        let job = json!({"kind": kind, "queue": "q"});
        let job = by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201).value();
        let path = format!("/v1/jobs/{}/dead-letter", job["id"].as_str().unwrap());
        by(&server, "admin", "POST", &path).json(&json!({ "reason": error })).expect(200);
    };
    fail("mail.welcome", "the disk is full");
    let browser = Browser::of(&server, "mailer");
    let (_, mut errors) = open(&server, &browser, "/ui/errors?queue=q");
    let mut all = read_until(&mut errors, "the disk is full");
    fail("report", "hunter2");
    fail("mail.welcome", "the disk is full");
    all += &read_until(&mut errors, "<td data-l=\"deaths\" class=\"n c-dead\">2</td>");
    fail("report", "hunter3");
    fail("mail.welcome", "no route to host");
    all += &read_until(&mut errors, "1 newer, show");
    assert!(!all.contains("hunter"), "{all}");
}

/// Guard: places of the log are from addresses, and anybody may write any number there.
#[test]
fn a_page_of_events_with_a_wrong_place_leaves_the_count_of_others_right() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let emit = || {
        server.ask("POST", "/v1/events").json(&json!({"type": "order.paid"})).expect(201);
    };
    (0..3).for_each(|_| emit());
    let browser = Browser::new(&server);
    for wrong in [0, 1, 999_999_999_999, u64::MAX] {
        let page = browser.get("/ui/events").expect(200).text;
        let (_, since) = page.split_once("data-since=\"").expect("the end of the log");
        let since = since.split('"').next().unwrap();
        emit();
        let (_, mut first) = open(&server, &browser, &format!("/ui/events&since={wrong}"));
        read_until(&mut first, "event: consumer-table");
        let (_, mut own) = open(&server, &browser, &format!("/ui/events&since={since}"));
        read_until(&mut own, "1 newer, show");
        emit();
        read_until(&mut own, "2 newer, show");
    }
}

#[test]
fn s11_the_streams_of_errors_and_events_show_nothing_to_a_key_that_is_not_for_them() {
    let server = guarded();
    let subscription = json!({"events": "order.*"});
    by(&server, "admin", "PUT", "/v1/subscriptions/books").json(&subscription).expect(201);
    by(&server, "admin", "POST", "/v1/events").json(&json!({"type": "order.paid"})).expect(201);
    let (admin, acme) = (Browser::of(&server, "admin"), Browser::of(&server, "acme"));
    let (_, mut seen) = open(&server, &admin, "/ui/events&since=0");
    let all = read_until(&mut seen, "1 newer, show");
    assert!((all + &read_until(&mut seen, "event: consumer-table")).contains("event: away"));
    let (_, mut hidden) = open(&server, &acme, "/ui/events&since=0");
    let mut all = read_until(&mut hidden, "event: consumer-table");
    for _ in 0..4 {
        all += &read_until(&mut hidden, "event: as-of");
    }
    assert!(!all.contains("books") && !all.contains("newer"), "{all}");
}

#[test]
fn a_list_does_not_move_and_says_how_many_jobs_are_newer() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let enqueue = |queue: &str| {
        let job = json!({"kind": "t", "queue": queue});
        server.ask("POST", "/v1/jobs").json(&job).expect(201);
    };
    enqueue("a");
    let browser = Browser::new(&server);
    let (_, mut stream) = open(&server, &browser, "/ui/jobs?q=queue:a");
    let first = read_until(&mut stream, "data-since");
    assert!(first.contains("data-since=\"1\" hidden"), "{first}");
    enqueue("a");
    enqueue("other");
    enqueue("a");
    read_until(&mut stream, "2 enqueued since, show");
    // Opened again, it still counts from when the list was loaded.
    let (_, mut again) = open(&server, &browser, "/ui/jobs?q=queue:a&since=1");
    read_until(&mut again, "event: newer");
    let (_, mut filtered) = open(&server, &browser, "/ui/jobs?q=kind:t&since=1");
    let all = read_until(&mut filtered, "event: away");
    let all = all + &read_until(&mut filtered, "event: as-of");
    assert!(!all.contains("newer"), "no figure tells it: {all}");
}
