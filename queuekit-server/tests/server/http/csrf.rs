//! What web pages of other sites can make a browser send, and see of an answer.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::common::{Server, Store, guarded, secret};
use serde_json::json;

#[test]
fn s6_answers_are_for_who_asked_and_for_no_cache_and_no_other_site() {
    let server = guarded();
    for reply in [
        server.get("/v1/jobs").key(&secret("reader")).send().expect(200),
        server.get("/v1/jobs").send().expect(401),
        server.get("/v1/none").key(&secret("reader")).send().expect(404),
        server.get("/metrics").key(&secret("reader")).send().expect(200),
    ] {
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"));
    }
}

#[test]
fn s6_without_keys_what_no_form_can_send_needs_no_content_type() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let bare = |method: &str, path: &str| {
        ureq::http::Request::builder().method(method).uri(format!("{}{path}", server.url))
    };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build()
        .into();
    let id = "01890000-0000-7000-8000-0000000037a8";
    for (method, path, status) in [
        ("DELETE", format!("/v1/jobs/{id}"), 404),
        ("DELETE", "/v1/queues/q".to_owned(), 404),
        ("BREW", "/v1/jobs".to_owned(), 405),
        ("POST", "/v1/queues/q/pause".to_owned(), 415),
    ] {
        let reply = agent.run(bare(method, &path).body(()).unwrap()).unwrap();
        assert_eq!(reply.status().as_u16(), status, "{method} {path}");
    }
}

#[test]
fn s6_without_keys_the_name_is_checked_though_everybody_may_come_in() {
    let start = |args: &[&str]| Server::start(Store::of("memory").unwrap(), args);
    let closed = start(&["--insecure-no-auth"]);
    let rebound = |server: &Server| {
        let ask = server.ask("DELETE", "/v1/queues/q?force=true").header("host", "evil.example");
        let ask = ask.header("origin", "http://evil.example");
        ask.header("sec-fetch-site", "same-origin").send().status
    };
    assert_eq!(rebound(&closed), 403);
    assert_eq!(rebound(&start(&["--host", "evil.example"])), 404);
    let any = start(&["--insecure-no-auth", "--host", "*"]);
    assert_eq!(rebound(&any), 404);
    any.logged(&["WARN", "under any name"]);
}

#[test]
fn s6_a_page_of_another_site_cannot_use_a_server_without_keys() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let job = json!({"kind": "t"});
    for (method, path) in [
        ("POST", "/v1/jobs"),
        ("POST", "/createJob"),
        ("POST", "/v1/queues/a/pause"),
        ("PATCH", "/v1/queues/a"),
        ("DELETE", "/v1/queues/a"),
        ("PUT", "/v1/schedules/s"),
    ] {
        let ask = || server.ask(method, path);
        let cross = ask().header("origin", "http://evil.example");
        cross.json(&job).problem(403, "forbidden");
        let site = ask().header("sec-fetch-site", "cross-site");
        site.json(&job).problem(403, "forbidden");
        let form = ask().header("content-type", "text/plain");
        form.json(&job).problem(415, "unsupported_media_type");
        ask().header("host", "evil.example").json(&job).problem(403, "forbidden");
    }
    server.get("/v1/jobs").header("host", "evil.example:80").send().problem(403, "forbidden");
    for path in ["/v1/jobs", "/v1/events?limit=1000", "/v1/stream", "/metrics"] {
        let site = server.get(path).header("sec-fetch-site", "cross-site");
        site.send().problem(403, "forbidden");
        let cross = server.get(path).header("origin", "https://evil.example");
        cross.send().problem(403, "forbidden");
    }
    let queues = server.get("/v1/queues").send().expect(200).value();
    assert_eq!(queues["queues"], json!([]), "nothing was done");
    let preflight =
        server.ask("OPTIONS", "/v1/jobs").header("origin", "http://evil.example").send();
    assert!(preflight.header("access-control-allow-origin").is_none());
}

#[test]
fn s6_a_request_line_with_another_name_is_refused_by_a_server_without_keys() {
    let status = |server: &Server, line: &str, rest: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        write!(stream, "GET {line} HTTP/1.1\r\nConnection: close\r\n{rest}\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[9..]).into_owned()
    };
    let open = Server::start(Store::of("memory").unwrap(), &[]);
    let own = "Host: localhost\r\n";
    assert_eq!(status(&open, "http://localhost/v1/queues", own), "200");
    assert_eq!(status(&open, "http://evil/v1/queues", own), "403");
    assert_eq!(status(&open, "http://evil/v1/queues", ""), "403");
    assert_eq!(status(&open, "/v1/queues", "Host: localhost\r\nOrigin: \u{e4}\r\n"), "403");
    assert_eq!(status(&open, "/v1/queues", "Host: localhost\r\nSec-Fetch-Site: \u{e4}\r\n"), "403");
}
