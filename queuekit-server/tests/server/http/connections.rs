//! What connections hold, of the server's memory and of the system's, whether or not they have a
//! key.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fair_share::answered;
use crate::common::{Server, by, guarded_with, secret};

const MIB: u64 = 1 << 20;

/// A server on which one address may have this many connections.
fn server(of_address: usize) -> Server {
    guarded_with(&format!("[limits]\nmax_connections_per_address = {of_address}"))
}

/// A client without a key that has sent the head of a request, was refused, and is silent.
fn refused(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(stream, "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: {MIB}\r\n\r\n").unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"}") {
        let length = stream.read(&mut piece).unwrap();
        answer.extend_from_slice(&piece[..length]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 401"));
    stream
}

/// Guard: the number of refused bodies that are read is bounded.
#[test]
fn s6_where_many_refused_bodies_are_read_one_more_ends_its_connection() {
    let server = server(1000);
    let begun = Instant::now();
    let others: Vec<TcpStream> = (0..256).map(|_| refused(&server)).collect();
    let mut last = refused(&server);
    // The others are read for 5 s.
    last.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let end = last.read(&mut [0]).map_err(|error| error.kind());
    assert!(matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset)), "{end:?}");
    drop(last);
    drop(others);
    thread::sleep(Duration::from_secs(1));
    let mut next = refused(&server);
    next.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let end = next.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::WouldBlock), "after {:?}", begun.elapsed());
}

/// Guard: the size of the system's buffer is set.
#[cfg(target_os = "linux")]
#[test]
fn s6_who_does_not_read_holds_little_of_the_systems_memory() {
    let server = server(1000);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let key = secret("reader");
    let head = format!("host: localhost\r\nauthorization: Bearer {key}");
    let ask = format!("GET /openapi.json HTTP/1.1\r\n{head}\r\n\r\n");
    stream.write_all(ask.repeat(100).as_bytes()).unwrap();
    let client = stream.local_addr().unwrap();
    let mut before = 0;
    // Until it has written all it can.
    let held = loop {
        thread::sleep(Duration::from_millis(300));
        let held = unsent(&server, client);
        if held > 0 && held == before {
            break held;
        }
        before = held;
    };
    assert!(held <= MIB / 4, "{held} bytes");
}

/// Guard: the answer to a stranger ends its connection.
#[test]
fn s6_a_stranger_has_one_description_of_the_api_written_for_a_connection() {
    let server = server(1000);
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let ask = "GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(ask.repeat(3).as_bytes()).unwrap();
    let mut answers = Vec::new();
    // The system may reset a connection of which not all was read.
    let _ = stream.read_to_end(&mut answers);
    let answers = String::from_utf8_lossy(&answers);
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 1);
}

/// The bytes that the server has written and this client's system has not taken.
#[cfg(target_os = "linux")]
fn unsent(server: &Server, client: SocketAddr) -> u64 {
    let server: SocketAddr = server.address().parse().unwrap();
    let (here, there) = (format!(":{:04X}", server.port()), format!(":{:04X}", client.port()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let mut of_it = rows.filter(|row| row[1].ends_with(&here) && row[2].ends_with(&there));
    let (unsent, _) = of_it.next().expect("the connection")[4].split_once(':').unwrap();
    u64::from_str_radix(unsent, 16).unwrap()
}

/// Reads what there is, and asks again.
fn still_answers(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    while stream.read(&mut [0; 1024]).is_ok_and(|length| length > 0) {}
    stream.set_read_timeout(None).unwrap();
    ask(stream, "admin", "/healthz")
}

#[test]
fn s6_one_address_has_its_part_of_the_connections() {
    let server = guarded_with("[limits]\nmax_connections_per_address = 3");
    let open = |key: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // Those that are idle would make room.
        ask(&mut stream, key, "/v1/stream").then_some(stream)
    };
    let held = ["admin", "reader", "acme"].map(|key| open(key).unwrap());
    assert!(open("admin").is_none(), "the fourth is closed");
    drop(held);
    assert!((0..1000).any(|_| open("admin").is_some()), "those that have ended count no more");
}

/// Sends a request, and returns whether the answer begins.
fn ask(stream: &mut TcpStream, key: &str, path: &str) -> bool {
    let key = secret(key);
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\r\n");
    stream.read(&mut [0]).unwrap_or(0) == 1
}

/// What a proxy says of its clients is not believed: anybody could say it.
#[test]
fn s6_a_proxy_has_its_part_of_the_connections_unless_it_is_named() {
    for (proxies, answered) in [("\"192.0.2.0/24\"", 3), ("\"127.0.0.1\"", 8)] {
        let server = guarded_with(&format!(
            "proxies = [{proxies}]\n[limits]\nmax_connections_per_address = 3"
        ));
        let forward = |client: &u8| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            let of = format!("x-forwarded-for: 192.0.2.{client}");
            let key = format!("authorization: Bearer {}", secret("admin"));
            let _ = write!(stream, "GET /v1/queues HTTP/1.1\r\nhost: a\r\n{of}\r\n{key}\r\n\r\n");
            (stream.read(&mut [0]).unwrap_or(0) == 1).then_some(stream)
        };
        let clients: Vec<u8> = (0..8).collect();
        let mut open: Vec<TcpStream> = clients.iter().filter_map(forward).collect();
        // Those that are idle made room for the next ones.
        open.retain_mut(still_answers);
        assert_eq!(open.len(), answered, "{proxies}");
    }
}

