//! What a page of another origin can do in a browser with a session.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use queuekit_conformance::this_test;
use serde_json::json;

use super::world::KEY;
use super::{Tab, chrome};
use crate::common::{Server, Store, by, guarded};

/// Serves this page on a port of its own until the process ends; returns the port.
fn serve(page: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let page = page.clone();
            // A browser opens connections that it does not use yet.
            thread::spawn(move || answer(stream, &page));
        }
    });
    port
}

fn answer(mut stream: TcpStream, page: &str) {
    let lines = BufReader::new(&stream).lines().map_while(Result::ok);
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
    let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{page}", page.len());
}

/// A page that sends the form at once, with this token.
fn form(action: &str, token: &str) -> String {
    format!(
        "<form method=post action='{action}'><input name=csrf value='{token}'></form>\
         <script>document.forms[0].submit()</script>"
    )
}

fn token(tab: &Tab) -> String {
    tab.text("return document.querySelector('main [name=csrf]').value")
}

/// The other origin is the same *site*: only its port differs, so the browser sends the cookie.
#[test]
fn s6_a_page_of_another_port_or_name_changes_nothing_even_with_cookie_and_token() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = guarded();
    let job = json!({"kind": "greet", "queue": "mails"});
    by(&server, KEY, "POST", "/v1/jobs").json(&job).expect(201);
    let is_paused = || {
        let queue = by(&server, KEY, "GET", "/v1/queues/mails").send().expect(200).value();
        queue["paused"] == json!(true)
    };
    let tab = chrome.tab();
    tab.log_in(&server, KEY);
    tab.go(&format!("{}/ui/queues/mails", server.url));
    let pause = format!("{}/ui/queues/mails/pause", server.url);
    let port = serve(form(&pause, &token(&tab)));
    for host in ["127.0.0.1", "localhost"] {
        tab.go(&format!("http://{host}:{port}/"));
        tab.until("return location.pathname.endsWith('/pause')");
        tab.until_seen("another site sent this request");
        assert!(!is_paused(), "a form of {host}");
    }
    // The session is still there: what refused the form was where it came from.
    tab.go(&format!("{}/ui/queues/mails", server.url));
    tab.js("document.querySelector(\"form[action$='/pause']\").submit()");
    tab.until_seen("The queue is paused");
    assert!(is_paused());
}

#[test]
fn s6_without_keys_a_page_of_another_port_reads_and_changes_nothing() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = Server::start(Store::of("memory").expect("a store"), &[]);
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "greet", "queue": "mails"})).expect(201);
    let tab = chrome.tab();
    tab.go(&format!("{}/ui/queues/mails", server.url));
    let token = token(&tab);
    let port = serve("<title>another</title>".to_owned());
    tab.go(&format!("http://127.0.0.1:{port}/"));
    // Requests that need no permission of the server, as a form can send them.
    for path in ["/ui/queues/mails/pause", "/v1/queues/mails/pause", "/v1/jobs"] {
        let url = format!("{}{path}", server.url);
        let body = format!("csrf={token}");
        tab.js_with(
            "return fetch(arguments[0], { method: 'POST', mode: 'no-cors', body: arguments[1],
                 headers: { 'content-type': 'application/x-www-form-urlencoded' } })
                 .then(() => true, () => true)",
            &[json!(url), json!(body)],
        );
    }
    let read = tab.js_with(
        "return fetch(arguments[0]).then((it) => it.text(), () => 'refused')",
        &[json!(format!("{}/ui", server.url))],
    );
    assert_eq!(read, "refused");
    let framed = "const frame = document.createElement('iframe'); frame.src = arguments[0];
        document.body.append(frame);
        return new Promise((done) => {
            frame.onload = () => done(frame.contentDocument === null);
        })";
    assert_eq!(tab.js_with(framed, &[json!(format!("{}/ui", server.url))]), true);
    let told = tab.complaints().join("\n");
    assert!(told.contains("frame-ancestors") || told.contains("403"), "{told}");
    let queue = server.get("/v1/queues/mails").send().expect(200).value();
    assert_eq!((&queue["paused"], &queue["totals"]["enqueued"]), (&json!(false), &json!(1)));
}
