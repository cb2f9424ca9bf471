use std::io::Result;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::sleep;

use super::switch::{Fate, Switch};
use super::{Mode, prompt};

/// One connection, from its first byte to its last.
pub(super) async fn run(client: TcpStream, server: SocketAddr, switch: Arc<Switch>) {
    let number = switch.accept();
    let _counted = Counted(Arc::clone(&switch));
    let cuts = switch.cuts();
    tokio::select! {
        biased;
        () = switch.cut_since(cuts) => {}
        // An error of either end closes both, and that is how the other end learns of it.
        _ = relay(number, client, server, &switch) => {}
    }
}

/// However it ends, it is not open any more.
struct Counted(Arc<Switch>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count(|counts| counts.open -= 1);
    }
}

async fn relay(number: u64, client: TcpStream, server: SocketAddr, switch: &Switch) -> Result<()> {
    switch.open(number).await;
    let server = TcpStream::connect(server).await?;
    prompt(&client);
    prompt(&server);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    // Whether the client has spoken since the server did: then what comes next begins a reply.
    let asked = AtomicBool::new(false);
    let requests = requests(number, from_client, to_server, switch, &asked);
    let mut replies = Box::pin(replies(number, from_server, to_client, switch, &asked));
    let ended = tokio::select! {
        // The client says no more, but what it asked may have an answer still.
        requests = requests => { requests?; replies.await? }
        replies = &mut replies => replies?,
    };
    match ended {
        End::Closed => Ok(()),
        End::ReplyIsLost(rest) => lose(rest, switch).await,
    }
}

/// Why nothing more comes from the server.
enum End {
    Closed,
    ReplyIsLost(Rest),
}

/// What is left of a connection whose requests are forwarded no more.
struct Rest {
    from_server: OwnedReadHalf,
    to_client: OwnedWriteHalf,
}

async fn requests(
    number: u64,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    switch: &Switch,
    asked: &AtomicBool,
) -> Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        if let Mode::Slow(by) = switch.mode() {
            sleep(by).await;
        }
        switch.forwards(number, Mode::LoseRequests).await;
        if length == 0 {
            return to.shutdown().await;
        }
        asked.store(true, Ordering::SeqCst);
        to.write_all(&buffer[..length]).await?;
        switch.count(|counts| counts.to_server += length as u64);
    }
}

async fn replies(
    number: u64,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    switch: &Switch,
    asked: &AtomicBool,
) -> Result<End> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut buffer).await?;
        switch.forwards(number, Mode::LoseReplies).await;
        if length == 0 {
            to.shutdown().await?;
            return Ok(End::Closed);
        }
        let begins = asked.swap(false, Ordering::SeqCst);
        if begins && switch.fate_of_reply() == Fate::IsLost {
            return Ok(End::ReplyIsLost(Rest { from_server: from, to_client: to }));
        }
        let arrive = switch.arrive(length);
        to.write_all(&buffer[..arrive]).await?;
        switch.count(|counts| counts.to_client += arrive as u64);
        if arrive < length {
            return Ok(End::ReplyIsLost(Rest { from_server: from, to_client: to }));
        }
    }
}

/// The server knows that no more requests come, because the half for them was dropped. It answers
/// the last request and then closes. The client notices only after that, so that a test that
/// continues then finds the effect.
async fn lose(mut rest: Rest, switch: &Switch) -> Result<()> {
    copy(&mut rest.from_server, &mut sink()).await?;
    drop(rest.to_client);
    switch.count(|counts| counts.lost += 1);
    Ok(())
}
