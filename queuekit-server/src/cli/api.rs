//! The routes of the HTTP API, of a server or of a store that this process has opened. Commands
//! call them without knowing which.

mod local;
mod pages;
mod remote;

use anyhow::{Result, anyhow};
use axum::http::{Method, StatusCode};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format::brief;
use crate::config::StoreAddress;
use local::Local;
use remote::Remote;

pub(crate) use remote::{NoAnswer, ServerAddress};

/// What answers the routes.
pub(crate) enum Api {
    /// A store, opened here: the routes are called as functions.
    Local(Local),
    /// A server.
    Remote(Box<Remote>),
}

/// A successful answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// `null` if it has no content.
    json: Box<RawValue>,
}

/// Characters of an answer that an error repeats.
const SHOWN: usize = 80;
/// What to do if something else than queuekit has answered.
const WRONG_SERVER: &str = "check the address, and any proxy in front of it";

/// A refused request: the contents of a problem.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    detail: String,
    /// Whether queuekit answered it, and not a proxy or another server.
    is_ours: bool,
}

impl Api {
    /// Opens a store.
    pub(crate) async fn open(address: &StoreAddress) -> Result<Self> {
        Ok(Self::Local(Local::open(address).await?))
    }

    /// Uses a server.
    pub(crate) fn ask(server: ServerAddress) -> Result<Self> {
        Ok(Self::Remote(Box::new(Remote::new(server)?)))
    }

    /// The URL of the server, if it is one.
    pub(crate) fn server(&self) -> Option<String> {
        match self {
            Self::Local(_) => None,
            Self::Remote(remote) => Some(remote.server().to_string()),
        }
    }

    /// A GET. The path begins with a slash, and needs no escapes, as names have none.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// A GET with a query.
    pub(crate) async fn find(&self, path: &str, query: &impl Serialize) -> Result<Answer> {
        let query = serde_urlencoded::to_string(query)?;
        let joint = if query.is_empty() { "" } else { "?" };
        self.get(&format!("{path}{joint}{query}")).await
    }

    /// A call with a body.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer> {
        self.send(method, path, serde_json::to_vec(body)?.into()).await
    }

    /// A call without a body.
    pub(crate) async fn act(&self, method: Method, path: &str) -> Result<Answer> {
        self.send(method, path, Bytes::new()).await
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Answer> {
        let (status, body) = match self {
            Self::Local(local) => local.send(method, path, body).await?,
            Self::Remote(remote) => remote.send(method, path, body).await?,
        };
        if !status.is_success() {
            return Err(Refused::read(status, &body).into());
        }
        Answer::parse(status, &body).ok_or_else(|| {
            let server = self.server().unwrap_or_default();
            let url = format!("{}{path}", server.trim_end_matches('/'));
            let said = brief(String::from_utf8_lossy(&body).trim(), SHOWN);
            anyhow!("{url} answered {status} with {said:?}, which is not JSON: {WRONG_SERVER}")
        })
    }

    /// Closes the store.
    pub(crate) async fn close(self) -> Result<()> {
        match self {
            Self::Local(local) => local.close().await,
            Self::Remote(_) => Ok(()),
        }
    }
}

impl Answer {
    /// None if it is not JSON.
    fn parse(status: StatusCode, body: &[u8]) -> Option<Self> {
        let json = match status {
            StatusCode::NO_CONTENT => RawValue::NULL.to_owned(),
            // Guard: what is printed with `--json` is JSON.
            _ => serde_json::from_slice(body).ok()?,
        };
        Some(Self { status, json })
    }

    /// The JSON as it was answered: no number has gone through a float.
    pub(crate) fn json(&self) -> &RawValue {
        &self.json
    }

    /// The fields that a command shows.
    ///
    /// # Errors
    /// If the server has another version, or is not queuekit.
    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        serde_json::from_str(self.json.get()).map_err(|error| {
            anyhow!(
                "the server is not queuekit, or has another version ({error}); compare \
                 `queuekit --version` on both sides"
            )
        })
    }
}

impl Refused {
    /// The status, if queuekit answered it.
    pub(crate) fn said(&self) -> Option<StatusCode> {
        self.is_ours.then_some(self.status)
    }

    /// Whether the store has no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        self.said() == Some(StatusCode::NOT_FOUND)
    }

    fn read(status: StatusCode, body: &[u8]) -> Self {
        #[derive(serde::Deserialize)]
        struct Problem {
            r#type: String,
            detail: String,
        }
        let problem = serde_json::from_slice::<Problem>(body).ok();
        let ours = problem.filter(|problem| problem.r#type.starts_with("urn:queuekit:problem:"));
        let is_ours = ours.is_some();
        let foreign =
            || format!("the answer {status} is not from a queuekit server: {WRONG_SERVER}");
        let detail = ours.map_or_else(foreign, |problem| problem.detail);
        Self { status, detail, is_ours }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)?;
        match self.status {
            StatusCode::UNAUTHORIZED => f.write_str("; set it as QUEUEKIT_API_KEY"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Refused {}

/// Whether the same call may succeed later: there was no answer, or the server or a proxy was busy.
pub(crate) fn is_passing(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<Refused>() {
        Some(refused) => matches!(refused.status.as_u16(), 429 | 502..=504),
        None => error.is::<NoAnswer>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::Exit;

    fn refused(status: u16, body: &str) -> anyhow::Error {
        Refused::read(StatusCode::from_u16(status).unwrap(), body.as_bytes()).into()
    }

    #[test]
    fn what_will_not_pass_is_not_asked_again() {
        for status in [429, 502, 503, 504] {
            assert!(is_passing(&refused(status, "")), "{status}");
        }
        for status in [400, 404, 409, 500, 501, 505] {
            assert!(!is_passing(&refused(status, "")), "{status}");
        }
        let server = "http://a".to_owned();
        assert!(is_passing(&anyhow::anyhow!("refused").context(NoAnswer { server })));
    }

    #[test]
    fn an_answer_is_json_or_has_no_content() {
        let json = |status: StatusCode, body: &[u8]| {
            Answer::parse(status, body).map(|answer| answer.json().get().to_owned())
        };
        assert_eq!(json(StatusCode::OK, b" {\"n\": 1.0} ").as_deref(), Some("{\"n\": 1.0}"));
        assert_eq!(json(StatusCode::NO_CONTENT, b"").as_deref(), Some("null"));
        for other in [&b""[..], b"<html>", b"{", b"{} {}", b"\"\xff\""] {
            assert_eq!(json(StatusCode::OK, other), None, "{other:?}");
        }
    }

    #[test]
    fn what_another_server_does_not_find_is_not_said_to_be_missing() {
        let ours = r#"{"type": "urn:queuekit:problem:not_found", "detail": "no such job"}"#;
        assert_eq!(Exit::of(&refused(404, ours)), Exit::NotFound);
        for body in ["", "<html>", r#"{"type": "about:blank", "detail": "Not Found"}"#] {
            let error = refused(404, body);
            assert_eq!(Exit::of(&error), Exit::Failed, "{body}");
            assert!(error.to_string().contains("is not from a queuekit server"), "{error}");
        }
    }
}
