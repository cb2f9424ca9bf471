//! What connections hold, of the server's memory and of the system's, whether or not they have a
//! key.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{Server, guarded_with, secret};

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
    std::thread::sleep(Duration::from_secs(1));
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
        std::thread::sleep(Duration::from_millis(300));
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
