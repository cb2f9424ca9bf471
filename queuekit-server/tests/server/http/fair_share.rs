//! What all share: no key takes so much of it that another is refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Reply, Server, by, guarded, guarded_with, secret};

const MIB: usize = 1 << 20;

/// A request of which only this much of the body is sent.
pub(super) fn begun(
    server: &Server,
    key: &str,
    (method, path): (&str, &str),
    of: usize,
    sent: usize,
) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {of}\r\n\r\n",
        secret(key)
    )
    .unwrap();
    stream.write_all(&vec![b' '; sent]).unwrap();
    stream
}

/// The head of its answer.
pub(super) fn answered(mut stream: TcpStream) -> String {
    let mut head = [0; 1024];
    let length = stream.read(&mut head).unwrap();
    String::from_utf8_lossy(&head[..length]).into_owned()
}

#[test]
fn s6_bodies_that_are_announced_and_do_not_come_take_up_nothing() {
    let server = guarded();
    let post = ("POST", "/v1/jobs");
    let silent: Vec<_> = (0..64).map(|_| begun(&server, "producer", post, 16 * MIB, 1)).collect();
    for key in ["producer", "admin"] {
        by(&server, key, "POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
    }
    let reserve = json!({"queues": ["default"], "worker": "w"});
    by(&server, "worker", "POST", "/v1/reserve").json(&reserve).expect(200);
    drop(silent);
}

/// Whatever routes there are: the description is made of them.
#[test]
fn s3_no_byte_is_read_of_a_body_whose_sender_lacks_the_scope() {
    let server = guarded();
    let api = by(&server, "reader", "GET", "/openapi.json").send().expect(200).value();
    let mut seen = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        let operations = item.as_object().unwrap().iter();
        for (method, _) in operations.filter(|(_, says)| says.get("requestBody").is_some()) {
            let name = path.replace("{id}", "0199c3a0-0000-7000-8000-000000000000");
            let name = name.replace("{name}", "a").replace("{consumer}", "a");
            let asked = (method.to_uppercase(), name);
            let stream = begun(&server, "reader", (&asked.0, &asked.1), 16 * MIB, 0);
            let answer = answered(stream);
            assert!(answer.starts_with("HTTP/1.1 403"), "{asked:?}: {answer}");
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen} routes with a body");
}

#[test]
fn s6_a_key_that_has_its_share_of_memory_is_refused_more_and_others_go_on() {
    let server = guarded_with("[limits]\nmax_body_bytes = 1048576\nmax_buffered_bytes = 16777216");
    let post = ("POST", "/v1/jobs");
    // A key has a quarter of 16 MiB: four of these five bodies. None of them ends, so an
    // answer means that memory is short.
    let mut bodies: Vec<_> =
        (0..5).map(|_| begun(&server, "producer", post, MIB, MIB - 1)).collect();
    let refused = first_answer(&mut bodies);
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.to_lowercase().contains("retry-after: 1\r\n"), "{refused}");
    by(&server, "writer", "POST", "/v1/jobs")
        .json(&json!({"kind": "t", "queue": "acme.a"}))
        .expect(201);
    by(&server, "worker", "POST", "/v1/ack").json(&json!({"acks": []})).expect(200);
}

/// Guard: a store that is read with little memory leases nothing that has no room there.
#[test]
fn s6_large_jobs_after_small_ones_take_no_more_memory_than_their_key_has() {
    let server = guarded_with("[limits]\nmax_body_bytes = 1048576\nmax_buffered_bytes = 16777216");
    let enqueue = |queue: &str, payload: &str| {
        let job = json!({"kind": "t", "queue": queue, "payload": payload});
        by(&server, "producer", "POST", "/v1/jobs").json(&job).expect(201);
    };
    let reserve = |queue: &str| {
        let body = json!({"queues": [queue], "worker": "w", "limit": 7});
        by(&server, "worker", "POST", "/v1/reserve").json(&body).expect(200).value()
    };
    // Reserves that meet only small jobs take little memory in the end.
    for _ in 0..60 {
        enqueue("small", "");
        assert_eq!(reserve("small")["leases"].as_array().unwrap().len(), 1);
    }
    let large = "x".repeat(MIB - 200);
    for _ in 0..7 {
        enqueue("large", &large);
    }
    let mut served = Vec::new();
    while served.len() < 7 {
        let reserved = reserve("large");
        let leases = reserved["leases"].as_array().unwrap().len();
        // A key has a quarter of 16 MiB: half of that for the jobs, half for their JSON.
        assert!((1..=2).contains(&leases), "{leases} jobs of 1 MiB in 2 MiB");
        served.extend((0..leases).map(|_| ()));
        assert_eq!(reserved["more"], served.len() < 7);
    }
}

