//! One key does its worst, and another enqueues, reserves, extends and acks beside it.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Ask, Server, Store, guarded_on, secret};

const MIB: u64 = 1 << 20;
/// What the server may come to hold of memory.
const MOST: u64 = 512 * MIB;
/// How many jobs of the other key go through at least, beside how many hostile requests.
const ROUNDS: u32 = 4;
const HOSTILE: u64 = 300;
/// From where the hostile ones come: an address has its part of the connections.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The long tier (`QUEUEKIT_TEST_LONG=1`) takes a minute, the short one a few seconds.
fn duration() -> Duration {
    match std::env::var_os("QUEUEKIT_TEST_LONG") {
        Some(_) => Duration::from_secs(60),
        None => Duration::from_secs(4),
    }
}

#[test]
fn s6_what_one_key_does_refuses_no_other_and_loses_it_no_lease() {
    let server = guarded_on(Store::of("sqlite").unwrap(), "");
    prepare(&server);
    let done = AtomicBool::new(false);
    let asked = AtomicU64::new(0);
    let rounds = std::thread::scope(|scope| {
        let hostile: [fn(&Hostile<'_>); 7] = [
            |hostile| hostile.announces(),
            |hostile| hostile.reads_nothing(),
            |hostile| hostile.streams_and_polls(),
            |hostile| hostile.connects(),
            |hostile| hostile.schedules(),
            |hostile| hostile.beats(),
            |hostile| hostile.emits(),
        ];
        for attack in hostile {
            let hostile = Hostile { server: &server, done: &done, asked: &asked };
            scope.spawn(move || attack(&hostile));
        }
        // Else a failure would wait for them for ever.
        let _end = End(&done);
        let end = Instant::now() + duration();
        let mut rounds: u32 = 0;
        // A slow machine takes longer and does as much.
        while Instant::now() < end || rounds < ROUNDS || asked.load(Ordering::Relaxed) < HOSTILE {
            work(&server);
            rounds += 1;
        }
        rounds
    });
    let peak = peak(&server);
    let asked = asked.into_inner();
    println!("flood rounds={rounds} refused=0 lost=0 hostile={asked} peak_mib={}", peak / MIB);
    assert!(peak < MOST, "{} MiB", peak / MIB);
}

/// One job of the other key, from its beginning to its end; nothing of it may be refused.
fn work(server: &Server) {
    let ask = |path: &str| server.ask("POST", path).key(&secret("neighbour"));
    let said = |path: &str, body: &Value| ask(path).json(body).expect(200).value();
    let job = json!({"kind": "t", "queue": "neighbour", "payload": "x".repeat(1024)});
    ask("/v1/jobs").json(&job).expect(201);
    let wanted = json!({"queues": ["neighbour"], "worker": "w", "wait_ms": 10_000});
    let reserved = said("/v1/reserve", &wanted);
    let token = &reserved["leases"][0]["token"];
    assert!(token.is_string(), "{reserved}");
    let beat = json!({"id": "w", "name": "w", "queues": ["neighbour"], "kinds": ["t"], "slots": 1,
        "running": 1, "ttl_ms": 30_000});
    ask("/v1/beat").json(&beat).expect(200);
    let extended = said("/v1/extend", &json!({"tokens": [token], "lease_ms": 30_000}));
    assert_eq!(extended["outcomes"][0]["outcome"], "extended", "{extended}");
    let acked = said("/v1/ack", &json!({"acks": [{"token": token}]}));
    assert_eq!(acked["outcomes"][0]["outcome"], "acked", "{acked}");
    server.get("/healthz").send().expect(200);
}

/// Large records for large listings, by the hostile key itself.
fn prepare(server: &Server) {
    let large = "x".repeat(MIB as usize - 1024);
    for n in 0..24 {
        let ask = |method: &str, path: &str| server.ask(method, path).key(&secret("hostile"));
        ask("POST", "/v1/events").json(&json!({"type": "t", "data": large})).expect(201);
        ask("POST", "/v1/jobs").json(&json!({"kind": "t", "payload": large})).expect(201);
        let schedule = json!({"every_ms": 86_400_000, "job": {"kind": "t", "payload": large}});
        ask("PUT", &format!("/v1/schedules/large{n}")).json(&schedule).expect(201);
    }
}

/// What the process has held at most.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Hostile<'a> {
    server: &'a Server,
    done: &'a AtomicBool,
    asked: &'a AtomicU64,
}

