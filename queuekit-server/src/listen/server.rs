//! The server: listens, serves and shuts down.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::STRICT_TRANSPORT_SECURITY;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use queuekit::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connections::{Connection, Connections};
use super::discard_body::{Drains, discard_body};
use super::disconnect::DetectDisconnect;
use super::handshakes::{HANDSHAKE_TIMEOUT, Handshakes};
use super::reload::{self, Reloader};
use super::tls::Tls;
use super::turns::in_turn;
use crate::config::StoreAddress;
use crate::web::HttpOptions;
use crate::web::auth::Peer;
use crate::web::limits::LiveLimits;
use crate::web::middleware::OnAdmit;
use crate::{api, ui};

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Connections that the system accepts while this process is busy.
const BACKLOG: u32 = 1024;
/// The system buffers as much of an answer on each connection; Linux takes twice as much memory for
/// it. By default, it would take 4 MiB for a client that does not read.
const SEND_BUFFER_BYTES: u32 = 64 * 1024;
/// How long a client may read nothing of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long requests in progress have to finish when the server stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// A server that is bound to its address.
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
    options: HttpOptions,
    routes: Router,
    limits: Arc<LiveLimits>,
    connections: Arc<Connections>,
    handshakes: Arc<Handshakes>,
    drains: Drains,
    stopping: CancellationToken,
}

impl Server {
    /// Binds the address.
    ///
    /// # Errors
    /// If the address is in use, if other machines can reach it and no key is set, or if the
    /// certificate cannot be read.
    pub(crate) async fn bind(
        client: Client,
        store: &StoreAddress,
        options: HttpOptions,
    ) -> anyhow::Result<Self> {
        refuse_unauthenticated_exposure(&options)?;
        let tls = options.tls.as_ref().map(Tls::open).transpose()?.map(Arc::new);
        let listener = listen(options.listen).with_context(|| {
            format!("cannot listen on {}; choose another address with --listen", options.listen)
        })?;
        let address = listener.local_addr().context("cannot find out the listening address")?;
        let stopping = CancellationToken::new();
        let limits = LiveLimits::new(&reload::within_files(options.limits));
        let connections = Connections::new(Arc::clone(&limits), options.proxies.clone());
        let served = api::routes(client, &options, Arc::clone(&limits), stopping.clone());
        let routes = match &options.dashboard {
            Some(dashboard) => served.routes.clone().merge(ui::routes(
                &served,
                store.scheme(),
                dashboard,
                &options.proxies,
            )?),
            None => served.routes,
        };
        let routes = match &tls {
            Some(_) => routes.layer(axum::middleware::map_response(stay_encrypted)),
            None => routes,
        };
        let (handshakes, drains) = (Handshakes::new(), Drains::default());
        Ok(Self {
            listener,
            address,
            tls,
            options,
            routes,
            limits,
            connections,
            handshakes,
            drains,
            stopping,
        })
    }

    /// The URL at which it listens.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The parts that can change while it serves.
    pub(crate) fn reloader(&self) -> Reloader {
        let (tls, limits) = (self.tls.clone(), Arc::clone(&self.limits));
        Reloader { options: self.options.clone(), tls, limits }
    }

    /// Serves until it is stopped; then finishes requests in progress, and ends long polls and
    /// streams.
    ///
    /// # Errors
    /// None yet: a connection that cannot be accepted concerns only its client.
    pub(crate) async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let tracker = TaskTracker::new();
        loop {
            // While one connection waits for a place, others wait in the system's backlog.
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
                // The address has as many as it may: closing costs nothing.
                Ok((_, _, None)) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    // Probably out of file descriptors: the next one would fail as well.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        // New clients now get a refused connection.
        let Self { listener, stopping, .. } = self;
        drop(listener);
        stopping.cancel();
        tracker.close();
        if tokio::time::timeout(DRAIN_TIMEOUT, tracker.wait()).await.is_err() {
            tracing::warn!("requests that took longer than {DRAIN_TIMEOUT:?} were aborted");
        }
        Ok(())
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        connection: Connection,
    ) -> impl Future<Output = ()> + Send + use<> {
        let tls = self.tls.as_ref().map(|tls| (tls.acceptor(), self.handshakes.begin(peer)));
        let connection = Arc::new(connection);
        let service = Service {
            routes: self.routes.clone(),
            peer: Peer(peer),
            connection: Arc::clone(&connection),
            drains: self.drains.clone(),
            stopping: self.stopping.clone(),
        };
        let serving = async move {
            // Small answers must not wait for more data.
            let _ = stream.set_nodelay(true);
            let Some((tls, handshake)) = tls else { return service.serve(stream).await };
            let timeout = service.connection.header_timeout.min(HANDSHAKE_TIMEOUT);
            let shaken = tokio::select! {
                shaken = tokio::time::timeout(timeout, tls.accept(stream)) => shaken,
                () = handshake.ended() => return,
                () = service.stopping.cancelled() => return,
            };
            drop(handshake);
            if let Ok(Ok(stream)) = shaken {
                service.serve(stream).await;
            }
        };
        async move {
            tokio::select! {
                () = serving => {}
                () = connection.evicted() => {}
            }
        }
    }
}

