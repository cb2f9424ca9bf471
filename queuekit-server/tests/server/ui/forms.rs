//! Forms: only those of our own pages change anything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::Browser;
use super::browser::token_in;
use crate::common::{Server, Store, by, guarded};

fn with_queue(server: &Server) {
    let job = json!({"kind": "greet", "queue": "acme.mail"});
    by(server, "admin", "POST", "/v1/jobs").json(&job).expect(201);
}

fn is_paused(server: &Server) -> bool {
    let queue = by(server, "admin", "GET", "/v1/queues/acme.mail").send().expect(200).value();
    queue["settings"]["paused"] == json!(true)
}

const PAUSE: &str = "/ui/queues/acme.mail/pause";

#[test]
fn s6_a_form_without_the_token_of_its_session_changes_nothing() {
    let server = guarded();
    with_queue(&server);
    let (browser, other) = (Browser::of(&server, "admin"), Browser::of(&server, "admin"));
    let theirs = other.token();
    let own = browser.token();
    for fields in [
        &[][..],
        &[("csrf", "")],
        &[("csrf", "x")],
        &[("csrf", theirs.as_str())],
        &[("csrf", &own[..own.len() - 1])],
        &[("CSRF", own.as_str())],
    ] {
        browser.form(PAUSE, fields).expect(403);
        assert!(!is_paused(&server), "{fields:?}");
    }
    assert_eq!(browser.token(), own, "it is that of the session");
    let reply = browser.form(PAUSE, &[("csrf", &own)]).expect(303);
    assert!(reply.header("location").unwrap().starts_with("/ui/queues/acme.mail"));
    assert!(is_paused(&server));
}

/// Guard: a form that does not come would be waited for.
#[test]
fn s3_no_byte_is_read_of_a_form_whose_sender_lacks_the_scope() {
    const ADMIN: [&str; 9] = [
        "/ui/queues/a/pause",
        "/ui/queues/a/resume",
        "/ui/queues/a/settings",
        "/ui/jobs/selected",
        "/ui/jobs/0199c3a0-0000-7000-8000-000000000000/delete",
        "/ui/errors/0000000000000000/retry-one",
        "/ui/errors/0000000000000000/note",
        "/ui/workers/orders",
        "/ui/bulk",
    ];
    const OTHERS: [&str; 4] = [
        "/ui/jobs/0199c3a0-0000-7000-8000-000000000000/copy",
        "/ui/schedules/a/run",
        "/ui/consumers/a/replay",
        "/ui/runs/a/stop",
    ];
    let server = guarded();
    let asked = |key: &str, path: &str| {
        let browser = Browser::of(&server, key);
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\n\
             cookie: {}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: 1000\r\n\r\n",
            browser.cookie().unwrap()
        )
        .unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap_or_else(|error| panic!("{key} {path}: {error}"));
        String::from_utf8_lossy(&status).into_owned()
    };
    for path in ADMIN.iter().chain(&OTHERS) {
        assert_eq!(asked("reader", path), "HTTP/1.1 403", "{path}");
    }
    for path in ADMIN {
        assert_eq!(asked("hostile", path), "HTTP/1.1 403", "it may do all but this: {path}");
    }
    assert_eq!(asked("admin", "/ui/queues"), "HTTP/1.1 405", "a page without a form");
}

/// Guard: a form is bounded before it is read.
#[test]
fn s6_a_form_larger_than_any_of_ours_is_refused() {
    let server = guarded();
    let browser = Browser::of(&server, "admin");
    browser.form("/ui/bulk", &[("payload", &"x".repeat(1 << 20))]).expect(413);
    browser.form("/ui/bulk", &[("payload", &"x".repeat(1 << 19))]).expect(403);
}

#[test]
fn s6_a_form_of_another_site_changes_nothing_even_with_the_token() {
    let server = guarded();
    with_queue(&server);
    let browser = Browser::of(&server, "admin");
    let body = format!("csrf={}", browser.token());
    let ask = |headers: &[(&str, &str)]| {
        let mut ask = server.ask("POST", PAUSE).header("cookie", browser.cookie().unwrap());
        ask = ask.header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            ask = ask.header(name, value);
        }
        ask.text(body.clone())
    };
    for foreign in [
        &[][..],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("origin", "http://evil.example")],
        &[("origin", "null")],
    ] {
        ask(foreign).expect(403);
        assert!(!is_paused(&server), "{foreign:?}");
    }
    ask(&[("sec-fetch-site", "same-origin"), ("content-type", "text/plain")]).expect(415);
    ask(&[("sec-fetch-site", "same-origin"), ("content-type", "application/json")]).expect(415);
    assert!(!is_paused(&server));
    let own = format!("http://{}", server.address());
    ask(&[("origin", &own)]).expect(303);
    assert!(is_paused(&server));
}

#[test]
fn s6_a_login_that_another_site_sends_is_refused() {
    let server = guarded();
    let form = server.ask("POST", "/ui/login").header("sec-fetch-site", "cross-site");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let reply = form.text(format!("key={}", crate::common::secret("reader"))).expect(403);
    assert!(reply.header("set-cookie").is_none());
}

#[test]
fn s6_without_keys_a_page_of_another_site_or_name_reads_and_changes_nothing() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "acme.mail"})).expect(201);
    let browser = Browser::new(&server);
    let page = browser.get("/ui").expect(200).text;
    assert!(page.contains("No keys"), "anybody who reaches it gets in, as in the API");
    let token = browser.token();
    for foreign in [
        ("host", "evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let reply = browser.ask("GET", "/ui").header(foreign.0, foreign.1).send().expect(403);
        assert!(!reply.text.contains(&token));
        browser.ask("GET", "/ui/live?page=/ui").header(foreign.0, foreign.1).send().expect(403);
        let form = browser.ask("POST", PAUSE).header(foreign.0, foreign.1);
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        form.text(format!("csrf={token}")).expect(403);
    }
    browser.form(PAUSE, &[]).expect(403);
    browser.form(PAUSE, &[("csrf", &token)]).expect(303);
}

#[test]
fn s11_a_form_does_what_the_key_may_and_no_more() {
    let server = guarded();
    with_queue(&server);
    for key in ["reader", "manager"] {
        let browser = match key {
            "reader" => Browser::of(&server, key),
            // It may not read pages, and finds a token nowhere.
            _ => {
                let browser = Browser::of(&server, key);
                browser.get("/ui").expect(403);
                browser
            }
        };
        let token = token_in(&browser.get("/ui/about").text).unwrap_or_default().to_owned();
        browser.form(PAUSE, &[("csrf", &token)]).expect(403);
        assert!(!is_paused(&server), "{key}");
    }
    let other = json!({"kind": "greet", "queue": "other"});
    by(&server, "admin", "POST", "/v1/jobs").json(&other).expect(201);
    let acme = Browser::of(&server, "acme");
    acme.post("/ui/queues/other/pause", &[]).expect(403);
    acme.post(PAUSE, &[]).expect(303);
    assert!(is_paused(&server));
    let acts = by(&server, "admin", "GET", "/v1/audit").send().expect(200).text;
    assert!(!acts.contains("\"acme\""), "a restricted key writes no entry, as through the API");
}
