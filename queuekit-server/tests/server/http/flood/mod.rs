//! Two keys do their worst, and another enqueues, reserves, extends and acks beside them.

mod attacks;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use queuekit_conformance::{skip, this_test};
use queuekit_integration_tests::crash::is_long;
use serde_json::{Value, json};

use crate::common::{Server, Store, by, guarded_on};

use attacks::{ATTACKS, Hostile};

const MIB: u64 = 1 << 20;
/// What the server may come to hold of memory.
const MOST: u64 = 512 * MIB;
/// How many jobs of the other key go through at least, beside how many hostile requests.
const ROUNDS: usize = 4;
const HOSTILE: u64 = 300;

#[test]
fn s6_what_one_key_does_refuses_no_other_and_loses_it_no_lease() {
    flood(Store::of("sqlite").unwrap());
}

/// Stores that are not in the server's own process; `LONG` of xtask names this module.
mod with_a_server {
    use super::*;

    #[test]
    fn s6_what_one_key_does_refuses_no_other_on_postgres() {
        match Store::of("postgres") {
            Some(store) => flood(store),
            None => skip(this_test!(), "there is no postgres"),
        }
    }

    #[test]
    fn s6_what_one_key_does_refuses_no_other_on_redis() {
        match Store::of("redis") {
            Some(store) => flood(store),
            None => skip(this_test!(), "there is no redis"),
        }
    }
}

/// The long tier (`QUEUEKIT_TEST_LONG=1`) takes a minute, the short one a few seconds.
fn duration() -> Duration {
    Duration::from_secs(if is_long() { 60 } else { 4 })
}

fn flood(store: Store) {
    let kind = store.url.split(':').next().unwrap().to_owned();
    let server = guarded_on(store, "");
    prepare(&server);
    let done = AtomicBool::new(false);
    let asked = AtomicU64::new(0);
    let mut rounds = std::thread::scope(|scope| {
        for attack in ATTACKS {
            let hostile = Hostile { server: &server, done: &done, asked: &asked };
            scope.spawn(move || attack(&hostile));
        }
        // Ends the attacks even if this thread panics: the scope waits for them.
        let _end = End(&done);
        let end = Instant::now() + duration();
        let mut rounds = Vec::new();
        // A slow machine takes longer and does as much.
        while Instant::now() < end
            || rounds.len() < ROUNDS
            || asked.load(Ordering::Relaxed) < HOSTILE
        {
            let begun = Instant::now();
            work(&server);
            rounds.push(begun.elapsed().as_millis());
        }
        rounds
    });
    rounds.sort_unstable();
    let (count, middle, worst) = (rounds.len(), rounds[rounds.len() / 2], rounds.last().unwrap());
    let (asked, peak) = (asked.into_inner(), peak(&server));
    println!(
        "flood store={kind} rounds={count} refused=0 lost=0 round_ms={middle} worst_ms={worst} \
         hostile={asked} peak_mib={}",
        peak / MIB
    );
    assert!(peak < MOST, "{} MiB", peak / MIB);
}

/// One job of the other key, from its beginning to its end; nothing of it may be refused.
fn work(server: &Server) {
    let ask = |path: &str| by(server, "neighbour", "POST", path);
    let said = |path: &str, body: &Value| ask(path).json(body).expect(200).value();
    let job = json!({"kind": "t", "queue": "neighbour", "payload": "x".repeat(1024)});
    ask("/v1/jobs").json(&job).expect(201);
    let wanted = json!({"queues": ["neighbour"], "worker": "w", "wait_ms": 10_000});
    let reserved = said("/v1/reserve", &wanted);
    let token = &reserved["leases"][0]["token"];
    assert!(token.is_string(), "{reserved}");
    let beat = json!({"id": "w", "name": "w", "queues": ["neighbour"], "kinds": ["t"], "slots": 1,
        "running": 1, "ttl_ms": 30_000});
    assert_eq!(said("/v1/beat", &beat)["orders"], Value::Null, "an order of another key");
    let extended = said("/v1/extend", &json!({"tokens": [token], "lease_ms": 30_000}));
    assert_eq!(extended["outcomes"][0]["outcome"], "extended", "{extended}");
    let acked = said("/v1/ack", &json!({"acks": [{"token": token}]}));
    assert_eq!(acked["outcomes"][0]["outcome"], "acked", "{acked}");
    server.get("/healthz").send().expect(200);
}

/// Large records for large listings, by the hostile keys themselves.
fn prepare(server: &Server) {
    let large = "x".repeat(MIB as usize - 1024);
    let numbers: Vec<u32> = (0..140_000).collect();
    let ask = |method: &str, path: &str, body: &Value| {
        by(server, "hostile", method, path).json(body).expect(201);
    };
    for n in 0..24 {
        ask("POST", "/v1/events", &json!({"type": "t", "data": large}));
        ask("POST", "/v1/jobs", &json!({"kind": "t", "payload": numbers}));
        let schedule = json!({"every_ms": 86_400_000, "job": {"kind": "t", "payload": large}});
        ask("PUT", &format!("/v1/schedules/large{n}"), &schedule);
        let job = json!({"kind": "t", "queue": "acme.a", "payload": numbers});
        by(server, "acme", "POST", "/v1/jobs").json(&job).expect(201);
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