struct Service {
    routes: Router,
    peer: Peer,
    connection: Arc<Connection>,
    drains: Drains,
    stopping: CancellationToken,
}

impl Service {
    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        use tower::ServiceExt;
        // A client that does not read its answer must not keep it in memory.
        let mut stream = Box::pin(TimeoutStream::new(stream));
        stream.as_mut().set_write_timeout_pinned(Some(WRITE_TIMEOUT));
        let stream = DetectDisconnect::new(stream);
        let (peer, connection) = (self.peer, Arc::clone(&self.connection));
        let end = connection.end_early();
        let on_admit = OnAdmit(Arc::new(move |key| Ok(Box::new(connection.begin(key)?))));
        let drains = self.drains;
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = Arc::clone(&has_begun);
        let routes = self.routes.map_request(move |mut request: hyper::Request<_>| {
            begun.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(on_admit.clone());
            request.extensions_mut().insert(end.clone());
            discard_body(request, &drains)
        });
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.connection.header_timeout)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(
                TokioIo::new(stream),
                service_fn(move |request| in_turn(routes.clone().oneshot(request))),
            );
        tokio::pin!(serving);
        tokio::select! {
            ended = serving.as_mut() => return log(ended),
            () = self.stopping.cancelled() => {}
        }
        // Hyper would wait for the rest of a first head that has begun, and nobody has asked yet.
        if !has_begun.load(Ordering::Relaxed) {
            return;
        }
        serving.as_mut().graceful_shutdown();
        log(serving.await);
    }
}

/// Has browsers use TLS for this host for a year, also where a person types its name.
async fn stay_encrypted(mut answer: Response) -> Response {
    let year = HeaderValue::from_static("max-age=31536000");
    answer.headers_mut().insert(STRICT_TRANSPORT_SECURITY, year);
    answer
}

/// Listens there, with buffers of a fixed size for each connection.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As `TcpListener::bind` does it: to listen again while old connections are in TIME_WAIT.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Most of these errors are clients that disconnected.
fn log(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Refuses to listen beyond loopback without keys: others could send jobs.
fn refuse_unauthenticated_exposure(options: &HttpOptions) -> anyhow::Result<()> {
    if options.is_open_to_others() {
        anyhow::bail!(
            "other machines can reach {}, and no key is set: create one with `queuekit key new`, \
             set QUEUEKIT_API_KEY, or pass --insecure-no-auth if anybody may do everything",
            options.listen
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use axum::http::StatusCode;
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::config::{HttpFlags, Sources};
    use crate::web::HttpLimits;

    #[tokio::test]
    async fn s6_a_connection_lets_others_go_on_after_each_answer_that_comes_at_once() {
        const REQUESTS: usize = 100;
        let answers = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answers);
        let routes = Router::new().fallback(move || {
            count.fetch_add(1, Ordering::Relaxed);
            std::future::ready(StatusCode::NOT_FOUND)
        });
        let peer = IpAddr::from([127, 0, 0, 1]);
        let connections = Connections::new(LiveLimits::new(&HttpLimits::default()), Vec::new());
        let service = Service {
            routes,
            peer: Peer(peer),
            connection: Arc::new(connections.admit(peer).await.unwrap()),
            drains: Drains::default(),
            stopping: CancellationToken::new(),
        };
        let (mut client, stream) = tokio::io::duplex(1 << 20);
        let requests = "GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(REQUESTS);
        client.write_all(requests.as_bytes()).await.unwrap();
        let serving = tokio::spawn(service.serve(stream));
        let (mut before, mut most) = (0, 0);
        while before < REQUESTS {
            tokio::task::yield_now().await;
            let now = answers.load(Ordering::Relaxed);
            (most, before) = (most.max(now - before), now);
        }
        assert!(most <= 2, "{most} answers in one turn");
        drop(client);
        serving.await.unwrap();
    }

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
            assert_eq!(refuse_unauthenticated_exposure(&options).is_err(), is_open, "{listen}");
        }
    }
}
