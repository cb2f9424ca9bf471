//! Sends spans by OTLP over HTTP, as JSON.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Request};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::encode::encode;
use super::settings::Settings;
use crate::server_connector::{Connector, connector};

/// Time for a whole request.
const CALL: Duration = Duration::from_secs(10);
/// How much of an answer is read, so that its connection can be used again.
const ANSWER: usize = 64 * 1024;
/// How often a failure is logged.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Sends batches to a collector.
pub(super) struct Exporter {
    http: Client<Connector, Full<Bytes>>,
    settings: Settings,
    runtime: Handle,
    resource: Resource,
    lost: Mutex<Lost>,
}

/// Spans that were not sent since the log said so.
#[derive(Default)]
struct Lost {
    spans: usize,
    told: Option<Instant>,
}

impl Exporter {
    /// # Errors
    /// If TLS cannot be set up.
    pub(super) fn new(settings: Settings, runtime: Handle) -> Result<Self, rustls::Error> {
        let http = Client::builder(TokioExecutor::new()).build(connector()?);
        let (resource, lost) = (Resource::builder_empty().build(), Mutex::default());
        Ok(Self { http, settings, runtime, resource, lost })
    }

    fn request(&self, body: Vec<u8>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body.into()));
        *request.method_mut() = axum::http::Method::POST;
        *request.uri_mut() = self.settings.endpoint.clone();
        *request.headers_mut() = self.settings.headers.clone();
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        request
    }

    /// Logs now and then that spans are lost.
    fn lose(&self, spans: usize, error: &str) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.spans += spans;
        if lost.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            let (spans, endpoint) = (lost.spans, self.settings.endpoint.to_string());
            tracing::warn!(
                spans,
                endpoint,
                error,
                "spans were lost: check that the collector runs, and that this is its port for \
                 OTLP over HTTP, mostly 4318"
            );
            *lost = Lost { spans: 0, told: Some(Instant::now()) };
        }
    }
}

impl SpanExporter for Exporter {
    /// A thread without a reactor waits for this, so the call is a task of the runtime.
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sending = send(self.http.clone(), self.request(encode(&self.resource, &batch)));
        let sent = self.runtime.spawn(sending).await;
        let error = match sent {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(_) => "the process ends".to_owned(),
        };
        self.lose(batch.len(), &error);
        Err(OTelSdkError::InternalFailure(error))
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.clone();
    }
}

async fn send(
    http: Client<Connector, Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<(), String> {
    let call = async {
        let answer = http.request(request).await;
        let answer = answer.map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
        let status = answer.status();
        let _ = Limited::new(answer.into_body(), ANSWER).collect().await;
        if status.is_success() { Ok(()) } else { Err(format!("the collector answers {status}")) }
    };
    timeout(CALL, call).await.unwrap_or_else(|_| Err(format!("no answer within {CALL:?}")))
}

/// Shows no headers, which may be secret.
impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exporter").field(&self.settings.endpoint).finish()
    }
}
