//! Spans of `tracing` become spans of OpenTelemetry, which a thread of its own exports in batches.

mod encode;
mod exporter;
mod settings;

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use queuekit::TraceContext;
use tokio::runtime::Handle;
use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, Registry};

use crate::config::Environment;
use exporter::Exporter;
use settings::Settings;

/// How long the end of the process may be delayed by spans that are not sent yet.
const FINISH: Duration = Duration::from_secs(2);

/// A process has one; it is set when spans become spans of OpenTelemetry.
static ON: OnceLock<()> = OnceLock::new();

/// The spans of this process on their way to a collector.
#[derive(Default)]
pub(crate) struct Traces(Option<Sent>);

struct Sent {
    provider: SdkTracerProvider,
    endpoint: String,
}

impl Traces {
    /// Starts to export, if a collector is named, in tasks of this runtime.
    ///
    /// # Errors
    /// A usage error if a setting is wrong.
    pub(crate) fn start(
        flag: Option<&str>,
        environment: &Environment,
        runtime: &Handle,
    ) -> Result<Self> {
        let Some(settings) = Settings::resolve(flag, environment)? else { return Ok(Self(None)) };
        let resource = Resource::builder()
            .with_service_name(settings.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let endpoint = settings.endpoint.to_string();
        let exporter = Exporter::new(settings, runtime.clone())?;
        let provider = SdkTracerProvider::builder();
        let provider = provider.with_resource(resource).with_batch_exporter(exporter).build();
        Ok(Self(Some(Sent { provider, endpoint })))
    }

    /// Makes spans of OpenTelemetry of our own spans.
    pub(crate) fn layer(&mut self) -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
        let sent = self.0.as_ref()?;
        let _ = ON.set(());
        Some(layer(&sent.provider))
    }

    pub(crate) fn announce(&self) {
        if let Some(Sent { endpoint, .. }) = &self.0 {
            tracing::info!(endpoint, "sending traces");
        }
    }

    /// Sends what is left, for a bounded time. Call it while the runtime can still run tasks.
    pub(crate) fn finish(self) {
        let Some(Sent { provider, .. }) = self.0 else { return };
        if let Err(error) = provider.shutdown_with_timeout(FINISH) {
            tracing::debug!(%error, "the last spans were not sent");
        }
    }
}

/// Events are left out: what a handler or a library logs may repeat payloads and errors.
fn layer(provider: &SdkTracerProvider) -> Box<dyn Layer<Registry> + Send + Sync> {
    let is_ours =
        |metadata: &Metadata<'_>| metadata.is_span() && metadata.target().starts_with("queuekit");
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("queuekit"))
        .with_location(false)
        .with_tracked_inactivity(false)
        .with_threads(false)
        .with_level(false)
        .with_target(false)
        .with_filter(filter_fn(is_ours).with_max_level_hint(LevelFilter::INFO))
        .boxed()
}

pub(super) fn is_on() -> bool {
    ON.get().is_some()
}

/// How others name this span.
pub(super) fn context(span: &Span) -> Option<TraceContext> {
    let context = span.context();
    let span = context.span();
    let span = span.span_context();
    let parent = format!(
        "00-{}-{}-{:02x}",
        span.trace_id(),
        span.span_id(),
        span.trace_flags().to_u8() & TraceFlags::SAMPLED.to_u8()
    );
    let state = span.trace_state().header();
    // None if the span is disabled: its ids are zero.
    TraceContext::parse(&parent, Some(&state))
}

/// A span that has begun keeps its parent.
pub(super) fn set_parent(span: &Span, parent: &TraceContext) {
    let Some(parent) = span_context(parent) else { return };
    let context = Context::new().with_remote_span_context(parent);
    if let Err(error) = span.set_parent(context) {
        tracing::debug!(%error, "a span has no parent");
    }
}

pub(super) fn add_link(span: &Span, other: &TraceContext) {
    if let Some(other) = span_context(other) {
        span.add_link(other);
    }
}

fn span_context(context: &TraceContext) -> Option<SpanContext> {
    let mut parts = context.traceparent().split('-').skip(1);
    let trace = TraceId::from_hex(parts.next()?).ok()?;
    let span = SpanId::from_hex(parts.next()?).ok()?;
    let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
    let flags = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    let state = context.tracestate().and_then(|state| state.parse::<TraceState>().ok());
    Some(SpanContext::new(trace, span, flags, true, state.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use opentelemetry_sdk::error::OTelSdkResult;
    use opentelemetry_sdk::trace::{SpanData, SpanExporter};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Keeps spans that have ended.
    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for Kept {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    fn exported(act: impl FnOnce()) -> Vec<SpanData> {
        let kept = Kept::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
        let subscriber = tracing_subscriber::registry().with(layer(&provider));
        tracing::subscriber::with_default(subscriber, act);
        std::mem::take(&mut kept.0.lock().unwrap())
    }

    #[test]
    fn what_is_logged_in_a_span_is_not_in_it() {
        let spans = exported(|| {
            let _entered = tracing::info_span!("job", otel.name = "process a").entered();
            tracing::error!(error = "hunter2", "a run failed");
            let _other = tracing::info_span!(target: "hyper", "other").entered();
        });
        assert_eq!(spans.len(), 1, "spans of libraries are not ours: {spans:?}");
        assert_eq!(spans[0].name, "process a");
        assert!(!format!("{:?}", spans[0]).contains("hunter2"));
        assert_eq!(spans[0].attributes, [], "nor is the place in the code");
    }

    /// Guard: the reason for `Hooks::on_span`.
    #[test]
    fn a_span_gets_its_parent_before_it_is_entered_or_never() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = TraceContext::parse(text, None).unwrap();
        let spans = exported(|| {
            let early = tracing::info_span!("early");
            set_parent(&early, &parent);
            add_link(&early, &parent);
            drop(early.entered());
            let late = tracing::info_span!("late").entered();
            set_parent(&late, &parent);
        });
        assert_eq!(spans[0].parent_span_id.to_string(), "b7ad6b7169203331");
        assert_eq!(spans[0].span_context.trace_id().to_string(), text[3..35]);
        assert_eq!(spans[0].links.len(), 1);
        assert_eq!(spans[1].parent_span_id, SpanId::INVALID);
    }

    #[test]
    fn a_context_is_that_of_its_text() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = TraceContext::parse(text, Some("a=b,c=d")).unwrap();
        let span = span_context(&context).unwrap();
        assert_eq!(span.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.span_id().to_string(), "b7ad6b7169203331");
        assert!(span.is_sampled() && span.is_remote() && span.is_valid());
        assert_eq!(span.trace_state().header(), "a=b,c=d");
        // A state that cannot be read costs the state, not the span.
        let context = TraceContext::parse(&text.replace("-01", "-00"), Some("x")).unwrap();
        let span = span_context(&context).unwrap();
        assert!(!span.is_sampled() && span.is_valid());
        assert_eq!(span.trace_state().header(), "");
    }
}