/// Guard: what reads jobs, schedules or events takes memory first.
#[test]
fn s6_what_reads_the_store_is_refused_if_its_key_has_no_memory_left() {
    let server = guarded_with("[limits]\nmax_body_bytes = 1048576\nmax_buffered_bytes = 16777216");
    let ask = |method, path: &str, body: Value| by(&server, "admin", method, path).json(&body);
    let filter = json!({"action": "retry", "dry_run": true, "filter": {"all": true}});
    let bulk = || ask("POST", "/v1/jobs/bulk", filter.clone());
    let schedule = json!({"every_ms": 86_400_000, "job": {"kind": "t"}});
    let put = || ask("PUT", "/v1/schedules/s", schedule.clone());
    let pause = || by(&server, "admin", "POST", "/v1/schedules/s/pause").send();
    let run = || by(&server, "admin", "POST", "/v1/schedules/s/run").send();
    let next = || by(&server, "admin", "GET", "/v1/schedules/s/next").send();
    let figures = || by(&server, "admin", "GET", "/v1/subscriptions/c").send();
    let replay = || ask("POST", "/v1/subscriptions/c/replay", json!({"name": "again"}));
    let enqueue = || ask("POST", "/v1/jobs", json!({"kind": "t", "idempotency_key": "u"}));
    bulk().expect(200);
    put().expect(201);
    next().expect(200);
    ask("PUT", "/v1/subscriptions/c", json!({"events": "*"})).expect(201);
    figures().expect(200);
    replay().expect(200);
    enqueue().expect(201);
    assert_eq!(enqueue().expect(200).value()["status"], "ready");
    let _bodies = filled(&server, "admin", &next);
    let duplicate = enqueue().expect(200).value();
    assert_eq!(duplicate["status"], Value::Null, "known, but not read");
    let readers: [&(dyn Fn() -> Reply + Sync); 7] =
        [&bulk, &put, &pause, &run, &next, &figures, &replay];
    thread::scope(|scope| {
        // Each waits for memory for 5 s, so they wait at once.
        for reader in readers.map(|reader| scope.spawn(reader)) {
            reader.join().unwrap().expect(429);
        }
    });
    let stored = by(&server, "reader", "GET", "/v1/schedules/s").send().expect(200).value();
    assert_eq!(stored["paused"], false);
}

/// Guard: what a key for some queues does with one job takes memory before it looks at the job.
#[test]
fn s6_a_job_is_not_read_for_a_key_for_few_queues_that_has_no_memory_left() {
    let server = guarded_with("[limits]\nmax_body_bytes = 1048576\nmax_buffered_bytes = 16777216");
    let job = json!({"kind": "t", "queue": "acme.a"});
    let stored = by(&server, "acme", "POST", "/v1/jobs").json(&job).expect(201).value();
    let path = |rest: &str| format!("/v1/jobs/{}{rest}", stored["id"].as_str().unwrap());
    let send = |method, rest: &str| by(&server, "acme", method, &path(rest)).send();
    let post = |rest: &str, body: Value| by(&server, "acme", "POST", &path(rest)).json(&body);
    let watch = format!("/v1/stream?job={}", stored["id"].as_str().unwrap());
    let readers: [&(dyn Fn() -> Reply + Sync); 9] = [
        &|| send("GET", ""),
        &|| send("GET", "/checkpoints"),
        &|| send("GET", "/why"),
        &|| by(&server, "acme", "GET", &watch).send(),
        &|| post("/reschedule", json!({"delay_ms": 1000})),
        &|| post("/dead-letter", json!({"reason": "r"})),
        &|| send("POST", "/retry"),
        &|| send("POST", "/cancel"),
        &|| send("DELETE", ""),
    ];
    let bodies = filled(&server, "acme", &|| send("GET", ""));
    thread::scope(|scope| {
        for reader in readers.map(|reader| scope.spawn(reader)) {
            reader.join().unwrap().expect(429);
        }
    });
    drop(bodies);
    assert_eq!(send("GET", "/why").expect(200).value()["reason"], "no_live_worker");
    post("/dead-letter", json!({"reason": "r"})).expect(200);
    send("POST", "/retry").expect(200);
    send("POST", "/cancel").expect(200);
    send("DELETE", "").expect(204);
}

/// Bodies that do not end, and that leave a key of 4 MiB too little memory for this reader.
fn filled(server: &Server, key: &str, reader: &dyn Fn() -> Reply) -> Vec<TcpStream> {
    let begin = |_| begun(server, key, ("POST", "/v1/jobs"), MIB, 900 * 1024);
    let mut bodies: Vec<_> = (0..5).map(begin).collect();
    assert!(first_answer(&mut bodies).starts_with("HTTP/1.1 429"));
    // Of bodies that arrive together, several may be refused. They are given up after 30 s.
    while reader().status != 429 {
        bodies.push(begin(0));
    }
    bodies
}

