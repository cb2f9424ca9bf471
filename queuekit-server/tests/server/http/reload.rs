//! SIGHUP: keys, certificates and limits are read again, and nobody is cut off.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Server, Store, command, digest, secret};

/// The lines of a key that may read.
fn lines(id: &str) -> String {
    let digest = digest(&secret(id));
    format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{digest}\"\nscopes = [\"read\"]\n")
}

fn hang_up(pid: u32) {
    let sent = Command::new("kill").args(["-HUP", &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

fn status(server: &Server, id: &str) -> u16 {
    server.get("/v1/queues").key(&secret(id)).send().status
}

/// Whether it comes to hold.
fn soon(mut holds: impl FnMut() -> bool) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        holds()
    })
}

/// The first line of this answer, and the connection on which its head has been read.
fn open(server: &Server, request: &str) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "{request}\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n", secret("goes"))
        .unwrap();
    let mut stream = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while line != "\r\n" {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the head of an answer");
        head += &line;
    }
    (head.lines().next().unwrap_or_default().to_owned(), stream)
}

/// Whether the answer comes to an end within a minute; a stream says now and then that it is there.
fn ends(stream: &mut BufReader<TcpStream>) -> bool {
    let begun = Instant::now();
    let mut line = String::new();
    loop {
        if begun.elapsed() > Duration::from_secs(60) {
            return false;
        }
        line.clear();
        match stream.read_line(&mut line) {
            Ok(0) => return true,
            // The last piece of an answer of unknown length.
            Ok(_) if line == "0\r\n" => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

#[test]
fn s2_keys_are_read_again_and_a_stream_ends_with_its_key() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    fs::write(&file, lines("stays") + &lines("goes")).unwrap();
    let server = Server::start(store, &[]);
    let (_, mut stream) = open(&server, "GET /v1/stream HTTP/1.1");
    assert_eq!((status(&server, "goes"), status(&server, "comes")), (200, 401));
    fs::write(&file, "[[keys]]\nid = 3").unwrap();
    hang_up(server.pid());
    server.logged(&["SIGHUP", "stay as they were", "line 2"]);
    assert_eq!(status(&server, "goes"), 200, "what cannot be read changes nothing");
    fs::write(&file, "").unwrap();
    hang_up(server.pid());
    server.logged(&["SIGHUP", "no key is left"]);
    fs::write(&file, lines("stays") + &lines("comes")).unwrap();
    hang_up(server.pid());
    server.logged(&["SIGHUP", "were read again"]);
    assert!(ends(&mut stream), "nothing goes on under a key that is gone");
    let statuses = ["stays", "goes", "comes"].map(|id| status(&server, id));
    assert_eq!(statuses, [200, 401, 200]);
}

/// Guard: a job would be stored for a key that was revoked before the whole of it had come.
#[test]
fn s2_a_body_that_arrives_after_its_key_was_removed_is_refused() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    let may = |id: &str| lines(id).replace("read", "admin");
    fs::write(&file, may("stays") + &may("goes")).unwrap();
    let server = Server::start(store, &[]);
    let body = r#"{"kind":"t"}"#;
    let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: {}", body.len());
    let post = |id: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let key = format!("Authorization: Bearer {}", secret(id));
        let json = "Content-Type: application/json";
        write!(stream, "{head}\r\n{json}\r\n{key}\r\n\r\n{{").unwrap();
        stream
    };
    let mut streams = ["goes", "stays"].map(post);
    // Both are admitted once the key has been used.
    let used = |id: &str| {
        let keys = server.get("/v1/keys").key(&secret("stays")).send().expect(200).value();
        let mut keys = keys["keys"].as_array().unwrap().iter();
        keys.any(|key| key["id"] == *id && key["last_used"].is_string())
    };
    assert!(soon(|| used("goes")));
    fs::write(&file, may("stays")).unwrap();
    hang_up(server.pid());
    server.logged(&["SIGHUP", "were read again"]);
    let statuses = streams.each_mut().map(|stream| {
        // The server may have answered and closed the connection.
        let _ = stream.write_all(&body.as_bytes()[1..]);
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.get(9..12).map(str::to_owned)
    });
    assert_eq!(statuses.map(Option::unwrap_or_default), ["401", "201"]);
}

