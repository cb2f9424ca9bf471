//! Findings about kinds whose payloads workers cannot read.

use std::collections::BTreeMap;

use super::inspect::{Cause, Finding, Severity};
use super::presence::WorkerInfo;
use super::undecodable::UndecodableKind;
use crate::names::Kind;
use crate::rfc3339::written;

/// A finding for each kind whose payloads some of these workers cannot read.
pub fn undecodable_kinds(workers: &[WorkerInfo]) -> Vec<Finding> {
    let mut kinds: BTreeMap<&Kind, Vec<&UndecodableKind>> = BTreeMap::new();
    for said in workers.iter().flat_map(|worker| worker.beat.about.undecodable()) {
        kinds.entry(&said.kind).or_default().push(said);
    }
    kinds.into_iter().map(|(kind, said)| finding(kind, &said, workers)).collect()
}

fn finding(kind: &Kind, said: &[&UndecodableKind], workers: &[WorkerInfo]) -> Finding {
    let handles = |worker: &&WorkerInfo| worker.beat.kinds.any(|has| has == kind);
    let all = workers.iter().filter(handles).count().max(said.len());
    let times: u64 = said.iter().map(|said| u64::from(said.times)).sum();
    let first = written(said.iter().map(|said| said.first).min().unwrap_or_default());
    let error = said.iter().max_by_key(|said| said.last).map_or("", |said| &said.error);
    let ran = if times == 1 { "a job".to_owned() } else { format!("jobs {times} times") };
    let message = format!(
        "{} of {all} workers with a handler for {kind} could not read its payload, and parked \
         {ran} since {first}: {error}",
        said.len(),
    );
    let remedy = format!(
        "deploy workers whose payload type fits the stored jobs (`queuekit job list \
         status:scheduled kind:{kind}` shows them), then run these now: `queuekit job reschedule \
         status:scheduled kind:{kind} --in 0s`"
    );
    Finding { severity: Severity::Warning, cause: Cause::Operation, message, remedy }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::backend::LeaseTtl;
    use crate::capability::{About, Beat, Served};
    use crate::clock::Timestamp;
    use crate::names::WorkerId;

    fn kind(name: &str) -> Kind {
        Kind::new(name).unwrap()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn worker(id: &str, kinds: &[&str], undecodable: Vec<UndecodableKind>) -> WorkerInfo {
        let kinds = Served::first(kinds.iter().map(|name| kind(name)));
        let id = WorkerId::new(id).unwrap();
        let mut beat = Beat::new(id, Served::first([]), kinds, LeaseTtl::default());
        beat.about = About::default().with_undecodable(undecodable);
        WorkerInfo::new(beat, Duration::ZERO)
    }

    #[test]
    fn r13_8_a_kind_that_workers_park_is_a_finding() {
        let mut repeated = UndecodableKind::new(kind("mail"), "at body", at(60));
        repeated.repeat("at subject", at(90));
        let workers = [
            worker("a", &["mail"], vec![repeated]),
            worker("b", &["mail", "sms"], vec![UndecodableKind::new(kind("mail"), "old", at(0))]),
            worker("c", &["mail"], Vec::new()),
            worker("d", &["sms"], Vec::new()),
        ];
        let found = undecodable_kinds(&workers);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].message,
            "2 of 3 workers with a handler for mail could not read its payload, and parked jobs 3 \
             times since 1970-01-01T00:00:00.000Z: at subject"
        );
        assert!(found[0].remedy.contains("status:scheduled kind:mail --in 0s"), "{found:?}");
        assert!(undecodable_kinds(&workers[2..]).is_empty());
    }
}
