//! Without the feature `otlp`: no traces.

use anyhow::Result;
use queuekit::TraceContext;
use tokio::runtime::Handle;
use tracing::Span;
use tracing_subscriber::{Layer, Registry};

use crate::config::Environment;
use crate::error::Usage;

/// The variable that names a collector.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const REMEDY: &str = "build it with the feature `otlp` (docs/observability.md, Traces)";

/// No traces.
#[derive(Default)]
pub(crate) struct Traces {
    /// The environment names a collector.
    is_wanted: bool,
}

impl Traces {
    /// # Errors
    /// A usage error if a flag names a collector. The environment may be meant for other programs.
    pub(crate) fn start(flag: Option<&str>, environment: &Environment, _: &Handle) -> Result<Self> {
        if flag.is_some() {
            let told = format!("--otlp-endpoint: this program cannot send traces: {REMEDY}");
            return Err(Usage::error(told));
        }
        Ok(Self { is_wanted: environment.get(ENDPOINT).is_some() })
    }

    pub(crate) fn layer(&mut self) -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
        None
    }

    pub(crate) fn announce(&self) {
        if self.is_wanted {
            tracing::warn!("{ENDPOINT} is set, but this program cannot send traces: {REMEDY}");
        }
    }

    pub(crate) fn finish(self) {}
}

pub(super) fn is_on() -> bool {
    false
}

pub(super) fn context(_: &Span) -> Option<TraceContext> {
    None
}

pub(super) fn set_parent(_: &Span, _: &TraceContext) {}

pub(super) fn add_link(_: &Span, _: &TraceContext) {}
