//! The routes of a server, over HTTP.

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;
use url::Url;

use crate::cli::output::remark;
use crate::error::Usage;
use crate::loopback::is_this_host;
use crate::monitor::traces;
use crate::server_connector::{Connector, connector};

/// Time for a whole call; longer than a store may take.
const CALL: Duration = Duration::from_secs(60);
/// Largest answer that is read. A server answers at most a page, or one job with its payload.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// The URL of a server, and the key for it. `Debug` leaves out the key.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    base: Url,
    key: Option<String>,
}

/// A server. Its connection is kept between calls, because a listing has many pages.
pub(crate) struct Remote {
    http: Client<Connector, Full<Bytes>>,
    server: ServerAddress,
}

impl ServerAddress {
    /// # Errors
    /// A usage error if it is not the URL of a server.
    pub(crate) fn new(url: &str, key: Option<&str>) -> Result<Self> {
        let rule = "--server must be a URL such as http://localhost:8080";
        let base = Url::parse(url).map_err(|_| Usage::error(rule))?;
        // A URL is shown in errors and by `ps`.
        let has_secret = !base.username().is_empty() || base.password().is_some();
        if has_secret {
            return Err(Usage::error("--server must not contain a key: set QUEUEKIT_API_KEY"));
        }
        let is_plain = base.query().is_none() && base.fragment().is_none();
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() || !is_plain {
            return Err(Usage::error(rule));
        }
        if key.is_some() && base.scheme() == "http" && !is_loopback(&base) {
            remark("warning: the key is sent over the network unencrypted; use https");
        }
        Ok(Self { base, key: key.map(str::to_owned) })
    }
}

impl Remote {
    pub(super) fn new(server: ServerAddress) -> Result<Self> {
        Ok(Self { http: Client::builder(TokioExecutor::new()).build(connector()?), server })
    }

    pub(super) fn server(&self) -> &ServerAddress {
        &self.server
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let answered = timeout(CALL, self.exchange(method, path, body)).await;
        let answered = answered.unwrap_or_else(|_| Err(anyhow!("no answer within {CALL:?}")));
        answered.with_context(|| NoAnswer { server: self.server.to_string() })
    }

    /// Does not follow redirects: the key is for this server only.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let base = self.server.base.as_str().trim_end_matches('/');
        let url = Url::parse(&format!("{base}{path}"))?;
        let mut request = Request::builder().method(method).uri(url.as_str());
        request = request.header(ACCEPT, "*/*").header(CONTENT_TYPE, "application/json");
        if let Some(key) = &self.server.key {
            request = request.header(AUTHORIZATION, bearer(key)?);
        }
        if let Some(span) = traces::current() {
            request = request.header("traceparent", span.traceparent());
            if let Some(state) = span.tracestate() {
                request = request.header("tracestate", state);
            }
        }
        let response = self.http.request(request.body(Full::new(body))?).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => anyhow!("its answer has more than {ANSWER_BYTES} bytes"),
            false => anyhow!(error),
        })?;
        Ok((status, body.to_bytes()))
    }
}

/// A server could not be reached, or its answer did not arrive: the call may have taken effect.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) server: String,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer from {}; check that it runs, and its address", self.server)
    }
}

/// The header, marked as sensitive so that no log shows it.
fn bearer(key: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {key}"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default().trim_matches(['[', ']']);
    is_this_host(host)
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str())
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;

    use super::*;
    use crate::cli::api::is_passing;

    async fn listen() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    async fn get(url: &str) -> Result<(StatusCode, Bytes)> {
        let remote = Remote::new(ServerAddress::new(url, Some("hunter2"))?)?;
        remote.send(Method::GET, "/v1/queues", Bytes::new()).await
    }

    /// The whole error when nothing is answered.
    async fn unanswered(url: &str) -> String {
        let error = timeout(CALL * 10, get(url)).await.expect("it is given up").unwrap_err();
        assert!(is_passing(&error), "{error:#}");
        let told = format!("{error:#}");
        assert!(told.starts_with(&format!("no answer from {url}/; check that it runs")), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
        told
    }

    async fn read_head(stream: &mut TcpStream) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_given_up_after_a_minute() {
        let (_silent, address) = listen().await;
        let began = Instant::now();
        let told = unanswered(&format!("http://{address}")).await;
        assert!(told.ends_with("no answer within 60s"), "{told}");
        assert_eq!(began.elapsed().as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_encrypt_is_given_up_after_five_seconds() {
        let (_silent, address) = listen().await;
        let began = Instant::now();
        let told = unanswered(&format!("https://{address}")).await;
        assert!(told.ends_with("no connection within 5s"), "{told}");
        assert_eq!(began.elapsed().as_secs(), 5);
    }

    /// Guard: the limit of a call holds for its body too.
    #[tokio::test]
    async fn an_answer_that_does_not_end_is_given_up() {
        let (listener, address) = listen().await;
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{").await.unwrap();
            for _ in 0..100 {
                // The head arrives before the clock moves.
                tokio::task::yield_now().await;
            }
            tokio::time::pause();
            std::future::pending::<()>().await;
        };
        let url = format!("http://{address}");
        let told = tokio::select! {
            told = unanswered(&url) => told,
            () = serve => unreachable!(),
        };
        assert!(told.ends_with("no answer within 60s"), "{told}");
    }

    #[tokio::test]
    async fn s6_an_answer_that_is_larger_than_any_is_not_read_to_its_end() {
        let (listener, address) = listen().await;
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", u64::MAX / 2);
            stream.write_all(head.as_bytes()).await.unwrap();
            let piece = vec![b'['; 1 << 20];
            let mut sent = 0;
            while stream.write_all(&piece).await.is_ok() {
                sent += piece.len();
            }
            sent
        };
        let url = format!("http://{address}");
        let (told, sent) = tokio::join!(unanswered(&url), serve);
        assert!(told.contains("more than 67108864 bytes"), "{told}");
        assert!(sent < 2 * ANSWER_BYTES, "{sent} bytes");
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_none() {
        let (listener, address) = listen().await;
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{").await.unwrap();
        };
        let url = format!("http://{address}");
        let (told, ()) = tokio::join!(unanswered(&url), serve);
        assert!(told.contains("end of file before message length reached"), "{told}");
    }

    #[tokio::test]
    async fn calls_share_a_connection() {
        let (listener, address) = listen().await;
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            for _ in 0..3 {
                let head = read_head(&mut stream).await;
                assert!(head.starts_with("GET /base/v1/jobs?limit=2 HTTP/1.1\r\n"), "{head}");
                assert!(head.contains(&format!("\r\nhost: {address}\r\n")), "{head}");
                assert!(head.contains("\r\nauthorization: Bearer hunter2\r\n"), "{head}");
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
            }
        };
        let server = ServerAddress::new(&format!("http://{address}/base/"), Some("hunter2"));
        let remote = Remote::new(server.unwrap()).unwrap();
        let ask = async {
            for _ in 0..3 {
                let page = remote.send(Method::GET, "/v1/jobs?limit=2", Bytes::new()).await;
                assert_eq!(page.unwrap(), (StatusCode::OK, Bytes::from_static(b"{}")));
            }
        };
        timeout(CALL, async { tokio::join!(ask, serve) }).await.expect("one connection is enough");
    }
}
