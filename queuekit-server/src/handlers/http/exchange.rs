//! One request and its answer.

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::http::response::Parts;
use hyper_util::rt::TokioIo;
use queuekit::{JobError, JobResult};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::connect::{Connector, Lookup};
use super::request::Request;
use super::response::Answer;
use super::target::Target;

/// How much of an answer is kept; the rest is not read. Each byte may take three bytes in the
/// result, which may have 64 KiB.
const KEPT: usize = 16 * 1024;
/// Largest head of an answer.
const HEAD: usize = 64 * 1024;
/// How much is read of a connection, with interim answers (1xx) and the framing of chunks: a
/// receiver that sends interim answers without end would keep a thread of the runtime busy.
const READ: u64 = 256 * 1024;

/// An answer whose body is not read yet.
pub(super) struct Response {
    pub(super) head: Parts,
    body: Incoming,
    /// Drives the connection, which closes when this is dropped.
    _driver: AbortOnDropHandle<()>,
}

/// Sends the request with these headers over its own connection. Each connection is to an address
/// that was just looked up and admitted; with few requests to many hosts, keeping them would gain
/// little.
///
/// # Errors
/// Those of [`Connector::connect`]; retried if there is no answer.
pub(super) async fn exchange<L: Lookup>(
    connector: &Connector<L>,
    request: &Request,
    headers: HeaderMap,
) -> JobResult<Response> {
    let target = &request.target;
    let broken = |error: hyper::Error| {
        JobError::retry(anyhow::Error::from(error).context(format!("{target} did not answer")))
    };
    let stream = connector.connect(target).await?;
    let mut client = http1::Builder::new();
    // A receiver must not fill the memory of the worker with a head that never ends.
    client.max_buf_size(HEAD);
    let (read, write) = tokio::io::split(stream);
    let stream = TokioIo::new(tokio::io::join(read.take(READ), write));
    let (mut sender, connection) = client.handshake(stream).await.map_err(broken)?;
    let driver = AbortOnDropHandle::new(tokio::spawn(async move {
        // The caller that waits for the answer gets the error too.
        let _ = connection.await;
    }));
    let answer = sender.send_request(prepared(request, headers)?).await.map_err(broken)?;
    let (head, body) = answer.into_parts();
    Ok(Response { head, body, _driver: driver })
}

impl Response {
    /// Reads the part of the body that is kept.
    pub(super) async fn finish(
        mut self,
        end: Instant,
        target: Target,
        secrets: &[HeaderValue],
    ) -> Answer {
        let mut kept = Vec::new();
        let mut whole = false;
        let read = async {
            // One byte more than is kept shows that the answer is longer.
            while kept.len() <= KEPT {
                match self.body.frame().await {
                    Some(Ok(frame)) => kept.extend(frame.data_ref().into_iter().flatten()),
                    Some(Err(_)) => return,
                    None => {
                        whole = true;
                        return;
                    }
                }
            }
        };
        let _ = timeout_at(end, read).await;
        let cut = !whole || kept.len() > KEPT;
        kept.truncate(KEPT);
        Answer::new(target, self.head, &kept, cut, secrets)
    }
}

fn prepared(
    request: &Request,
    mut headers: HeaderMap,
) -> JobResult<hyper::Request<Full<queuekit::Bytes>>> {
    let target = &request.target;
    let wrong = || JobError::fatal(format!("{target}: its path is invalid"));
    headers.insert(HOST, HeaderValue::from_str(target.authority()).map_err(|_| wrong())?);
    // No connection is used again, because the guard checks addresses when one is opened.
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let agent = concat!("queuekit/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    let mut prepared = hyper::Request::new(Full::new(request.body.clone()));
    *prepared.method_mut() = request.method.clone();
    *prepared.uri_mut() = target.path_and_query().parse().map_err(|_| wrong())?;
    *prepared.headers_mut() = headers;
    Ok(prepared)
}
