//! Clients that request large answers and read them slowly keep no other key from its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::common::{Server, by, guarded, secret};

const MIB: usize = 1 << 20;
const LISTING: &str = "/v1/jobs?queue=acme.a&limit=1000";
/// Each may have three answers of 8 MiB at a time; together they leave too little for another one.
const SLOW: [&str; 3] = ["reader", "hostile", "acme"];

/// A server with 9 jobs of 1 MiB: a listing of them has 8 MiB.
fn server_with_large_jobs() -> Server {
    let server = guarded();
    let payload = "x".repeat(MIB - 200);
    for _ in 0..9 {
        let job = json!({"kind": "t", "queue": "acme.a", "payload": payload});
        by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201);
    }
    server
}

/// A listing of which only the beginning is read.
fn begin_reading(server: &Server, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let key = secret(key);
    write!(stream, "GET {LISTING} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n").unwrap();
    stream.write_all(b"connection: close\r\n\r\n").unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

/// Whether the rest of the listing arrives.
fn is_whole(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    rest.ends_with(b"}")
}

fn seconds_for(ask: impl FnOnce()) -> f64 {
    let began = Instant::now();
    ask();
    began.elapsed().as_secs_f64()
}

/// Guard: three keys that read slowly held all the memory for answers, and listings of all others
/// were refused after 5 s.
#[test]
fn s6_a_listing_is_served_while_three_keys_read_slowly() {
    let server = server_with_large_jobs();
    let slow: Vec<_> =
        SLOW.iter().flat_map(|key| [key; 3]).map(|key| begin_reading(&server, key)).collect();
    by(&server, "admin", "GET", LISTING).send().expect(200);
    for path in ["/metrics", "/v1/queues", "/v1/errors", "/v1/workers"] {
        by(&server, "admin", "GET", path).send().expect(200);
    }
    let whole = slow.into_iter().map(is_whole).filter(|whole| *whole).count();
    assert!((7..9).contains(&whole), "{whole} of 9: no more are cut off than another one needs");
}

#[test]
fn s6_a_slow_reader_is_left_alone_while_nobody_waits_for_memory() {
    let server = server_with_large_jobs();
    let slow: Vec<_> = ["reader", "hostile"].map(|key| begin_reading(&server, key)).into();
    for _ in 0..3 {
        by(&server, "admin", "GET", LISTING).send().expect(200);
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(slow.into_iter().all(is_whole));
}

/// Guard: leases and bodies have memory of their own.
#[test]
fn s6_three_keys_that_read_slowly_hold_up_no_reserve_and_no_ack() {
    let server = server_with_large_jobs();
    let ask = |path: &str, body: &serde_json::Value| {
        by(&server, "neighbour", "POST", path).json(body).value()
    };
    let work = || {
        ask("/v1/jobs", &json!({"kind": "t", "queue": "neighbour"}));
        let wanted = json!({"queues": ["neighbour"], "worker": "w"});
        let token = ask("/v1/reserve", &wanted)["leases"][0]["token"].clone();
        let extended = ask("/v1/extend", &json!({"tokens": [token], "lease_ms": 60_000}));
        assert_eq!(extended["outcomes"][0]["outcome"], "extended", "{extended}");
        let acked = ask("/v1/ack", &json!({"acks": [{"token": token}]}));
        assert_eq!(acked["outcomes"][0]["outcome"], "acked", "{acked}");
    };
    let slow: Vec<_> =
        SLOW.iter().flat_map(|key| [key; 3]).map(|key| begin_reading(&server, key)).collect();
    let took = seconds_for(|| (0..5).for_each(|_| work()));
    assert!(took < 5.0, "{took} s: they waited for memory");
    drop(slow);
}
