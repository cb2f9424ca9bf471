//! What hostile keys do: `hostile` is for all queues and no administrator, `acme` is administrator
//! of few queues.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Ask, Reply, Server, by, secret};

const MIB: usize = 1 << 20;
/// From where the hostile connections come: an address has its part of them.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// What the store is read for.
const LARGE: [&str; 11] = [
    "/v1/events?limit=1000",
    "/v1/jobs?limit=1000",
    "/v1/schedules",
    "/metrics",
    "/v1/jobs?recent=true&limit=1000",
    "/v1/errors?limit=1000",
    "/v1/errors/0123456789abcdef",
    "/v1/history",
    "/v1/workers?limit=1000",
    "/v1/queues?limit=1000",
    "/v1/subscriptions",
];
/// What looks into each job.
const SEARCHES: [&str; 4] = [
    "/v1/jobs?payload=a.b:1&limit=1000",
    "/v1/jobs?metadata=a:b&limit=1000",
    "/v1/jobs?recent=true&payload=a:1",
    "/v1/jobs?id=ab&error=none&limit=1000",
];

/// Each runs in a thread of its own.
pub(super) const ATTACKS: [fn(&Hostile<'_>); 17] = [
    |hostile| hostile.announces(),
    |hostile| hostile.is_refused(),
    |hostile| hostile.reads_nothing(),
    |hostile| hostile.streams_and_polls(),
    |hostile| hostile.connects(),
    |hostile| hostile.schedules(),
    |hostile| hostile.beats(),
    |hostile| hostile.emits(),
    |hostile| hostile.replays(),
    |hostile| hostile.reads(&LARGE),
    |hostile| hostile.reads(&SEARCHES),
    |hostile| hostile.reads(&SEARCHES),
    |hostile| hostile.reads(&SEARCHES),
    |hostile| hostile.fails(),
    |hostile| hostile.repeats(),
    |hostile| hostile.orders(),
    |hostile| hostile.acts(),
];

pub(super) struct Hostile<'a> {
    pub(super) server: &'a Server,
    pub(super) done: &'a AtomicBool,
    pub(super) asked: &'a AtomicU64,
}

/// Sends a request; whatever comes of it.
type Asking<'a> = &'a dyn Fn(&str, &str, Value) -> Option<Reply>;

