//! `--metrics-listen`: metrics and health of a process that has no HTTP API.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use queuekit::workers::HealthProbe;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::exporter;
use crate::peer_network::network_of;

/// The text format of Prometheus.
pub(crate) const TEXT: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Connections at once, in all and of one address. Probes and scrapers need a few.
const CONNECTIONS: usize = 32;
const CONNECTIONS_OF_ADDRESS: usize = 8;
/// Time to receive the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a connection may take, so that none keeps its place.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Bound to its address.
pub(crate) struct Listener(std::net::TcpListener);

impl Listener {
    /// Binds the address, and starts to record metrics.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    pub(crate) fn bind(address: SocketAddr) -> anyhow::Result<Self> {
        exporter::install();
        let listener = std::net::TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        let hint = "choose another address with --metrics-listen";
        listener.map(Self).with_context(|| format!("cannot listen on {address}; {hint}"))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Answers as long as the process runs, in a thread and a runtime of its own: handlers that
    /// block all threads of the other one are what a probe is to find.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub(crate) fn serve(self, probe: HealthProbe) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serve = move || {
            if let Err(error) = runtime.block_on(accept(self.0, routes(probe))) {
                tracing::error!(%error, "metrics and health are no longer served");
            }
        };
        std::thread::Builder::new().name("queuekit-monitor".to_owned()).spawn(serve)?;
        Ok(())
    }
}

fn routes(probe: HealthProbe) -> Router {
    let (alive, ready) = (probe.clone(), probe);
    Router::new()
        .route("/metrics", get(async || ([(CONTENT_TYPE, TEXT)], exporter::render())))
        .route("/healthz", get(async move || answer(alive.health().why_not_alive())))
        .route("/readyz", get(async move || answer(ready.health().why_not_ready())))
}

/// One line: `ok`, or why not.
fn answer(why_not: Option<&str>) -> impl IntoResponse {
    match why_not {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why_not) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why_not}\n")),
    }
}

async fn accept(listener: std::net::TcpListener, routes: Router) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut open = Open::default();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let address = network_of(peer.ip());
                open.make_room(address);
                let serving = tokio::spawn(serve(stream, routes.clone()));
                open.0.push((address, serving.abort_handle()));
            }
            // Probably out of file descriptors: the next one would fail as well.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The open connections, the oldest first.
#[derive(Default)]
struct Open(Vec<(IpAddr, AbortHandle)>);

impl Open {
    /// Closes the oldest connections that a new one of this address leaves no place: a probe is
    /// always let in, however many others say nothing.
    fn make_room(&mut self, address: IpAddr) {
        self.0.retain(|(_, serving)| !serving.is_finished());
        let of_address = self.0.iter().filter(|(other, _)| *other == address).count();
        let oldest = match of_address >= CONNECTIONS_OF_ADDRESS {
            true => self.0.iter().position(|(other, _)| *other == address),
            false => (self.0.len() >= CONNECTIONS).then_some(0),
        };
        if let Some(oldest) = oldest {
            self.0.remove(oldest).1.abort();
        }
    }
}

