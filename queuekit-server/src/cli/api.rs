//! The routes of the HTTP API, of a server or of a store that this process has opened: commands
//! ask them and do not see the difference.

mod connect;
mod local;
mod remote;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::config::StoreAddress;
use local::Local;
use remote::Remote;

pub(crate) use remote::ServerAddress;

/// Whoever answers.
pub(crate) enum Api {
    /// A store, opened here: the routes are called as functions.
    Local(Local),
    /// A server.
    Remote(Box<Remote>),
}

/// An answer that is no refusal.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    body: Bytes,
}

/// The refusal of a request: what a problem says.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    detail: String,
    /// Whether it is a problem of queuekit's, and not of a proxy or another server.
    is_ours: bool,
}

impl Api {
    /// Opens a store.
    pub(crate) async fn open(address: &StoreAddress) -> Result<Self> {
        Ok(Self::Local(Local::open(address).await?))
    }

    /// Will ask a server.
    pub(crate) fn ask(server: ServerAddress) -> Result<Self> {
        Ok(Self::Remote(Box::new(Remote::new(server)?)))
    }

    /// Reads. The path begins with a slash, and needs no escapes: names have none.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// Reads what a query wants.
    pub(crate) async fn find(&self, path: &str, query: &impl Serialize) -> Result<Answer> {
        let query = serde_urlencoded::to_string(query)?;
        let joint = if query.is_empty() { "" } else { "?" };
        self.get(&format!("{path}{joint}{query}")).await
    }

    /// Changes.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer> {
        self.send(method, path, serde_json::to_vec(body)?.into()).await
    }

    /// Changes, with nothing to say but where.
    pub(crate) async fn act(&self, method: Method, path: &str) -> Result<Answer> {
        self.send(method, path, Bytes::new()).await
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Answer> {
        let (status, body) = match self {
            Self::Local(local) => local.send(method, path, body).await?,
            Self::Remote(remote) => remote.send(method, path, body).await?,
        };
        if status.is_success() {
            return Ok(Answer { status, body });
        }
        Err(Refused::read(status, &body).into())
    }

    /// Gives the store back.
    pub(crate) async fn close(self) -> Result<()> {
        match self {
            Self::Local(local) => local.close().await,
            Self::Remote(_) => Ok(()),
        }
    }
}

impl Answer {
    /// The JSON as it came: no number of it has gone through a float.
    pub(crate) fn json(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_default()
    }

    /// The parts that a command shows.
    ///
    /// # Errors
    /// If the server is of another version, or is no queuekit.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|error| {
            anyhow::anyhow!(
                "the answer is not one of a queuekit server of this version ({error}); compare \
                 `queuekit --version` on both sides"
            )
        })
    }
}

impl Refused {
    /// The status, if it is queuekit that says it.
    pub(crate) fn said(&self) -> Option<StatusCode> {
        self.is_ours.then_some(self.status)
    }

    /// Whether there is no such thing in the store.
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
        let foreign = || {
            format!(
                "what answered {status} is no queuekit server: see the address, and any proxy \
                 before it"
            )
        };
        let detail = ours.map_or_else(foreign, |problem| problem.detail);
        Self { status, detail, is_ours }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)?;
        match self.status {
            StatusCode::UNAUTHORIZED => f.write_str("; this command sends QUEUEKIT_API_KEY"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Refused {}

/// Whether the same call may be answered later: nobody answered, or a server or the proxy before it
/// that has no time.
pub(crate) fn is_passing(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<Refused>() {
        Some(refused) => matches!(refused.status.as_u16(), 429 | 502..=504),
        None => error.is::<NoAnswer>(),
    }
}

/// A server could not be asked, or its answer did not arrive: what was asked may be done.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) server: String,
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be asked; see that it runs, and for its address", self.server)
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
    fn what_another_server_does_not_find_is_not_said_to_be_missing() {
        let ours = r#"{"type": "urn:queuekit:problem:not_found", "detail": "no such job"}"#;
        assert_eq!(Exit::of(&refused(404, ours)), Exit::NotFound);
        for body in ["", "<html>", r#"{"type": "about:blank", "detail": "Not Found"}"#] {
            let error = refused(404, body);
            assert_eq!(Exit::of(&error), Exit::Failed, "{body}");
            assert!(error.to_string().contains("is no queuekit server"), "{error}");
        }
    }
}
