//! A figure of the benchmark.

use std::time::Duration;

use serde::Serialize;

/// One measurement.
#[derive(Serialize)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) jobs: usize,
    /// Rate at which the jobs were done. Pickups have none: they happen one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p50_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) p99_ms: Option<f64>,
}

impl Figure {
    pub(super) fn rate(name: &'static str, jobs: usize, took: Duration) -> Self {
        let per_second = Some((jobs as f64 / took.as_secs_f64()).round());
        Self { name, jobs, per_second, p50_ms: None, p99_ms: None }
    }

    pub(super) fn with_latencies(mut self, mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        let at = |percent: usize| {
            let index = (latencies.len().saturating_sub(1)) * percent / 100;
            latencies.get(index).map(|latency| (latency.as_secs_f64() * 1e5).round() / 100.)
        };
        (self.p50_ms, self.p99_ms) = (at(50), at(99));
        self
    }
}