/// Guard: a job would be leased to a key that was revoked a minute ago.
#[test]
fn s2_a_reserve_that_waits_ends_with_its_key() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    let may = |id: &str| lines(id).replace("read", "admin");
    let limits = "[limits]\nmax_waiting = 4\n";
    fs::write(&file, format!("{limits}{}{}", may("stays"), may("goes"))).unwrap();
    let server = Server::start(store, &[]);
    let body = r#"{"queues":["q"],"worker":"w","wait_ms":60000}"#;
    let head = format!("POST /v1/reserve HTTP/1.1\r\nHost: a\r\nContent-Length: {}", body.len());
    let key = format!("Authorization: Bearer {}", secret("goes"));
    let json = "Content-Type: application/json";
    // A key has a quarter of the long polls: once this one waits, there is no place for another.
    let second = json!({"queues": ["q"], "worker": "w", "wait_ms": 1});
    let poll = || server.ask("POST", "/v1/reserve").key(&secret("goes")).json(&second);
    let waiting = (0..100).find_map(|_| {
        let mut waiting = TcpStream::connect(server.address()).unwrap();
        write!(waiting, "{head}\r\n{json}\r\n{key}\r\n\r\n{body}").unwrap();
        waiting.set_nonblocking(true).unwrap();
        // The place was taken by one of the other polls.
        let refused = || waiting.peek(&mut [0]).is_ok();
        let waits = soon(|| refused() || poll().status == 429) && !refused();
        waiting.set_nonblocking(false).unwrap();
        waits.then_some(waiting)
    });
    let waiting = waiting.expect("it waits");
    fs::write(&file, may("stays")).unwrap();
    hang_up(server.pid());
    let mut waiting = BufReader::new(waiting);
    let (mut status, mut line) = (String::new(), String::new());
    waiting.read_line(&mut status).unwrap();
    assert_eq!(status.trim_end(), "HTTP/1.1 401 Unauthorized");
    while !line.contains("while the request waited") {
        assert_ne!(waiting.read_line(&mut line).unwrap(), 0, "{line}");
    }
    let ask = |path: &str| server.ask("POST", path).key(&secret("stays"));
    ask("/v1/jobs").json(&json!({"kind": "t", "queue": "q"})).expect(201);
    let own = json!({"queues": ["q"], "worker": "w"});
    let reserved = ask("/v1/reserve").json(&own).expect(200).value();
    assert_eq!(reserved["leases"].as_array().unwrap().len(), 1, "nobody else has it");
}

#[test]
fn s2_limits_are_read_again_and_hold_for_what_begins() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    let set = |settings: &str| {
        fs::write(&file, settings.to_owned() + "\n" + &lines("goes").replace("read", "admin"))
            .unwrap();
    };
    set("[limits]\nmax_streams_per_key = 1\nmax_body_bytes = 1000");
    let server = Server::start(store, &[]);
    let is_too_large = || {
        let body = " ".repeat(1500);
        server.ask("POST", "/v1/jobs").key(&secret("goes")).text(body).status == 413
    };
    let stream = || {
        let (status, stream) = open(&server, "GET /v1/stream HTTP/1.1");
        (status == "HTTP/1.1 200 OK").then_some(stream)
    };
    let first = stream().expect("one is let in");
    assert!(stream().is_none() && is_too_large());
    set("access_log = true\n[limits]\nmax_streams_per_key = 2\nmax_body_bytes = 2000");
    hang_up(server.pid());
    assert!(soon(|| !is_too_large()));
    let second = stream().expect("two are let in");
    assert!(stream().is_none());
    server.logged(&["need a restart: access_log"]);
    set("[limits]\nmax_streams_per_key = 1\nmax_body_bytes = 1000");
    hang_up(server.pid());
    assert!(soon(is_too_large));
    assert!(stream().is_none());
    for held in [&first, &second] {
        held.get_ref().set_nonblocking(true).unwrap();
        let has_ended = held.get_ref().peek(&mut [0]).is_ok_and(|bytes| bytes == 0);
        assert!(!has_ended, "nobody is cut off");
    }
    drop((first, second));
    assert!(soon(|| stream().is_some()), "one is let in again");
}

#[test]
fn s2_other_quotas_hold_for_what_a_key_has_made_before() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    let set = |most: usize| {
        let limits = format!(
            "[limits]\nmax_body_bytes = {most}000\nmax_queues_per_key = {most}\n\
             max_workers_per_key = {most}\n"
        );
        let key = lines("goes").replace("\"read\"", "\"enqueue\", \"work\"");
        fs::write(&file, limits + &key).unwrap();
    };
    set(1);
    let server = Server::start(store, &[]);
    let is_too_large = || {
        let body = " ".repeat(1500);
        server.ask("POST", "/v1/jobs").key(&secret("goes")).text(body).status == 413
    };
    let post = |path: &str, body: &serde_json::Value| {
        server.ask("POST", path).key(&secret("goes")).json(body).status
    };
    let enqueue = |queue: &str| post("/v1/jobs", &json!({"kind": "t", "queue": queue}));
    let beat = |id: &str| {
        let queues: [&str; 0] = [];
        post(
            "/v1/beat",
            &json!({"id": id, "name": id, "queues": queues, "kinds": queues,
            "slots": 1, "running": 0, "ttl_ms": 60_000}),
        )
    };
    assert_eq!([enqueue("q1"), enqueue("q2"), beat("w1"), beat("w2")], [201, 409, 200, 429]);
    set(2);
    hang_up(server.pid());
    assert!(soon(|| !is_too_large()));
    assert_eq!([enqueue("q2"), enqueue("q3")], [201, 409]);
    assert_eq!([beat("w2"), beat("w3")], [200, 429]);
    set(1);
    hang_up(server.pid());
    assert!(soon(is_too_large));
    assert_eq!([enqueue("q4"), beat("w4")], [409, 429]);
    assert_eq!([enqueue("q1"), enqueue("q2"), beat("w1")], [201, 201, 200]);
}

#[test]
fn s2_a_worker_goes_on_at_a_hang_up() {
    let store = Store::of("memory").unwrap();
    let mut worker = command(&store)
        .args(["work", "--url", "memory:"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(worker.stderr.take().unwrap()).lines();
    let mut told = |words: &str| lines.any(|line| line.is_ok_and(|line| line.contains(words)));
    assert!(told("working"), "it has started");
    hang_up(worker.id());
    let goes_on = told("SIGHUP: a worker reads its settings only at its start");
    let has_ended = worker.try_wait().unwrap().is_some();
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(goes_on && !has_ended);
}
