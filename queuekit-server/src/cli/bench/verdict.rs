//! What the figures and the settings of a store say together.

use anyhow::Result;
use queuekit::Client;
use queuekit::capability::{Durability, Severity};

use super::Figure;
use crate::cli::shown::survived;

/// A commit that takes longer is one over a network, or of a slow disk.
const SLOW_COMMIT_MS: f64 = 10.0;
/// Faster than a disk can be told: it was not.
const TOO_FAST_MS: f64 = 0.1;
/// An idle worker that hears of jobs is faster; one that polls is not.
const SLOW_PICKUP_MS: f64 = 100.0;

/// Sentences, the most important first.
pub(super) async fn verdict(client: &Client, figures: &[Figure]) -> Result<Vec<String>> {
    let mut verdict = Vec::new();
    let find = |name: &str| figures.iter().find(|figure| figure.name == name);
    let commit_ms = find("enqueue, one caller").and_then(|figure| figure.p50_ms);
    if let Some(inspect) = client.backend().capabilities().inspect {
        let durability = inspect.durability().await?;
        verdict.push(format!("an Ok survives {}", survived(durability)));
        if durability == Durability::PowerLoss && commit_ms.is_some_and(|ms| ms < TOO_FAST_MS) {
            verdict.push(
                "an Ok came faster than most disks can be written to: if this machine has no \
                 write cache with a battery, its disk may not do what it promises"
                    .to_owned(),
            );
        }
        let findings = inspect.findings().await?.into_iter();
        let grave = findings.filter(|finding| finding.severity != Severity::Note);
        verdict.extend(grave.map(|finding| format!("{}: {}", finding.message, finding.remedy)));
    }
    if let Some(ms) = commit_ms.filter(|ms| *ms > SLOW_COMMIT_MS) {
        verdict.push(format!(
            "one enqueue takes {ms} ms: the store is far away, or its disk is slow. Callers at the \
             same time share a commit, and a batch has one: see the other lines"
        ));
    }
    let pickup_ms = find("pickup by an idle worker").and_then(|figure| figure.p50_ms);
    if let Some(ms) = pickup_ms.filter(|ms| *ms > SLOW_PICKUP_MS) {
        verdict.push(format!(
            "an idle worker takes {ms} ms to hear of a job: it polls. See whether the store can \
             wake it (LISTEN is not passed on by pgbouncer in transaction mode)"
        ));
    }
    Ok(verdict)
}