/// A connection on which this request was answered with this status.
fn answered_on(server: &Server, key: &str, path: &str, status: u16) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let key = secret(key);
    write!(stream, "GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n\r\n")
        .unwrap();
    let head = answered(stream.try_clone().unwrap());
    assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
    stream
}

#[test]
fn s6_connections_that_a_key_has_used_once_keep_nobody_out() {
    let server = guarded_with("[limits]\nmax_connections = 8\nmax_connections_per_address = 100");
    let held: Vec<_> =
        (0..8).map(|_| answered_on(&server, "reader", "/v1/subscriptions", 200)).collect();
    thread::scope(|scope| {
        let newcomer = scope.spawn(|| by(&server, "admin", "GET", "/v1/queues").send().status);
        // Without a key they say that they are alive.
        for _ in 0..600 {
            for mut stream in &held {
                let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
            }
            if newcomer.is_finished() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        assert!(newcomer.is_finished(), "it is kept out for as long as they ask");
        assert_eq!(newcomer.join().unwrap(), 200);
    });
}

#[test]
fn s6_connections_of_an_address_that_a_key_has_used_keep_no_other_key_out() {
    let server = guarded_with("[limits]\nmax_connections = 100\nmax_connections_per_address = 8");
    let held: Vec<_> =
        (0..8).map(|_| answered_on(&server, "reader", "/v1/subscriptions", 200)).collect();
    for _ in 0..8 {
        drop(answered_on(&server, "admin", "/v1/queues", 200));
    }
    drop(held);
    // Nor do those that a key uses all the time.
    let streams = [200, 200, 200, 200, 429];
    let streams = streams.map(|status| answered_on(&server, "reader", "/v1/stream", status));
    for _ in 0..8 {
        drop(answered_on(&server, "admin", "/v1/queues", 200));
    }
    drop(streams);
}

#[test]
fn s6_a_connection_with_a_request_in_progress_is_not_closed_for_others() {
    let server = guarded_with("[limits]\nmax_connections = 8\nmax_connections_per_address = 100");
    let mut stream = answered_on(&server, "reader", "/v1/stream", 200);
    let held: Vec<_> = (0..20).map(|_| answered_on(&server, "reader", "/healthz", 200)).collect();
    by(&server, "producer", "POST", "/v1/jobs").json(&json!({"kind": "t"})).expect(201);
    let (mut told, mut piece) = (String::new(), [0; 1024]);
    while !told.contains("event: queue") {
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "the stream has ended: {told}");
        told.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    drop(held);
}

#[test]
fn s6_requests_in_progress_of_one_key_leave_connections_for_others() {
    let server = guarded_with("[limits]\nmax_connections = 8\nmax_connections_per_address = 100");
    let held = [200, 200, 429].map(|status| answered_on(&server, "reader", "/v1/stream", status));
    let other = answered_on(&server, "admin", "/v1/stream", 200);
    drop((held, other));
}
