//! The routes of a server, over HTTP.

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use bytes::Bytes;
use reqwest::{Client, Url};

use super::NoAnswer;
use crate::cli::Usage;
use crate::cli::output::remark;
use crate::http::is_this_host;
use crate::tls;

/// For a connection to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// For a whole call: longer than a store may take.
const CALL: Duration = Duration::from_secs(60);

/// Where a server is, and the key to it. Debug leaves out the key.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    base: Url,
    key: Option<String>,
}

/// A server.
pub(crate) struct Remote {
    http: Client,
    server: ServerAddress,
}

impl ServerAddress {
    /// # Errors
    /// A usage error if it is no URL of a server.
    pub(crate) fn new(url: &str, key: Option<&str>) -> Result<Self> {
        let rule = "--server must be a URL as http://localhost:8080 or https://jobs.example.com";
        let base = Url::parse(url).map_err(|_| Usage::error(rule))?;
        let has_secret = !base.username().is_empty() || base.password().is_some();
        if has_secret {
            return Err(Usage::error("a key does not stand in --server: set QUEUEKIT_API_KEY"));
        }
        let is_plain = base.query().is_none() && base.fragment().is_none();
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() || !is_plain {
            return Err(Usage::error(rule));
        }
        if key.is_some() && base.scheme() == "http" && !is_loopback(&base) {
            remark("warning: the key goes over the network unencrypted; use https");
        }
        Ok(Self { base, key: key.map(str::to_owned) })
    }
}

impl Remote {
    pub(super) fn new(server: ServerAddress) -> Result<Self> {
        let http = Client::builder()
            .tls_backend_preconfigured(tls::client_config()?)
            .connect_timeout(CONNECT)
            .timeout(CALL)
            // The key is for this server, not for whom it points to, nor for a proxy.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .context("no HTTP client could be made")?;
        Ok(Self { http, server })
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let base = self.server.base.as_str().trim_end_matches('/');
        let mut request = self.http.request(method, format!("{base}{path}"));
        request = request.header(CONTENT_TYPE, "application/json").body(body);
        if let Some(key) = &self.server.key {
            request = request.bearer_auth(key);
        }
        let failed = || NoAnswer { server: self.server.to_string() };
        let response = request.send().await.with_context(failed)?;
        let status = response.status();
        let body = response.bytes().await.with_context(failed)?;
        Ok((status, body))
    }
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
