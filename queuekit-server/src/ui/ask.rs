//! Calls of the API's routes in this process, for the key of the viewer.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

use super::failure::Failure;
use super::viewer::Viewer;

/// How long a page waits for a store that is known to be away.
const PATIENCE: Duration = Duration::from_secs(2);

/// A successful answer of a route, with its memory.
pub(super) struct Answer {
    bytes: Bytes,
    /// Has the memory that the answer was counted with.
    _held: Body,
}

impl Viewer {
    /// Asks a route. Each call after the first of a page counts towards the rate of the key.
    ///
    /// # Errors
    /// What the route refuses, or what the store fails at.
    pub(super) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        // A store that is away may be waited for much longer than a reader waits.
        let away = async {
            tokio::time::sleep(PATIENCE).await;
            self.ui.0.board.outage().await
        };
        tokio::select! {
            answer = self.send(Method::GET, path, Body::empty()) => answer,
            outage = away => Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, outage.detail)),
        }
    }

    /// The same with a query.
    pub(super) async fn find(&self, path: &str, query: &impl Serialize) -> Result<Answer, Failure> {
        let query = serde_urlencoded::to_string(query).map_err(|error| unsent(&error))?;
        self.get(&format!("{path}?{query}")).await
    }

    /// The same with a method, without a body.
    pub(super) async fn act(&self, method: Method, path: &str) -> Result<Answer, Failure> {
        self.send(method, path, Body::empty()).await
    }

    /// The same with a body of JSON.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| unsent(&error))?;
        self.send(method, path, body.into()).await
    }

    async fn send(&self, method: Method, path: &str, body: Body) -> Result<Answer, Failure> {
        self.count_call();
        let request = Request::builder().method(method).uri(path);
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let mut request = request.map_err(|error| unsent(&error))?;
        request.extensions_mut().insert(self.caller().clone());
        let response = match self.api().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let mut body = response.into_body();
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let data = frame.ok().and_then(|frame| frame.into_data().ok());
            bytes.extend_from_slice(&data.unwrap_or_default());
        }
        let answer = Answer { bytes: bytes.freeze(), _held: body };
        match status.is_success() {
            true => Ok(answer),
            false => Err(Failure::read(status, &answer.bytes)),
        }
    }
}

impl Answer {
    /// # Errors
    /// 500 if the route answers something else, which is a bug.
    pub(super) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Failure> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            tracing::error!(%error, "the dashboard cannot read an answer of the API");
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "an answer cannot be read")
        })
    }
}

fn unsent(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, format!("the request cannot be sent: {error}"))
}