/// The head of whichever answer comes first. The server answers each in the end: a body that does
/// not arrive is refused with 408.
pub(super) fn first_answer(streams: &mut [TcpStream]) -> String {
    let wait = Some(Duration::from_millis(10));
    streams.iter().for_each(|stream| stream.set_read_timeout(wait).unwrap());
    let mut head = [0; 1024];
    loop {
        let answered = streams.iter_mut().find_map(|stream| stream.read(&mut head).ok());
        if let Some(length) = answered {
            return String::from_utf8_lossy(&head[..length]).into_owned();
        }
    }
}

#[test]
fn s6_streams_and_long_polls_of_one_key_leave_places_for_others() {
    let server =
        guarded_with("[limits]\nmax_waiting = 8\nmax_streams = 8\nmax_streams_per_key = 2");
    let stream = |key: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let key = secret(key);
        write!(stream, "GET /v1/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\r\n")
            .unwrap();
        let head = answered(stream.try_clone().unwrap());
        (head.starts_with("HTTP/1.1 200"), head.starts_with("HTTP/1.1 429"), stream)
    };
    let held = [stream("reader"), stream("reader")];
    assert!(held.iter().all(|(is_served, ..)| *is_served));
    assert!(stream("reader").1, "one key has two");
    assert!(stream("admin").0, "another has its own");
    let reserve = |key: &str, queue: &str, wait_ms: u64| {
        let body = json!({"queues": [queue], "worker": "w", "wait_ms": wait_ms});
        by(&server, key, "POST", "/v1/reserve").json(&body).status
    };
    // A request that arrives while the others are tried is asked to retry.
    let poll = || while reserve("worker", "poll", 60_000) == 429 {};
    thread::scope(|scope| {
        let polls = [scope.spawn(poll), scope.spawn(poll)];
        let told = (0..1000).any(|_| reserve("worker", "other", 1) == 429);
        let brief = reserve("worker", "other", 0);
        let other = reserve("admin", "other", 1);
        // Whatever came of it, they come to an end.
        while !polls.iter().all(|poll| poll.is_finished()) {
            by(&server, "producer", "POST", "/v1/jobs")
                .json(&json!({"kind": "t", "queue": "poll"}))
                .expect(201);
        }
        assert!(told, "one key has a quarter of 8");
        assert_eq!((brief, other), (200, 200), "who does not wait takes no place");
    });
}

#[test]
fn s6_a_batch_that_a_key_may_never_send_is_refused_for_good() {
    let server = guarded();
    let batch = |items: usize| json!({"jobs": vec![json!({"kind": "t"}); items]});
    let send = |items| by(&server, "slow", "POST", "/v1/jobs").json(&batch(items));
    send(5).expect(201);
    let refused = (0..1000).map(|_| send(6)).find(|refused| refused.status != 429);
    let problem = refused.expect("it rests").problem(413, "too_large");
    assert!(problem["detail"].as_str().unwrap().contains("at most 5 at once"), "{problem}");
}

#[test]
fn s6_who_sends_wrong_keys_keeps_nobody_else_out() {
    let server = guarded_with("[limits]\nmax_connections = 8");
    let wrong = "GET /v1/jobs HTTP/1.1\r\nhost: a\r\nauthorization: Bearer wrong\r\n\r\n";
    // Clients that have their answer take all places, and would keep them for minutes: the answers
    // to this many wrong keys wait for each other.
    let hold = |_| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        stream.read_exact(&mut [0]).unwrap();
        let _ = stream.write_all(wrong.repeat(100).as_bytes());
        stream
    };
    let held: Vec<_> = (0..8).map(hold).collect();
    by(&server, "producer", "POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
    drop(held);
}

#[test]
fn s6_a_beat_names_at_most_a_hundred_queues_and_kinds() {
    let server = guarded();
    let names = |many: usize| (0..many).map(|n| format!("q{n}")).collect::<Vec<_>>();
    let beat = |queues: usize, kinds: usize| {
        let (queues, kinds) = (names(queues), names(kinds));
        by(&server, "worker", "POST", "/v1/beat").json(&json!({"id": "w", "name": "w",
            "queues": queues, "more_queues": true, "kinds": kinds, "slots": 1, "running": 0,
            "ttl_ms": 43_200_000}))
    };
    beat(100, 100).expect(200);
    let listed = by(&server, "reader", "GET", "/v1/workers").send().expect(200).value();
    let worker = &listed["workers"][0];
    assert_eq!((&worker["more_queues"], &worker["more_kinds"]), (&json!(true), &json!(false)));
    assert_eq!(beat(101, 1).problem(422, "invalid")["field"], "queues");
    assert_eq!(beat(1, 101).problem(422, "invalid")["field"], "kinds");
}
