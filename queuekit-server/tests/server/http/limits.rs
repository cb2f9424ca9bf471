//! Requests beyond the server's limits are refused, and the server continues.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Server, Store};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

const MIB: u64 = 1 << 20;

/// Each connection needs a file descriptor, and the default limit of a process is 1,024.
const FILES: u64 = 4096;

fn server() -> Server {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(FILES).max(now.current.unwrap_or(FILES));
    assert!(most >= FILES, "these tests open {FILES} files, and `ulimit -Hn` is {most}: raise it");
    let raised = Rlimit { current: Some(most), maximum: now.maximum };
    setrlimit(Resource::Nofile, raised).expect("the bound can be raised");
    let store = Store::of("sqlite").unwrap();
    let settings = format!("[limits]\nmax_connections_per_address = {FILES}\n");
    std::fs::write(store.directory.path().join("queuekit.toml"), settings).unwrap();
    Server::start(store, &[])
}

/// What the process holds of memory now, in bytes.
fn resident(server: &Server) -> u64 {
    memory(server, "VmRSS")
}

fn memory(server: &Server, of: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(of)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

#[test]
fn s6_a_hundred_megabytes_are_refused_before_they_are_read() {
    let server = server();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "POST /v1/jobs HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: 104857600\r\n\r\n",
        server.address()
    )
    .unwrap();
    let mut answer = [0; 1024];
    let length = stream.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

/// As most clients do, it sends all it has before it reads.
#[test]
fn s6_who_sends_too_much_is_told_so_and_can_go_on() {
    let server = server();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let host = server.address();
    let head = |length: u64| {
        format!(
            "POST /v1/jobs HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        )
    };
    stream.write_all(head(40 * MIB).as_bytes()).unwrap();
    stream.write_all(&vec![b' '; 40 * MIB as usize]).unwrap();
    let job = r#"{"kind":"t"}"#;
    write!(stream, "{}{job}", head(job.len() as u64)).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert!(answers.starts_with("HTTP/1.1 413"), "{answers}");
}

#[test]
fn s6_a_body_that_does_not_say_its_size_is_refused_when_it_is_too_large() {
    let server = server();
    let before = resident(&server);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "POST /v1/jobs HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n",
        server.address()
    )
    .unwrap();
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(MIB as usize));
    let sent = (0..100).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(sent < 100, "it stopped reading");
    assert!(resident(&server).saturating_sub(before) < 64 * MIB);
    server.get("/healthz").send().expect(200);
}

