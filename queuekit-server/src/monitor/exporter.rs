//! The metrics that this process has recorded, as text for Prometheus.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use queuekit::metrics::{MetricKind, describe, describe_all};

use super::catalog;

/// A process has one recorder, which its server and its worker share.
static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// How often observations are put into their buckets; until then they take memory one by one.
const TIDY_EVERY: Duration = Duration::from_secs(2);

/// Starts to record, unless that was done before. Call it before a worker starts: what was recorded
/// before is lost.
pub(crate) fn install() {
    RECORDER.get_or_init(|| match start() {
        Ok(handle) => Some(handle),
        Err(error) => {
            tracing::warn!(%error, "metrics are not recorded");
            None
        }
    });
}

/// Everything recorded so far; nothing before [`install`].
pub(crate) fn render() -> String {
    RECORDER.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

fn start() -> Result<PrometheusHandle, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in catalog::recorded() {
        if let MetricKind::Histogram(buckets) = metric.kind {
            let name = Matcher::Full(metric.name.to_owned());
            builder = builder.set_buckets_for_metric(name, buckets)?;
        }
    }
    let handle = builder.install_recorder()?;
    describe();
    describe_all(catalog::SERVER);
    let tidied = handle.clone();
    let tidy = move || {
        loop {
            std::thread::sleep(TIDY_EVERY);
            tidied.run_upkeep();
        }
    };
    // Without it, scrapes put them into their buckets.
    let _ = std::thread::Builder::new().name("queuekit-metrics".to_owned()).spawn(tidy);
    Ok(handle)
}