impl Hostile<'_> {
    fn goes_on(&self) -> bool {
        !self.done.load(Ordering::Relaxed)
    }

    /// Repeats it, and keeps the last connections open, up to `most`.
    fn holds(&self, most: usize, open: impl Fn(usize) -> Option<TcpStream>) {
        let mut held = VecDeque::new();
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

    /// Repeats it with this key.
    fn asks(&self, key: &str, ask: impl Fn(usize, Asking<'_>)) {
        let asking = |method: &str, path: &str, body: Value| {
            let made: Ask = by(self.server, key, method, path);
            let reply = if body.is_null() { made.try_send() } else { made.try_json(&body) };
            self.asked.fetch_add(1, Ordering::Relaxed);
            reply.ok()
        };
        for n in 0.. {
            if !self.goes_on() {
                return;
            }
            ask(n, &asking);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A request of which the last byte is missing, from elsewhere; none if it is not let in.
    fn begins(&self, head: &str, body: &[u8]) -> Option<TcpStream> {
        self.announced(head, body.len().max(1), &body[..body.len().saturating_sub(1)])
    }

    /// The same with the length that it announces.
    fn announced(&self, head: &str, length: usize, body: &[u8]) -> Option<TcpStream> {
        let mut stream = connect(self.server)?;
        let key = secret("hostile");
        let host = "host: a\r\ncontent-type: application/json";
        write!(stream, "{head} HTTP/1.1\r\n{host}\r\nauthorization: Bearer {key}\r\n").ok()?;
        write!(stream, "content-length: {length}\r\n\r\n").ok()?;
        stream.write_all(body).ok()?;
        Some(stream)
    }

    /// Bodies that do not end: most of them, or nothing but what is announced.
    fn announces(&self) {
        let small = vec![b' '; MIB];
        self.holds(100, |n| match n % 10 {
            0 => self.begins("POST /v1/jobs", &small),
            _ => self.announced("POST /v1/events", 16 * MIB, b"{"),
        });
    }

    /// Bodies that are too large, or for which the key lacks the scope.
    fn is_refused(&self) {
        let body = vec![b' '; MIB];
        self.holds(60, |n| match n % 3 {
            0 => self.announced("POST /v1/jobs", 1 << 40, &body),
            1 => self.announced("POST /v1/jobs/bulk", 16 * MIB, &body),
            _ => self.announced("PATCH /v1/queues/q", 16 * MIB, b"{"),
        });
    }

    fn reads_nothing(&self) {
        self.holds(60, |n| self.begins(&format!("GET {}", LARGE[n % LARGE.len()]), b""));
    }

    fn streams_and_polls(&self) {
        let large = by(self.server, "hostile", "GET", "/v1/jobs?limit=1").send().value();
        let job = large["jobs"][0]["id"].as_str().unwrap_or_default().to_owned();
        let wait = r#"{"queues":["none"],"worker":"w","wait_ms":60000} "#;
        self.holds(60, |n| match n % 3 {
            0 => self.begins("GET /v1/stream", b""),
            1 => self.begins(&format!("GET /v1/stream?job={job}"), b""),
            _ => self.begins("POST /v1/reserve", wait.as_bytes()),
        });
    }

    fn connects(&self) {
        self.holds(5000, |_| connect(self.server));
    }

    /// Schedules that come and go.
    fn schedules(&self) {
        self.asks("hostile", |n, ask| {
            let job = json!({"kind": "t", "queue": "scheduled"});
            ask("PUT", &format!("/v1/schedules/s{n}"), json!({"every_ms": 1000, "job": job}));
            if n % 4 != 0 {
                ask("DELETE", &format!("/v1/schedules/s{n}"), Value::Null);
            }
        });
    }

    fn beats(&self) {
        let queues: Vec<String> = (0..100).map(|n| format!("{n}.{}", "q".repeat(100))).collect();
        self.asks("hostile", |n, ask| {
            let beat = json!({"id": format!("w{n}"), "name": "w", "queues": queues, "kinds": queues,
                "slots": 1, "running": 0, "ttl_ms": 600_000});
            ask("POST", "/v1/beat", beat);
        });
    }

    /// Events, and consumers that come and go.
    fn emits(&self) {
        self.asks("hostile", |n, ask| {
            let consumer = format!("/v1/subscriptions/c{n}");
            ask("PUT", &consumer, json!({"events": "*"}));
            ask("POST", "/v1/events", json!({"type": "t", "data": n}));
            if n % 4 != 0 {
                ask("DELETE", &consumer, Value::Null);
            }
        });
    }

    /// The same large events over and over: what is delivered is read, and not delivered again.
    fn replays(&self) {
        self.asks("hostile", |_, ask| {
            ask("PUT", "/v1/subscriptions/again", json!({"events": "*"}));
            ask("POST", "/v1/subscriptions/again/replay", json!({"name": "again"}));
            ask("GET", "/v1/subscriptions/again", Value::Null);
        });
    }

    fn reads(&self, paths: &[&str]) {
        self.asks("hostile", |n, ask| {
            ask("GET", paths[n % paths.len()], Value::Null);
        });
    }

    /// Jobs of ever new kinds that fail with ever new errors: groups, history and dead jobs.
    fn fails(&self) {
        self.asks("hostile", |n, ask| {
            let job = |of: usize| {
                let (kind, queue) = (format!("k{n}.{of}"), format!("fails{}", n % 50));
                json!({"kind": kind, "queue": queue, "max_attempts": 1})
            };
            ask("POST", "/v1/jobs", json!({"jobs": (0..20).map(job).collect::<Vec<_>>()}));
            let queue = format!("fails{}", n % 50);
            let wanted = json!({"queues": [queue], "worker": "hostile", "limit": 20});
            let reserved = ask("POST", "/v1/reserve", wanted);
            let leases = reserved.filter(|reply| reply.status == 200).map(|reply| reply.value());
            let leases = leases.and_then(|reserved| reserved["leases"].as_array().cloned());
            let nack = |lease: &Value| json!({"token": lease["token"], "error": words(n)});
            let nacks: Vec<Value> = leases.unwrap_or_default().iter().map(nack).collect();
            ask("POST", "/v1/nack", json!({"nacks": nacks}));
        });
    }

    /// A large job that is stored already: each answer has it.
    fn repeats(&self) {
        let numbers: Vec<u32> = (0..140_000).collect();
        self.asks("hostile", |_, ask| {
            let job = json!({"kind": "t", "idempotency_key": "one", "payload": numbers});
            ask("POST", "/v1/jobs", job);
        });
    }

    /// Workers of few queues, and orders to all that the key may give orders to.
    fn orders(&self) {
        self.asks("acme", |n, ask| {
            let beat = json!({"id": format!("acme{}", n % 500), "name": "a", "queues": ["acme.a"],
                "kinds": ["t"], "slots": 1, "running": 0, "ttl_ms": 600_000});
            ask("POST", "/v1/beat", beat);
            ask("POST", "/v1/workers/control", json!({"all": true, "order": "stop"}));
            ask("POST", "/v1/workers/control", json!({"name": "w", "slots": n + 1}));
        });
    }

    /// Actions on large jobs, and what a restricted key may look at.
    fn acts(&self) {
        let listed = by(self.server, "acme", "GET", "/v1/jobs?queue=acme.a&limit=1").send().value();
        let id = listed["jobs"][0]["id"].as_str().unwrap_or_default().to_owned();
        let search = json!({"queue": "acme.a", "payload": "a.b:1"});
        self.asks("acme", |_, ask| {
            let of = |filter: &Value| json!({"action": "retry", "dry_run": true, "filter": filter});
            ask("POST", "/v1/jobs/bulk", of(&json!({"queue": "acme.a"})));
            ask("POST", "/v1/jobs/bulk", of(&search));
            ask("GET", &format!("/v1/jobs/{id}/why"), Value::Null);
            ask("POST", &format!("/v1/jobs/{id}/reschedule"), json!({"delay_ms": 0}));
            ask("GET", "/v1/errors", Value::Null);
        });
    }
}

/// A text of letters only: numbers would be masked in the signature of an error.
fn words(n: usize) -> String {
    n.to_string().bytes().map(|digit| char::from(b'g' + digit - b'0')).collect()
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
