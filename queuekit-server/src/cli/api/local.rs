//! The routes over a store that this process opens.

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::BodyExt;
use queuekit::Client;
use tower::ServiceExt;

use crate::api;
use crate::config::StoreAddress;

/// A store, and the routes over it.
pub(crate) struct Local {
    client: Client,
    routes: Router,
}

impl Local {
    pub(super) async fn open(address: &StoreAddress) -> Result<Self> {
        let client = queuekit::connect(address.to_open()?).await?;
        let routes = api::own_routes(client.clone());
        Ok(Self { client, routes })
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header(CONTENT_TYPE, "application/json").body(Body::from(body));
        let request = request.with_context(|| format!("{path} is not a path of the API"))?;
        let response = match self.routes.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let body = response.into_body().collect().await.context("the answer is incomplete")?;
        Ok((status, body.to_bytes()))
    }

    pub(super) async fn close(self) -> Result<()> {
        Ok(self.client.close().await?)
    }
}