async fn serve(stream: TcpStream, routes: Router) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    // A client that disconnects, or is slow, harms nobody else.
    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, serving).await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, Reserve, Reserved, async_trait};
    use queuekit::workers::{Beat, Orders};
    use queuekit::{Bytes, Client, Ctx, Error, ErrorKind, JobDraft, Result, Worker};
    use queuekit_conformance::{Layer, Wrapped};

    use super::*;

    fn served(probe: HealthProbe) -> SocketAddr {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.address().unwrap();
        listener.serve(probe).unwrap();
        address
    }

    fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks until it answers this status.
    fn wait_for(address: SocketAddr, path: &str, status: &str) -> String {
        loop {
            let answer = ask(address, path);
            if answer.starts_with(&format!("HTTP/1.1 {status}")) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Guard: a probe on the worker's own runtime would not answer if handlers block it.
    #[test]
    fn a_main_loop_that_is_stuck_is_not_healthy_until_it_turns_again() {
        let (block, blocked) = mpsc::channel::<()>();
        let (started, probes) = mpsc::channel();
        let working = std::thread::spawn(move || {
            let blocked = std::sync::Mutex::new(blocked);
            let blocked = Arc::new(blocked);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let client = Client::new(MemoryStore::new());
                client.enqueue(JobDraft::new("block", "{}")).await.unwrap();
                let handler = move |_: Bytes, _: Ctx| {
                    let blocked = Arc::clone(&blocked);
                    async move {
                        let _ = blocked.lock().unwrap().recv();
                        queuekit::JobResult::Ok(None)
                    }
                };
                let worker = Worker::new(client.clone()).handle_raw("block", handler);
                let worker = worker.start().await.unwrap();
                started.send(worker.probe()).unwrap();
                worker.ended().await.unwrap();
            });
        });
        let address = served(probes.recv().unwrap());
        let stuck = wait_for(address, "/healthz", "503");
        assert!(stuck.ends_with("may block its thread\n"), "{stuck}");
        drop(block);
        wait_for(address, "/healthz", "200");
        drop(working);
    }

    /// Guard: silent connections would keep a liveness probe out, and the worker is restarted.
    #[tokio::test]
    async fn s6_silent_connections_keep_no_probe_out() {
        let silent = || tokio::spawn(std::future::pending::<()>()).abort_handle();
        let from = |n: u8| IpAddr::from([192, 0, 2, n]);
        let mut open = Open::default();
        let admit = |open: &mut Open, n| {
            open.make_room(from(n));
            open.0.push((from(n), silent()));
        };
        (1..=100).for_each(|_| admit(&mut open, 1));
        assert_eq!(open.0.len(), CONNECTIONS_OF_ADDRESS);
        (2..=100).for_each(|n| admit(&mut open, n));
        assert_eq!(open.0.len(), CONNECTIONS);
        assert_eq!(open.0[0].0, from(69), "the oldest went first");
        let oldest = open.0[0].1.clone();
        admit(&mut open, 200);
        while !oldest.is_finished() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn s6_who_sends_no_request_is_disconnected_and_a_probe_is_answered_meanwhile() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let client = Client::new(MemoryStore::new());
        let worker = runtime.block_on(Worker::new(client).start()).unwrap();
        let address = served(worker.probe());
        let connect = |_| std::net::TcpStream::connect(address).unwrap();
        let mut silent: Vec<_> = (0..CONNECTIONS * 2).map(connect).collect();
        assert!(ask(address, "/healthz").starts_with("HTTP/1.1 200"));
        let mut last = silent.pop().unwrap();
        last.set_read_timeout(Some(CONNECTION_TIMEOUT / 2)).unwrap();
        let read = last.read(&mut [0; 1024]);
        assert!(!read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "it waits");
        runtime.block_on(worker.stop());
    }

    /// A store that is away while the flag is set.
    #[derive(Debug)]
    struct Away(Arc<dyn Backend>, Arc<AtomicBool>);

    impl Away {
        fn check(&self) -> Result<()> {
            let away = || Error::new(ErrorKind::Unavailable, "away");
            (!self.1.load(Ordering::SeqCst)).then_some(()).ok_or_else(away)
        }
    }

    #[async_trait]
    impl Layer for Away {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.0
        }

        async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
            self.check()?;
            self.0.reserve(request).await
        }

        async fn beat(&self, beat: &Beat) -> Result<Orders> {
            self.check()?;
            self.leases().beat(beat).await
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_worker_whose_store_is_away_is_not_ready_but_healthy_until_it_is_back() {
        let is_away = Arc::new(AtomicBool::new(false));
        let store = Away(Arc::new(MemoryStore::new()), Arc::clone(&is_away));
        let worker = Worker::new(Client::new(Wrapped(store)))
            .lease_ttl(Duration::from_secs(1))
            .start()
            .await
            .unwrap();
        let address = served(worker.probe());
        let is_away_to = |away| is_away.store(away, Ordering::SeqCst);
        tokio::task::block_in_place(|| {
            wait_for(address, "/readyz", "200");
            is_away_to(true);
            let away = wait_for(address, "/readyz", "503");
            assert!(away.ends_with("the store does not answer\n"), "{away}");
            assert!(ask(address, "/healthz").starts_with("HTTP/1.1 200"));
            is_away_to(false);
            wait_for(address, "/readyz", "200");
        });
        worker.stop().await;
        let ended = ask(address, "/readyz");
        assert!(ended.ends_with("draining\n"), "{ended}");
    }
}
