//! Listening, and ending well.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use queuekit::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::HttpOptions;
use super::attentive::Attentive;
use super::caller::Peer;
use super::connections::{Connection, Connections};
use super::limits::LiveLimits;
use super::linger::lingering;
use super::reload::Reloader;
use super::tls::Tls;
use crate::api;

/// Largest head of a request.
const HEAD_BYTES: usize = 64 * 1024;
/// For a client to take some of an answer.
const WRITE: Duration = Duration::from_secs(30);
/// How long requests that are under way may take to end when the server stops.
const DRAIN: Duration = Duration::from_secs(10);

/// A server that has its address.
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
    options: HttpOptions,
    routes: Router,
    limits: Arc<LiveLimits>,
    connections: Arc<Connections>,
    stopping: CancellationToken,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    /// If it is not free, if it is open to the world without a key, or if a certificate cannot be
    /// read.
    pub(crate) async fn bind(client: Client, options: HttpOptions) -> anyhow::Result<Self> {
        refuse_open_to_the_world(&options)?;
        #[cfg(unix)]
        super::files::raise(options.limits.connections);
        let tls = options.tls.as_ref().map(Tls::open).transpose()?.map(Arc::new);
        let listener = TcpListener::bind(options.listen).await.with_context(|| {
            format!("{} cannot be listened on; choose another with --listen", options.listen)
        })?;
        let address = listener.local_addr().context("the address that was taken is not known")?;
        let stopping = CancellationToken::new();
        let limits = LiveLimits::new(&options.limits);
        let connections = Connections::new(Arc::clone(&limits), options.proxies.clone());
        let routes = api::routes(client, &options, Arc::clone(&limits), stopping.clone());
        Ok(Self { listener, address, tls, options, routes, limits, connections, stopping })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// What can be changed while it serves.
    pub(crate) fn reloader(&self) -> Reloader {
        let (tls, limits) = (self.tls.clone(), Arc::clone(&self.limits));
        Reloader { options: self.options.clone(), tls, limits }
    }

    /// Serves until it is told to stop; then answers what was asked, and ends long polls and
    /// streams.
    ///
    /// # Errors
    /// None yet: a connection that cannot be accepted is one client's.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let tracker = TaskTracker::new();
        loop {
            // While one waits for a place, others wait in the system's own queue.
            let next = async {
                let (stream, peer) = self.listener.accept().await?;
                Ok::<_, io::Error>((stream, peer.ip(), self.connections.admit(peer.ip()).await))
            };
            let next = tokio::select! {
                next = next => next,
                () = stop.cancelled() => break,
            };
            match next {
                Ok((stream, peer, Some(connection))) => {
                    drop(tracker.spawn(self.connection(stream, peer, connection)));
                }
                // It has as many as it may have: closing is all that costs nothing.
                Ok((_, _, None)) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // Out of file descriptors: the next one would fail as well.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        // Who comes now is told by the system that nobody listens.
        let Self { listener, stopping, .. } = self;
        drop(listener);
        stopping.cancel();
        tracker.close();
        if tokio::time::timeout(DRAIN, tracker.wait()).await.is_err() {
            tracing::warn!("requests that took longer than {DRAIN:?} were cut off");
        }
        Ok(())
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        connection: Connection,
    ) -> impl Future<Output = ()> + Send + use<> {
        let tls = self.tls.as_ref().map(|tls| tls.acceptor());
        let connection = Arc::new(connection);
        let service = Service {
            routes: self.routes.clone(),
            peer: Peer(peer),
            connection: Arc::clone(&connection),
            stopping: self.stopping.clone(),
        };
        let serving = async move {
            // Small answers must not wait for more.
            let _ = stream.set_nodelay(true);
            let Some(tls) = tls else { return service.serve(stream).await };
            let timeout = service.connection.header_timeout;
            let shaken = tokio::time::timeout(timeout, tls.accept(stream)).await;
            if let Ok(Ok(stream)) = shaken {
                service.serve(stream).await;
            }
        };
        async move {
            tokio::select! {
                () = serving => {}
                () = connection.is_shed() => {}
            }
        }
    }
}

struct Service {
    routes: Router,
    peer: Peer,
    connection: Arc<Connection>,
    stopping: CancellationToken,
}

impl Service {
    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        use tower::ServiceExt;
        // Who does not take an answer must not keep it in memory.
        let mut stream = Box::pin(TimeoutStream::new(stream));
        stream.as_mut().set_write_timeout_pinned(Some(WRITE));
        let stream = Attentive::new(stream);
        let (peer, connection) = (self.peer, Arc::clone(&self.connection));
        let routes = self.routes.map_request(move |mut request: hyper::Request<_>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(Arc::clone(&connection));
            lingering(request)
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.connection.header_timeout)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
        tokio::pin!(serving);
        tokio::select! {
            ended = serving.as_mut() => return log(ended),
            () = self.stopping.cancelled() => {}
        }
        serving.as_mut().graceful_shutdown();
        log(serving.await);
    }
}

/// Most of these are clients that went away.
fn log(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Closed by default: beyond loopback somebody else could send jobs.
fn refuse_open_to_the_world(options: &HttpOptions) -> anyhow::Result<()> {
    if options.is_open_to_others() {
        anyhow::bail!(
            "{} can be reached from other machines, and there is no key: make one with `queuekit \
             key new`, set QUEUEKIT_API_KEY, or say --insecure-no-auth if everybody may do \
             everything",
            options.listen
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HttpFlags, Sources};

    #[test]
    fn s1_every_way_to_write_loopback_is_listened_on_without_a_key() {
        let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        for (listen, is_open) in [
            ("127.0.0.1:0", false),
            ("[::1]:0", false),
            ("[::ffff:127.0.0.1]:0", false),
            ("0.0.0.0:0", true),
            ("[::ffff:192.0.2.1]:0", true),
        ] {
            options.listen = listen.parse().unwrap();
            assert_eq!(refuse_open_to_the_world(&options).is_err(), is_open, "{listen}");
        }
    }
}
