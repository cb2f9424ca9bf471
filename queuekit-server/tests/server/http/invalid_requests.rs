//! Requests that the server once accepted silently although they meant something else.

use crate::common::{Server, Store};
use serde_json::{Value, json};

fn server() -> Server {
    Server::start(Store::of("memory").unwrap(), &[])
}

#[test]
fn a_value_that_would_be_read_as_another_one_is_refused_by_its_field() {
    let server = server();
    let job = json!({"kind": "t"});
    let stored = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
    let with_id = json!({"kind": "t", "id": stored["id"]});
    let reserve = |limit: u64| json!({"queues": ["q"], "worker": "w", "limit": limit});
    let cron = |expression: &str, zone: &str| json!({"cron": expression, "zone": zone, "job": job});
    let mut cases = vec![
        ("POST", "/v1/jobs", json!({"kind": "t", "priority": "10"}), "priority"),
        ("POST", "/v1/reserve", reserve(0), "limit"),
        ("POST", "/v1/reserve", reserve(1001), "limit"),
        ("POST", "/v1/reserve", reserve(4_294_967_297), "limit"),
        ("PUT", "/v1/schedules/s", cron(&"0-59,".repeat(60), "UTC"), "cron"),
        ("PUT", "/v1/schedules/s", cron("@daily", &"Europe/".repeat(10)), "zone"),
        ("PUT", "/v1/schedules/s", cron("@daily", "localtime"), "zone"),
        ("PUT", "/v1/schedules/s", cron("@daily", "posixrules"), "zone"),
        (
            "PUT",
            "/v1/schedules/s",
            json!({"every_ms": 60_000, "job": job, "end": "2000-01-01T00:00:00Z"}),
            "end",
        ),
        ("PUT", "/v1/schedules/s", json!({"every_ms": 60_000, "job": with_id}), "id"),
        ("POST", "/v1/subscriptions/c/replay", json!({"name": "x".repeat(5000)}), "name"),
        ("POST", "/v1/subscriptions/c/replay", json!({"name": ""}), "name"),
    ];
    for jitter in ["NaN", "inf", "-inf", "-1", "3", "1e308"] {
        let retry = format!("exponential 1000 5000 {jitter}");
        let subscription = json!({"events": "*", "retry": retry});
        cases.push(("PUT", "/v1/subscriptions/c", subscription, "retry"));
    }
    server.ask("PUT", "/v1/subscriptions/c").json(&json!({"events": "*"})).expect(201);
    for (method, path, body, field) in cases {
        let problem = server.ask(method, path).json(&body).problem(422, "invalid");
        assert_eq!(problem["field"], field, "{method} {path}: {problem}");
    }
    let schedules = server.get("/v1/schedules").send().expect(200).value();
    assert_eq!(schedules["schedules"], json!([]));
}

#[test]
fn what_was_sent_is_not_said_again_numbers_neither() {
    let server = server();
    for (method, path, body) in [
        ("POST", "/v1/jobs", json!({"kind": "t", "priority": 7_654_321})),
        ("POST", "/v1/jobs", json!({"kind": "t", "max_attempts": 7_654_321})),
        ("POST", "/v1/jobs", json!({"kind": "t", "delay_ms": 76_543_210_000_000_u64})),
        ("PATCH", "/v1/queues/q", json!({"per_key": 7_654_321})),
        ("PATCH", "/v1/queues/q", json!({"max_pending": 17_654_321_000_000_000_000_u64})),
    ] {
        let problem = server.ask(method, path).json(&body).problem(422, "invalid");
        assert!(!problem.to_string().contains("7654321"), "{problem}");
    }
}