impl Hostile<'_> {
    fn goes_on(&self) -> bool {
        !self.done.load(Ordering::Relaxed)
    }

    /// Repeats it, and keeps the last connections open, up to `most`.
    fn holds(&self, most: usize, open: impl Fn(usize) -> Option<TcpStream>) {
        let mut held = std::collections::VecDeque::new();
        for n in 0.. {
            if !self.goes_on() {
                return;
            }
            held.extend(open(n));
            self.asked.fetch_add(1, Ordering::Relaxed);
            if held.len() > most {
                held.pop_front();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn asks(&self, ask: impl Fn(usize, &dyn Fn(&str, &str) -> Ask)) {
        for n in 0.. {
            if !self.goes_on() {
                return;
            }
            let made =
                |method: &str, path: &str| self.server.ask(method, path).key(&secret("hostile"));
            ask(n, &made);
            self.asked.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The head of a request, from elsewhere; none if it is not let in.
    fn begins(&self, head: &str, body: &[u8]) -> Option<TcpStream> {
        let mut stream = connect(self.server)?;
        let key = secret("hostile");
        let host = "host: a\r\ncontent-type: application/json";
        write!(stream, "{head} HTTP/1.1\r\n{host}\r\nauthorization: Bearer {key}\r\n").ok()?;
        write!(stream, "content-length: {}\r\n\r\n", body.len().max(1)).ok()?;
        stream.write_all(&body[..body.len().saturating_sub(1)]).ok()?;
        Some(stream)
    }

    /// Bodies that do not end: most of them, or nothing but what is announced.
    fn announces(&self) {
        let (large, small) = (vec![b' '; 16 * MIB as usize], vec![b' '; MIB as usize]);
        self.holds(100, |n| match n % 10 {
            0 => self.begins("POST /v1/jobs", &small),
            _ => {
                let stream = connect(self.server)?;
                let head = "POST /v1/events HTTP/1.1\r\nhost: a\r\ncontent-type: application/json";
                let (key, length) = (secret("hostile"), large.len());
                let rest = format!("authorization: Bearer {key}\r\ncontent-length: {length}");
                write!(&stream, "{head}\r\n{rest}\r\n\r\n{{").ok()?;
                Some(stream)
            }
        });
    }

    fn reads_nothing(&self) {
        let paths = ["/v1/events?limit=1000", "/v1/jobs?limit=1000", "/v1/schedules", "/metrics"];
        self.holds(60, |n| self.begins(&format!("GET {}", paths[n % paths.len()]), b""));
    }

    fn streams_and_polls(&self) {
        let wait = r#"{"queues":["none"],"worker":"w","wait_ms":60000} "#;
        self.holds(60, |n| match n % 2 {
            0 => self.begins("GET /v1/stream", b""),
            _ => self.begins("POST /v1/reserve", wait.as_bytes()),
        });
    }

    fn connects(&self) {
        self.holds(5000, |_| connect(self.server));
    }

    fn schedules(&self) {
        self.asks(|n, ask| {
            let job = json!({"kind": "t", "queue": "scheduled"});
            let schedule = json!({"every_ms": 1000, "job": job});
            let _ = ask("PUT", &format!("/v1/schedules/every{n}")).try_json(&schedule);
        });
    }

    fn beats(&self) {
        let queues: Vec<String> = (0..100).map(|n| format!("{n}.{}", "q".repeat(100))).collect();
        self.asks(|n, ask| {
            let beat = json!({"id": format!("w{n}"), "name": "w", "queues": queues, "kinds": queues,
                "slots": 1, "running": 0, "ttl_ms": 600_000});
            let _ = ask("POST", "/v1/beat").try_json(&beat);
        });
    }

    fn emits(&self) {
        self.asks(|n, ask| {
            let consumer = format!("/v1/subscriptions/c{n}");
            let _ = ask("PUT", &consumer).try_json(&json!({"events": "*"}));
            let _ = ask("POST", "/v1/events").try_json(&json!({"type": "t", "data": n}));
        });
    }
}

fn connect(server: &Server) -> Option<TcpStream> {
    let to: SocketAddr = server.address().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().ok()?;
        socket.bind((ELSEWHERE, 0).into()).ok()?;
        tokio::time::timeout(Duration::from_secs(1), socket.connect(to)).await.ok()?.ok()
    })?;
    let stream = stream.into_std().ok()?;
    stream.set_nonblocking(false).ok()?;
    stream.set_write_timeout(Some(Duration::from_millis(200))).ok()?;
    Some(stream)
}