#[test]
fn s6_a_million_elements_and_ten_thousand_levels_are_refused() {
    let server = server();
    let million = format!(r#"{{"jobs":[{}{{"kind":"t"}}]}}"#, r#"{"kind":"t"},"#.repeat(999_999));
    let problem = server.ask("POST", "/v1/jobs").text(million).problem(422, "invalid");
    assert!(problem["detail"].as_str().unwrap().contains("1000"), "{problem}");
    let deep = format!(r#"{{"kind":"t","payload":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    server.ask("POST", "/v1/jobs").text(deep).problem(400, "bad_request");
    let open = "[".repeat(1_000_000);
    server.ask("POST", "/v1/ack").text(open).problem(400, "bad_request");
    server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
}

/// The largest body that is let in, of the smallest items.
#[test]
fn s6_items_that_are_too_many_take_no_more_memory_than_they_came_in() {
    const SIZE: usize = 16 * MIB as usize;
    let filled = |begin: &str, item: &str, end: &str| {
        let room = SIZE - begin.len() - end.len();
        let items = item.repeat(room / item.len());
        format!("{begin}{}{end}", items.trim_end_matches(','))
    };
    // Each of another name.
    let named = |begin: &str, value: &str, end: &str| {
        let mut body = begin.to_owned();
        let mut names = 0;
        while body.len() + 64 < SIZE {
            write!(body, "\"{names}\":{value},").unwrap();
            names += 1;
        }
        body.pop();
        body + end
    };
    for (path, kind, body) in [
        ("/v1/events", "cloudevents-batch+json", filled("[", "0,", "]")),
        ("/v1/reserve", "json", filled(r#"{"worker":"w","queues":["#, r#""","#, "]}")),
        ("/v1/reserve", "json", named(r#"{"worker":"w","queues":{"#, "1", "}}")),
        ("/v1/report", "json", filled(r#"{"reports":[{"token":"","lines":["#, r#""","#, "]}]}")),
        ("/v1/jobs", "json", filled(r#"{"kind":"t","priority":["#, "0,", "]}")),
        ("/v1/jobs", "json", named(r#"{"kind":"t","metadata":{"#, "\"\"", "}}")),
        ("/v1/events", "json", named(r#"{"type":"t","metadata":{"#, "\"\"", "}}")),
    ] {
        let begin = body[..40].to_owned();
        // Of its own: an allocator keeps what one request has freed, per thread, for the next one.
        let server = server();
        let before = resident(&server);
        let ask = server.ask("POST", path).header("content-type", format!("application/{kind}"));
        ask.text(body).problem(422, "invalid");
        let grown = memory(&server, "VmHWM").saturating_sub(before);
        assert!(grown < 2 * SIZE as u64, "{path} {begin}: {} MiB", grown / MIB);
    }
}

/// serde repeats what it refuses in its message, and each layer above copies the message.
#[test]
fn s6_a_long_name_or_value_is_refused_without_being_copied() {
    const SIZE: usize = 16 * MIB as usize;
    let text = |begin: &str, end: &str| format!("{begin}{}{end}", "a".repeat(SIZE - 64));
    for (path, kind, body, field) in [
        ("/v1/jobs", "json", text(r#"{"jobs":[{"kind":"t",""#, r#"":1}]}"#), "jobs[0]"),
        ("/v1/jobs", "json", text(r#"{"kind":"t","max_attempts":""#, r#""}"#), "max_attempts"),
        ("/v1/nack", "json", text(r#"{"nacks":[{"token":"","kind":""#, r#""}]}"#), "nacks[0].kind"),
        ("/v1/events", "cloudevents-batch+json", text("\"", "\""), "body"),
        (
            "/v1/events",
            "cloudevents+json",
            text(r#"{"id":"a","source":"b","type":"t","specversion":""#, r#""}"#),
            "event",
        ),
    ] {
        let begin = body[..40].to_owned();
        // Of its own: an allocator keeps what one request has freed, per thread, for the next one.
        let server = server();
        let before = resident(&server);
        let ask = server.ask("POST", path).header("content-type", format!("application/{kind}"));
        let problem = ask.text(body).problem(422, "invalid");
        let grown = memory(&server, "VmHWM").saturating_sub(before);
        assert!(grown < 2 * SIZE as u64, "{path} {begin}: {} MiB", grown / MIB);
        assert_eq!(problem["field"], field, "{begin}: {problem}");
        assert!(problem.to_string().len() < 2000, "{begin}: {problem}");
    }
}

#[test]
fn s6_headers_beyond_bounds_are_refused() {
    let server = server();
    let sized = |bytes: usize| server.get("/v1/jobs").header("x-huge", "a".repeat(bytes));
    sized(15 * 1024).send().expect(200);
    for bytes in [33 * 1024, 1_000_000] {
        let refused = sized(bytes).try_send();
        assert!(refused.is_err() || refused.unwrap().status == 431, "{bytes}");
    }
    let many = (0..101).fold(server.get("/v1/jobs"), |ask, n| ask.header(&format!("x-{n}"), n));
    many.send().expect(431);
    server.get("/healthz").send().expect(200);
}

/// No request has begun, so this memory is beside `max_buffered_bytes`.
#[test]
fn s6_half_a_head_takes_little_memory_however_long_it_is() {
    const CLIENTS: u64 = 400;
    let server = server();
    let before = resident(&server);
    for kib in [15, 60] {
        let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}", "a".repeat(kib * 1024));
        let streams: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address()).unwrap();
                // The server may close the connection first.
                let _ = stream.write_all(head.as_bytes());
                stream
            })
            .collect();
        // Answered by the same threads, after what was sent before.
        server.get("/healthz").send().expect(200);
        let grown = memory(&server, "VmHWM").saturating_sub(before);
        drop(streams);
        println!("heads kib={kib} grown_kib_each={}", grown / CLIENTS / 1024);
        assert!(grown < CLIENTS * 48 * 1024, "{kib} KiB: {} KiB each", grown / CLIENTS / 1024);
    }
}

#[test]
fn s6_a_thousand_slow_connections_keep_nobody_out() {
    let server = server();
    let begin = |n: usize| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // Half of them dawdle over the head, half over the body.
        let head = "POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\n";
        let rest = "content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
        stream.write_all(head.as_bytes()).unwrap();
        if n.is_multiple_of(2) {
            stream.write_all(rest.as_bytes()).unwrap();
        }
        stream
    };
    let slow: Vec<TcpStream> = (0..1000).map(begin).collect();
    // Those that dawdle over the body take up places among the requests at work.
    for _ in 0..20 {
        server.ask("POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
    }
    server.get("/healthz").send().expect(200);
    drop(slow);
}

/// Open loop: callers come whether or not the others have been answered.
#[test]
fn overload_is_answered_with_201_429_or_503_and_every_accepted_job_is_stored() {
    let server = server();
    server.ask("PATCH", "/v1/queues/bounded").json(&json!({"max_pending": 200})).expect(200);
    let before = resident(&server);
    let (stored, full, busy) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (peak, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let end = Instant::now() + Duration::from_secs(5);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..1500)
            .map(|n| {
                let (stored, full, busy, server) = (&stored, &full, &busy, &server);
                let queue = if n % 2 == 0 { "bounded" } else { "open" };
                let caller = std::thread::Builder::new().stack_size(256 * 1024);
                let call = move || {
                    while Instant::now() < end {
                        for reply in burst(server, queue, 20) {
                            match reply {
                                201 => stored.fetch_add(1, Ordering::Relaxed),
                                429 => full.fetch_add(1, Ordering::Relaxed),
                                503 => busy.fetch_add(1, Ordering::Relaxed),
                                other => panic!("{other}"),
                            };
                        }
                    }
                };
                caller.spawn_scoped(scope, call).unwrap()
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                server.get("/healthz").send().expect(200);
                peak.fetch_max(resident(&server), Ordering::Relaxed);
            }
        });
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    let (stored, full, busy) = (stored.into_inner(), full.into_inner(), busy.into_inner());
    let grown = peak.into_inner().saturating_sub(before);
    println!(
        "overload accepted={stored} full_429={full} busy_503={busy} grown_mib={}",
        grown / MIB
    );
    assert!(stored > 2000 && full > 0);
    assert!(grown < 256 * MIB, "{grown}");
    let count = |queue: &str| {
        let found = server.get(&format!("/v1/queues/{queue}")).send().expect(200).value();
        found["counts"]["ready"]["value"].as_u64().unwrap()
    };
    let kept = count("bounded") + count("open");
    assert_eq!(kept, stored, "no accepted job is lost, and none that was refused is stored");
}

/// Sends this many requests before reading any answer, and returns their statuses.
fn burst(server: &Server, queue: &str, requests: usize) -> Vec<u16> {
    let body = format!(r#"{{"kind":"t","queue":"{queue}","payload":{{"n":1}}}}"#);
    let one = format!(
        "POST /v1/jobs HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        server.address(),
        body.len()
    );
    let last = one.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let Ok(mut stream) = TcpStream::connect(server.address()) else { return Vec::new() };
    let all = one.repeat(requests - 1) + &last;
    if stream.write_all(all.as_bytes()).is_err() {
        return Vec::new();
    }
    let mut answers = String::new();
    let _ = stream.read_to_string(&mut answers);
    let status = |part: &str| part.get(..3).and_then(|status| status.parse().ok());
    answers.split("HTTP/1.1 ").skip(1).filter_map(status).collect()
}

#[test]
fn a_client_that_hangs_up_early_may_have_been_answered_but_loses_nothing() {
    let server = server();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let body = r#"{"kind":"t","idempotency_key":"same"}"#;
        let (host, length) = (server.address(), body.len());
        write!(
            stream,
            "POST /v1/jobs HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
    }
    let again = json!({"kind": "t", "idempotency_key": "same"});
    let reply = server.ask("POST", "/v1/jobs").json(&again);
    assert!([200, 201].contains(&reply.status), "{} {}", reply.status, reply.text);
    let jobs = server.get("/v1/jobs").send().expect(200).value();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1);
}
