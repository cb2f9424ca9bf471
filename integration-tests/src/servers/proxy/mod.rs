mod relay;
mod switch;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::{AbortHandle, JoinSet};

use super::{Result, address, background};
use switch::Switch;

/// What a [`Proxy`] does to the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It forwards everything.
    #[default]
    Pass,
    /// Connections stay open, new ones are accepted, and nothing is forwarded in either direction
    /// until the mode changes; then it continues where it stopped.
    BlackHole,
    /// Each packet that a client sends arrives only after this time.
    Slow(Duration),
    /// What clients send does not arrive, as with a black hole for one direction; what the server
    /// sends does. A connection that has lost something stays as it is for good: nothing more of
    /// that direction is forwarded in any mode, and neither end gets an error.
    LoseRequests,
    /// The same for the other direction: requests take effect, and no client learns of it.
    LoseReplies,
    /// Connections are closed, and new ones are closed at once. The server sees its end closed too.
    Cut,
    /// Once: a reply is lost, and its connection is closed. The request has taken effect by the
    /// time the client notices. Then the mode is [`Mode::Pass`].
    LoseReply {
        /// How many replies are let through before, on all connections together. A reply is what
        /// a server sends until the client speaks again: one trip to it and back.
        after: u64,
    },
    /// Once: `after` bytes of replies arrive, on all connections together; then a connection is cut
    /// in the middle of a reply, as [`Mode::LoseReply`] loses a whole one.
    CutReply {
        /// How many bytes arrive.
        after: u64,
    },
}

/// A TCP proxy in front of a server, which does on command what networks do by accident.
///
/// ```no_run
/// # use queuekit_integration_tests::servers::{Mode, Proxy};
/// # async fn test(url: String) {
/// let proxy = Proxy::start(&url).await;
/// let url = proxy.url(&url);
/// // .. a client connects to `url` ..
/// proxy.set(Mode::LoseReply { after: 0 });
/// # }
/// ```
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    switch: Arc<Switch>,
    accepting: AbortHandle,
}

impl Proxy {
    /// Starts one in front of the server of this URL.
    ///
    /// # Panics
    /// If the URL has no host that is known, or if there is no port to listen on.
    pub async fn start(url: &str) -> Self {
        let url = url.to_owned();
        let started = background::run(async move { Self::listen(&url).await }).await;
        started.unwrap_or_else(|error| panic!("a proxy: {error}"))
    }

    /// The same as this URL of the server, but through the proxy.
    pub fn url(&self, url: &str) -> String {
        address::with_address(url, &self.address.to_string())
    }

    /// From now on, also for connections that are open.
    pub fn set(&self, mode: Mode) {
        self.switch.set(mode);
    }

    /// Forwards nothing of one connection in either direction until another or none is held. The
    /// first connection has the number 1.
    pub fn hold(&self, connection: Option<u64>) {
        self.switch.hold(connection);
    }

    /// What it does at present.
    pub fn mode(&self) -> Mode {
        self.switch.mode()
    }

    /// What has gone through it.
    pub fn counts(&self) -> Counts {
        self.switch.counts()
    }

    /// Waits until the counts are as the caller wants them.
    pub async fn until(&self, mut reached: impl FnMut(&Counts) -> bool) -> Counts {
        self.switch.until(&mut reached).await
    }

    async fn listen(url: &str) -> Result<Self> {
        let host = address::host_and_port(url);
        let mut found = lookup_host(&host).await.map_err(|error| format!("{host}: {error}"))?;
        let server = found.next().ok_or_else(|| format!("{host}: no such host"))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.map_err(|error| format!("no port to listen on: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let switch = Arc::new(Switch::default());
        let accepting = tokio::spawn(accept(listener, server, Arc::clone(&switch)));
        Ok(Self { address, switch, accepting: accepting.abort_handle() })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // With it goes the set of its connections, and so do they.
        self.accepting.abort();
    }
}

/// What has gone through a [`Proxy`] since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were accepted, in any mode.
    pub accepted: u64,
    /// Connections that are open now.
    pub open: u64,
    /// Bytes that were forwarded to the server.
    pub to_server: u64,
    /// Bytes that were forwarded to clients.
    pub to_client: u64,
    /// Replies that were lost on command.
    pub lost: u64,
}

async fn accept(listener: TcpListener, server: SocketAddr, switch: Arc<Switch>) {
    let mut connections = JoinSet::new();
    loop {
        // What cannot be accepted (no more handles) is not ours to repair: the client sees it.
        let Ok((client, _)) = listener.accept().await else { continue };
        connections.spawn(relay::run(client, server, Arc::clone(&switch)));
        while connections.try_join_next().is_some() {}
    }
}

/// Small packets at once, as drivers send them.
fn prompt(stream: &TcpStream) {
    // A slow proxy is a proxy still.
    let _ = stream.set_nodelay(true);
}
