//! `queuekit serve`

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use crate::sandbox::{Running, Sandbox};

/// A connection to where the server says that it listens.
fn connect(address: &str) -> TcpStream {
    TcpStream::connect(address).unwrap()
}

/// Waits for the line that says where it listens.
fn address(serve: &mut Running) -> String {
    let line = serve.line();
    line.strip_prefix("http://").unwrap().split(' ').next().unwrap().to_owned()
}

/// Asks whether it is alive, and waits for the answer this long.
fn is_alive(address: &str, within: Duration) -> bool {
    let mut stream = connect(address);
    stream.set_read_timeout(Some(within)).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 200"
}

#[test]
fn s1_beyond_this_machine_it_needs_a_key_or_a_word_that_none_is() {
    let sandbox = Sandbox::new();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let remedies = ["QUEUEKIT_API_KEY", "queuekit key new", "--insecure-no-auth", listen];
        sandbox.run(&["serve", "--listen", listen]).failed(2, &remedies);
        sandbox.run(&["dev", "--listen", listen]).failed(2, &remedies);
    }
    assert!(!sandbox.path("queuekit.db").exists(), "it is refused before the store is opened");
    let mut serve = sandbox.start(&["serve", "--listen", "0.0.0.0:0", "--insecure-no-auth"]);
    assert!(serve.line().starts_with("http://"));
}

#[test]
fn it_says_where_it_listens_and_ends_well_by_a_signal() {
    for signal in ["TERM", "INT"] {
        let sandbox = Sandbox::new().env("QUEUEKIT_LISTEN", "127.0.0.1:0");
        let mut serve = sandbox.start(&["serve", "--work"]);
        let line = serve.line();
        assert!(line.starts_with("http://127.0.0.1:"), "{line}");
        assert!(line.ends_with(" serves sqlite://queuekit.db\n"), "{line}");
        serve.signal(signal);
        let (code, said) = serve.ended();
        assert!(code == Some(0) && said.contains("stopped"), "{code:?} {said}");
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    Sandbox::new().run(&["serve", "--listen", &listen]).failed(1, &[&listen]);
}

#[test]
fn a_certificate_that_is_not_there_is_named_before_a_store_is_made() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["serve", "--tls-cert", "/nope/c.pem", "--tls-key", "/nope/k.pem"]);
    ran.failed(2, &["/nope/c.pem", "--tls-cert"]);
    assert!(!sandbox.path("queuekit.db").exists());
}

#[test]
fn wrong_flags_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.run(&["serve", "--listen", "8080"]).failed(2, &["ADDRESS:PORT"]);
    sandbox.run(&["serve", "--tls-cert", "cert.pem"]).failed(2, &["--tls-key"]);
    sandbox.run(&["serve", "--concurrency", "0"]).failed(2, &["--concurrency"]);
    sandbox.run(&["serve", "--concurrency", "5"]).failed(2, &["need --work"]);
    let sandbox = sandbox.env("QUEUEKIT_LISTEN", "nowhere");
    sandbox.run(&["serve"]).failed(2, &["the variable QUEUEKIT_LISTEN", "ADDRESS:PORT"]);
}

#[test]
fn systemd_is_told_of_its_beginning_its_life_and_its_end() {
    let sandbox = Sandbox::new();
    let socket = sandbox.path("notify");
    let systemd = UnixDatagram::bind(&socket).unwrap();
    let told = || {
        let mut bytes = [0; 100];
        let length = systemd.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap().trim().to_owned()
    };
    let sandbox = sandbox
        .env("NOTIFY_SOCKET", socket.to_str().unwrap())
        .env("WATCHDOG_USEC", "20000")
        .env("QUEUEKIT_LISTEN", "127.0.0.1:0");
    for command in ["serve", "work"] {
        let mut running = sandbox.start(&[command]);
        assert_eq!(told(), "READY=1");
        assert_eq!(told(), "WATCHDOG=1");
        running.signal("TERM");
        let end = std::iter::repeat_with(told).find(|word| word != "WATCHDOG=1");
        assert_eq!(end.as_deref(), Some("STOPPING=1"));
        assert_eq!(running.ended().0, Some(0));
        systemd.set_nonblocking(true).unwrap();
        while systemd.recv(&mut [0; 100]).is_ok() {}
        systemd.set_nonblocking(false).unwrap();
    }
}

/// Guard: no more connections are admitted than the process can open.
#[test]
fn s6_where_few_files_may_be_open_silent_connections_make_room_too() {
    let sandbox = Sandbox::new();
    let few = ["serve", "--listen", "127.0.0.1:0"];
    let mut serve = sandbox.start_after("ulimit -n 64", &few);
    let address = address(&mut serve);
    let silent: Vec<TcpStream> = (0..80).map(|_| connect(&address)).collect();
    // They would be given up after 15 s.
    assert!(is_alive(&address, Duration::from_secs(10)));
    drop(silent);
}

#[test]
fn s6_a_head_that_has_begun_does_not_hold_up_the_end() {
    let sandbox = Sandbox::new();
    for sent in ["", "G", "GET / HTTP/1.1\r\nHo"] {
        let mut serve = sandbox.start(&["serve", "--listen", "127.0.0.1:0"]);
        let address = address(&mut serve);
        let mut stranger = connect(&address);
        stranger.write_all(sent.as_bytes()).unwrap();
        // Connections are accepted one after the other.
        assert!(is_alive(&address, Duration::from_secs(60)));
        serve.signal("TERM");
        let (code, said) = serve.ended();
        assert_eq!(code, Some(0));
        assert!(said.contains("stopped") && !said.contains("aborted"), "{sent:?}: {said}");
    }
}