/// What is answered to these bytes, until the connection is closed.
fn answer(server: &Server, bytes: &[u8]) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it is closed");
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn what_is_no_http_is_answered_400_without_a_body_and_cut_off() {
    let server = server();
    for (what, bytes) in [
        ("no HTTP", &b"hello\r\n\r\n"[..]),
        ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        ("a NUL", b"GET / HTTP/1.1\r\nho\0st: a\r\n\r\n"),
        ("a space in a name", b"GET / HTTP/1.1\r\nhost : a\r\n\r\n"),
        ("a wrong length", b"POST /v1/jobs HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n"),
        (
            "two lengths",
            b"POST /v1/jobs HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        ),
    ] {
        let answer = answer(&server, bytes);
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{what}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{what}: {answer}");
    }
    // More than a head may have.
    let many: String = (0..200).map(|n| format!("h{n}: a\r\n")).collect();
    let large = format!("large: {}\r\n", "a".repeat(200 * 1024));
    for headers in [many, large] {
        let head = format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
        let answer = answer(&server, head.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    // Both lengths of a body, in either order: a smuggled request would be answered too. `answer`
    // reads until the connection is closed.
    let (sized, chunked) = ("content-length: 4\r\n", "transfer-encoding: chunked\r\n");
    for (first, second) in [(sized, chunked), (chunked, sized)] {
        let both = format!(
            "POST /v1/jobs HTTP/1.1\r\nhost: a\r\n{first}{second}\r\n0\r\n\r\n\
             GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        let answer = answer(&server, both.as_bytes());
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    server.get("/healthz").send().expect(200);
}

/// A request to enqueue a job, with these headers and this body, on a connection of its own.
fn enqueue_with(headers: &str, body: &str) -> String {
    format!(
        "POST /v1/jobs HTTP/1.1\r\ncontent-type: application/json\r\nconnection: close\r\n\
         {headers}\r\n{body}"
    )
}

/// Guard: a server without keys answers to its names only, so the requests say one.
#[test]
fn a_body_that_cannot_be_read_as_sent_is_refused_with_its_reason() {
    let server = server();
    let host = format!("host: {}\r\n", server.address());
    let job = r#"{"kind":"t"}"#;
    let chunked =
        |chunks: &str| enqueue_with(&format!("{host}transfer-encoding: chunked\r\n"), chunks);
    let sized = |size: &str| enqueue_with(&format!("{host}content-length: {size}\r\n"), job);
    let encoded = |encoding: &str| sized(&format!("12\r\ncontent-encoding: {encoding}"));
    let broken = "its chunks cannot be read";
    for (what, request, status, says) in [
        ("a job", sized("12"), 201, r#""kind":"t""#),
        ("a job in chunks", chunked(&format!("c\r\n{job}\r\n0\r\n\r\n")), 201, r#""kind":"t""#),
        ("a size that is no number", chunked(&format!("zz\r\n{job}\r\n0\r\n\r\n")), 400, broken),
        ("a negative size", chunked(&format!("-c\r\n{job}\r\n0\r\n\r\n")), 400, broken),
        ("a size beyond 64 bits", chunked("ffffffffffffffff1\r\n{"), 400, broken),
        ("a size that never ends", chunked(&"1".repeat(100_000)), 400, broken),
        ("a chunk longer than its size", chunked(&format!("b\r\n{job}\r\n0\r\n\r\n")), 400, broken),
        ("an extension of 1 MB", chunked(&format!("c;{}", "a".repeat(1_000_000))), 400, broken),
        ("no host", enqueue_with("content-length: 12\r\n", job), 400, "the header host is missing"),
        ("gzip", encoded("gzip"), 415, "without `Content-Encoding`"),
        ("identity and br", encoded("identity\r\ncontent-encoding: br"), 415, "Content-Encoding"),
        ("identity", encoded("identity"), 201, r#""kind":"t""#),
        ("a length beyond 64 bits", sized("18446744073709551616"), 400, ""),
        ("a signed length", sized("+12"), 400, ""),
    ] {
        let answer = answer(&server, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {answer}");
        assert!(answer.contains(says), "{what}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{what}: {answer}");
    }
    server.get("/healthz").send().expect(200);
}

#[test]
fn cloud_events_are_taken_where_events_are() {
    let server = server();
    let as_event = |path: &str, body: Value| {
        let ask = server.ask("POST", path).header("content-type", "application/cloudevents+json");
        ask.json(&body)
    };
    let event = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"});
    as_event("/v1/events", event).expect(201);
    for path in ["/v1/jobs", "/createJob", "/v1/reserve", "/v1/jobs/bulk"] {
        as_event(path, json!({"kind": "t"})).problem(415, "unsupported_media_type");
    }
}

/// Guard: the parameters of a route are those of its description.
#[test]
fn a_parameter_that_a_route_does_not_have_is_refused_on_every_route() {
    let server = server();
    let api = server.get("/openapi.json").send().expect(200).value();
    let mut routes = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        let id = "01890000-0000-7000-8000-0000000037a8";
        let path = path.replace("{id}", id).replace("{name}", "a").replace("{consumer}", "c");
        for method in item.as_object().unwrap().keys() {
            let ask = server.ask(&method.to_uppercase(), &format!("{path}?limti=7"));
            let problem = ask.send().problem(400, "bad_request");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("parameter") && !detail.contains("limti"), "{problem}");
            routes += 1;
        }
    }
    assert!(routes > 35, "{routes}");
    for path in ["/v1/jobs?limit=7", "/v1/jobs?", "/v1/schedules?after=a", "/v1/queues"] {
        server.get(path).send().expect(200);
    }
}
