//! The stream of a page.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::Browser;
use crate::common::{Server, by, guarded_with};

/// A stream of the page, whose head has been read.
fn open(server: &Server, browser: &Browser<'_>, page: &str) -> (u16, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (host, cookie) = (server.address(), browser.cookie());
    let head = format!("GET /ui/live?page={page} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}");
    write!(stream, "{head}\r\nSec-Fetch-Site: same-origin\r\n\r\n").unwrap();
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
