//! The proxy breaks connections in the way of its mode, and in no other.

use std::time::Duration;

use queuekit_integration_tests::servers::{Mode, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Long enough for bytes that are on their way; nothing is to come in it.
const A_WHILE: Duration = Duration::from_millis(100);

/// A server that answers each byte with the next one, and tells which it has got.
struct Server {
    url: String,
    got: mpsc::UnboundedReceiver<u8>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("test://{}/", listener.local_addr().expect("an address"));
        let (tell, got) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let tell = tell.clone();
                tokio::spawn(async move {
                    while let Ok(byte) = stream.read_u8().await {
                        let _ = tell.send(byte);
                        let _ = stream.write_u8(byte + 1).await;
                    }
                });
            }
        });
        Self { url, got }
    }
}

async fn client(proxy: &Proxy, server: &Server) -> TcpStream {
    let url = proxy.url(&server.url);
    let address = url.trim_start_matches("test://").trim_end_matches('/');
    TcpStream::connect(address).await.expect("the proxy accepts")
}

async fn ask(client: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
    client.write_u8(byte).await?;
    client.read_u8().await
}

#[tokio::test]
async fn what_passes_is_counted() {
    let server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    let mut client = client(&proxy, &server).await;
    for byte in 0..10 {
        assert_eq!(ask(&mut client, byte).await.expect("an answer"), byte + 1);
    }
    let counts = proxy.until(|counts| counts.to_client == 10).await;
    assert_eq!((counts.accepted, counts.open, counts.to_server), (1, 1, 10));
    drop(client);
    proxy.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn a_black_hole_keeps_connections_and_gives_them_back() {
    let mut server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    let mut old = client(&proxy, &server).await;
    assert_eq!(ask(&mut old, 1).await.expect("an answer"), 2);
    assert_eq!(server.got.recv().await, Some(1));
    proxy.set(Mode::BlackHole);
    let mut new = client(&proxy, &server).await;
    for client in [&mut old, &mut new] {
        assert!(timeout(A_WHILE, ask(client, 3)).await.is_err(), "something came through");
    }
    assert!(server.got.try_recv().is_err(), "something reached the server");
    proxy.set(Mode::Pass);
    for client in [&mut old, &mut new] {
        assert_eq!(client.read_u8().await.expect("it goes on"), 4);
    }
}

#[tokio::test]
async fn a_cut_closes_what_is_open_and_what_comes() {
    let server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    let mut one = client(&proxy, &server).await;
    assert_eq!(ask(&mut one, 1).await.expect("an answer"), 2);
    proxy.set(Mode::Cut);
    assert!(one.read_u8().await.is_err(), "it is closed");
    let mut another = client(&proxy, &server).await;
    assert!(ask(&mut another, 1).await.is_err(), "it is closed");
    proxy.set(Mode::Pass);
    let mut third = client(&proxy, &server).await;
    assert_eq!(ask(&mut third, 1).await.expect("an answer"), 2);
    // A short cut is a cut.
    proxy.set(Mode::Cut);
    proxy.set(Mode::Pass);
    assert!(third.read_u8().await.is_err(), "it is closed");
}

#[tokio::test]
async fn a_cut_reaches_into_a_black_hole() {
    let server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    proxy.set(Mode::BlackHole);
    let mut client = client(&proxy, &server).await;
    client.write_u8(1).await.expect("it is taken");
    proxy.set(Mode::Cut);
    assert!(client.read_u8().await.is_err(), "it is closed");
}

#[tokio::test]
async fn lost_requests_do_not_arrive_and_their_connections_stay_dead() {
    let mut server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    let mut dead = client(&proxy, &server).await;
    let mut idle = client(&proxy, &server).await;
    proxy.set(Mode::LoseRequests);
    assert!(timeout(A_WHILE, ask(&mut dead, 1)).await.is_err(), "something came through");
    proxy.set(Mode::Pass);
    assert!(timeout(A_WHILE, ask(&mut dead, 1)).await.is_err(), "it is dead for good");
    assert!(server.got.try_recv().is_err(), "something reached the server");
    assert_eq!(ask(&mut idle, 3).await.expect("nothing of it was lost"), 4);
}

#[tokio::test]
async fn lost_replies_are_to_requests_that_arrive() {
    let mut server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    let mut dead = client(&proxy, &server).await;
    proxy.set(Mode::LoseReplies);
    for byte in [1, 3] {
        assert!(timeout(A_WHILE, ask(&mut dead, byte)).await.is_err(), "something came through");
        assert_eq!(server.got.recv().await, Some(byte));
    }
    proxy.set(Mode::Pass);
    assert!(timeout(A_WHILE, ask(&mut dead, 5)).await.is_err(), "it is dead for good");
    assert_eq!(server.got.recv().await, Some(5));
}

#[tokio::test]
async fn a_lost_reply_is_to_a_request_that_took_effect() {
    let mut server = Server::start().await;
    let proxy = Proxy::start(&server.url).await;
    let mut client = client(&proxy, &server).await;
    proxy.set(Mode::LoseReply { after: 2 });
    for byte in [1, 3] {
        assert_eq!(ask(&mut client, byte).await.expect("an answer"), byte + 1);
        assert_eq!(server.got.recv().await, Some(byte));
    }
    assert!(ask(&mut client, 5).await.is_err(), "there is no answer");
    assert_eq!(server.got.try_recv(), Ok(5), "and yet the server has it");
    assert_eq!(proxy.until(|counts| counts.lost == 1).await.to_client, 2);
    assert_eq!(proxy.mode(), Mode::Pass);
    let mut next = self::client(&proxy, &server).await;
    assert_eq!(ask(&mut next, 7).await.expect("an answer"), 8);
}
