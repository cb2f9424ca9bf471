//! Connections to a server that the operator has named.

use std::time::Duration;

use axum::http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, service_fn};

use crate::tls_client::{self, Stream};

/// Time to connect, TLS included.
const CONNECT: Duration = Duration::from_secs(5);

/// Opens connections to the server of a URL.
pub(crate) type Connector = BoxCloneSyncService<Uri, TokioIo<Box<dyn Stream>>, BoxError>;

/// Connects to the server directly. Variables that name a proxy are not read, because a proxy must
/// not get the key.
///
/// # Errors
/// If TLS cannot be set up.
pub(crate) fn connector() -> Result<Connector, rustls::Error> {
    let tls = tls_client::connector()?;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    // Requests are small, and each waits for an answer.
    tcp.set_nodelay(true);
    // A name may have many addresses: one that does not answer leaves time for the others.
    tcp.set_connect_timeout(Some(CONNECT));
    Ok(BoxCloneSyncService::new(service_fn(move |server: Uri| {
        let opened = timeout(CONNECT, open(tcp.clone(), tls.clone(), server));
        async { opened.await.map_err(|_| format!("no connection within {CONNECT:?}"))? }
    })))
}

async fn open(
    mut tcp: HttpConnector,
    tls: TlsConnector,
    server: Uri,
) -> Result<TokioIo<Box<dyn Stream>>, BoxError> {
    let encrypts = server.scheme_str() == Some("https");
    let host = server.host().unwrap_or_default().to_owned();
    let stream = tcp.call(server).await?.into_inner();
    if !encrypts {
        return Ok(TokioIo::new(Box::new(stream)));
    }
    let encrypted = tls.connect(tls_client::server_name(&host)?, stream).await?;
    Ok(TokioIo::new(Box::new(encrypted)))
}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
