//! Conclusions from the figures and the settings of a store.

use anyhow::Result;
use queuekit::Client;
use queuekit::store::capability::{Durability, Severity};

use super::figure::Figure;
use crate::cli::format::survived;

/// A longer commit goes over a network, or to a slow disk.
const SLOW_COMMIT_MS: f64 = 10.0;
/// A shorter commit cannot have reached a disk.
const TOO_FAST_MS: f64 = 0.1;
/// An idle worker that is notified of jobs is faster; one that polls is slower.
const SLOW_PICKUP_MS: f64 = 100.0;

/// Sentences, the most important first.
pub(super) async fn verdict(client: &Client, figures: &[Figure]) -> Result<Vec<String>> {
    let mut verdict = Vec::new();
    let find = |name: &str| figures.iter().find(|figure| figure.name == name);
    let commit_ms = find("enqueue, one caller").and_then(|figure| figure.p50_ms);
    if let Some(inspect) = client.backend().capabilities().inspect {
        let durability = inspect.durability().await?;
        verdict.push(format!("a successful call survives {}", survived(durability)));
        if durability == Durability::PowerLoss && commit_ms.is_some_and(|ms| ms < TOO_FAST_MS) {
            verdict.push(
                "a commit was faster than most disks can write: unless this machine has a write \
                 cache with a battery, its disk may not store what it confirms"
                    .to_owned(),
            );
        }
        let findings = inspect.findings().await?.into_iter();
        let grave = findings.filter(|finding| finding.severity != Severity::Note);
        verdict.extend(grave.map(|finding| format!("{}: {}", finding.message, finding.remedy)));
    }
    if let Some(ms) = commit_ms.filter(|ms| *ms > SLOW_COMMIT_MS) {
        verdict.push(format!(
            "one enqueue takes {ms} ms: the store is far away, or its disk is slow. Concurrent \
             callers share a commit, and a batch needs only one: see the other lines"
        ));
    }
    let pickup_ms = find("pickup by an idle worker").and_then(|figure| figure.p50_ms);
    if let Some(ms) = pickup_ms.filter(|ms| *ms > SLOW_PICKUP_MS) {
        verdict.push(format!(
            "an idle worker needs {ms} ms to notice a job: it polls. Check whether the store can \
             notify it (pgbouncer in transaction mode does not support LISTEN)"
        ));
    }
    Ok(verdict)
}
