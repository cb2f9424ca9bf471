//! Connections to receivers, only to addresses that the guard has admitted.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use queuekit::{JobError, JobResult};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsConnector;

use super::ssrf_guard::Guard;
use super::target::Target;
use super::timeouts::Timeouts;
use crate::tls_client::{self, Stream};

/// Connects once per request. It looks up a name once, and checks and connects to the addresses
/// that it found, so that a second lookup cannot lead elsewhere. Variables that name a proxy are
/// ignored, because a proxy would look up names itself.
pub(super) struct Connector<L> {
    guard: Guard,
    lookup: L,
    tls: TlsConnector,
    timeouts: Timeouts,
}

/// Looks up the addresses of a name.
pub(super) trait Lookup: Send + Sync {
    fn lookup(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;
}

impl<L: Lookup> Connector<L> {
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn new(guard: Guard, lookup: L, timeouts: Timeouts) -> Result<Self, rustls::Error> {
        Ok(Self { guard, lookup, tls: tls_client::connector()?, timeouts })
    }

    /// # Errors
    /// Fatal if jobs may not reach the target; retried if it cannot be reached.
    pub(super) async fn connect(&self, target: &Target) -> JobResult<Box<dyn Stream>> {
        let most = self.timeouts.connect;
        let late = |_| JobError::retry(format!("{target}: no connection within {most:?}"));
        timeout(most, self.open(target)).await.map_err(late)?
    }

    async fn open(&self, target: &Target) -> JobResult<Box<dyn Stream>> {
        let unreached =
            |what: &str, error: io::Error| JobError::retry(format!("{target}: {what}: {error}"));
        let found = match target.address() {
            Some(address) => vec![address],
            None => {
                let found = self.lookup.lookup(target.host(), target.port()).await;
                found.map_err(|error| unreached("cannot look up its name", error))?
            }
        };
        // The connection goes to these addresses and not to the name: a second look-up could find
        // others.
        let admitted = self.guard.admit(target, found).map_err(JobError::fatal)?;
        let tcp = TcpStream::connect(&*admitted).await;
        let tcp = tcp.map_err(|error| unreached("cannot connect", error))?;
        // Requests are small, and each waits for an answer.
        let _ = tcp.set_nodelay(true);
        let mut stream = TimeoutStream::new(tcp);
        stream.set_read_timeout(Some(self.timeouts.read));
        stream.set_write_timeout(Some(self.timeouts.read));
        let stream: Pin<Box<TimeoutStream<TcpStream>>> = Box::pin(stream);
        if !target.is_encrypted() {
            return Ok(Box::new(stream));
        }
        let name = tls_client::server_name(target.host());
        let name = name.map_err(|_| {
            JobError::fatal(format!("{target}: no certificate can be for this host"))
        })?;
        let encrypted = self.tls.connect(name, stream).await;
        Ok(Box::new(encrypted.map_err(|error| unreached("the TLS handshake failed", error))?))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::net::TcpListener;

    use super::super::AllowedTarget;
    use super::*;

    /// A name whose addresses change between two look-ups.
    struct Rebinding {
        answers: Vec<SocketAddr>,
        asked: AtomicUsize,
    }

    impl Lookup for Rebinding {
        async fn lookup(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
            let asked = self.asked.fetch_add(1, Ordering::SeqCst);
            Ok(vec![self.answers[asked.min(self.answers.len() - 1)]])
        }
    }

    fn connector(answers: Vec<SocketAddr>, allowed: &str) -> Connector<Rebinding> {
        let allowed = vec![AllowedTarget::try_from(allowed.to_owned()).unwrap()];
        let guard = Guard { allowed, ports: Vec::new(), insecure_http: true };
        let lookup = Rebinding { answers, asked: AtomicUsize::new(0) };
        Connector::new(guard, lookup, Timeouts::default()).unwrap()
    }

    #[tokio::test]
    async fn s8_the_address_that_was_checked_is_the_one_that_is_connected_to() {
        let open = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let closed = TcpListener::bind("127.0.0.3:0").await.unwrap();
        let answers = vec![open.local_addr().unwrap(), closed.local_addr().unwrap()];
        let connector = connector(answers, "127.0.0.2:80");
        let target = Target::parse("http://rebinding.example").unwrap();
        connector.connect(&target).await.unwrap();
        open.accept().await.unwrap();
        assert_eq!(connector.lookup.asked.load(Ordering::SeqCst), 1, "nobody asked again");
        // The next request asks again, and hears what is not admitted.
        let error = connector.connect(&target).await.err().unwrap();
        assert!(error.is_fatal() && error.to_string().contains("not at a public address"));
        let nobody = futures_util::FutureExt::now_or_never(closed.accept());
        assert!(nobody.is_none(), "it was not connected to");
    }

    #[tokio::test]
    async fn whoever_is_not_there_is_tried_again() {
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let connector = connector(vec![gone], "127.0.0.0/8:443");
        let target = Target::parse("https://gone.example").unwrap();
        let error = connector.connect(&target).await.err().unwrap();
        assert!(!error.is_fatal() && error.to_string().contains("cannot connect"), "{error}");
    }
}
