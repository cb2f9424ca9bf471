//! What needs attention, in words: a sentence for each sort of trouble.

use std::time::Duration;

use queuekit::Timestamp;
use queuekit::store::capability::{Cause, Finding, Severity};

use crate::ui::view::{Count, Ms};
use crate::wire::ErrorGroupBody;

/// A ready job that has waited for longer is late.
pub(super) const LATE: Duration = Duration::from_secs(60);
/// An error group that began within this time is new.
const NEW: Duration = Duration::from_secs(3600);
/// A worker is late if its last beat is older: it sends one every 10 s.
const SILENT: Duration = Duration::from_secs(25);

/// Something that needs attention: a sentence, with where to look.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) urgency: Urgency,
    pub(crate) sentence: String,
    pub(crate) detail: String,
    pub(crate) place: Place,
    pub(crate) since: Option<Timestamp>,
    /// What can be done about it.
    pub(crate) remedy: Option<Remedy>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    Error,
    Warning,
    Info,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Jobs that match this filter.
    Jobs(String),
    Queue(String),
    ErrorGroup {
        id: String,
        queue: String,
    },
    Schedule(String),
    Consumer(String),
    Workers,
    Doctor,
}

/// What an operator can do about it at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    ResumeQueue(String),
    /// The dead jobs of an error group; they are counted first.
    RetryDead {
        group: String,
        queue: String,
        kind: String,
    },
    RunSchedule(String),
    EnableConsumer(String),
}

impl Found {
    pub(super) fn new(urgency: Urgency, sentence: String, place: Place) -> Self {
        Self { urgency, sentence, detail: String::new(), place, since: None, remedy: None }
    }

    pub(super) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    fn since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }

    pub(super) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }
}

/// What the store finds wrong with how it runs now, such as a transaction that stays open. How it
/// is set up is said by `doctor` alone: that does not change from hour to hour.
pub(super) fn of_finding(finding: &Finding) -> Option<Found> {
    let urgency = match (finding.cause, finding.severity) {
        (Cause::Setup, _) | (_, Severity::Note) => return None,
        (Cause::Operation, Severity::Warning) => Urgency::Warning,
        (Cause::Operation, Severity::Error) => Urgency::Error,
    };
    let sentence = capitalized(&finding.message);
    Some(Found::new(urgency, sentence, Place::Doctor).detail(&finding.remedy))
}

fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

/// A worker that has not sent a beat for long.
pub(super) fn of_worker(name: &str, id: &str, age: Duration, quiet_for: Duration) -> Option<Found> {
    let name = if name.is_empty() { id } else { name };
    let sentence = format!("Worker {name} was last heard of {} ago", Ms::from(age));
    let detail = "It hangs, has died, or does not reach the store. Others take its jobs over.";
    let found = Found::new(Urgency::Warning, sentence, Place::Workers).detail(detail);
    is_silent(age, quiet_for).then_some(found)
}

/// Whether a beat is missing.
pub(crate) fn is_silent(age: Duration, quiet_for: Duration) -> bool {
    age > SILENT + quiet_for
}

/// Whether a group of errors that began then is new.
pub(crate) fn is_new(first: Timestamp, store_now: Timestamp) -> bool {
    store_now.since(first) <= NEW
}

/// A new group of errors.
pub(super) fn of_group(group: &ErrorGroupBody) -> Found {
    let ErrorGroupBody { id, queue, kind, signature, failures, deaths, first, note, .. } = group;
    let (failures, dead) = (Count::exact(*failures), Count::exact(*deaths));
    let urgency = if *deaths > 0 { Urgency::Error } else { Urgency::Warning };
    let place = Place::ErrorGroup { id: id.clone(), queue: queue.clone() };
    let note = note.as_ref().map(|note| format!("; note of {}: {}", note.by, note.text));
    let note = note.unwrap_or_default();
    let found = Found::new(urgency, format!("New error in {queue}: {signature}"), place)
        .detail(format!("{kind}: {}, {dead} dead{note}", failures.of("failure")))
        .since(first.0);
    let [group, queue, kind] = [id, queue, kind].map(String::clone);
    match deaths {
        0 => found,
        _ => found.remedy(Remedy::RetryDead { group, queue, kind }),
    }
}

/// A consumer that is disabled.
pub(super) fn of_disabled(consumer: &str) -> Found {
    let sentence = format!("Consumer {consumer} is disabled");
    let detail = "Events make no deliveries for it; a replay can deliver them later.";
    Found::new(Urgency::Info, sentence, Place::Consumer(consumer.to_owned()))
        .detail(detail)
        .remedy(Remedy::EnableConsumer(consumer.to_owned()))
}

/// A schedule whose job was due then.
pub(super) fn of_schedule(name: &str, due: Timestamp, as_of: Timestamp) -> Option<Found> {
    let sentence = format!("Schedule {name} is late");
    let detail = "No server or worker with a caretaker has enqueued its job.";
    let found = Found::new(Urgency::Error, sentence, Place::Schedule(name.to_owned()))
        .remedy(Remedy::RunSchedule(name.to_owned()));
    (as_of.since(due) > LATE).then(|| found.detail(detail).since(due))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a worker that is quiet sends fewer beats.
    #[test]
    fn a_worker_is_silent_once_a_beat_is_missing() {
        let told = |age_ms, quiet_for| {
            let age = SILENT + Duration::from_millis(age_ms);
            of_worker("", "w1", age, quiet_for).map(|found| found.sentence)
        };
        assert_eq!(told(0, Duration::ZERO), None);
        let silent = Some("Worker w1 was last heard of 25s ago".to_owned());
        assert_eq!(told(1, Duration::ZERO), silent);
        assert_eq!(told(5000, Duration::from_secs(5)), None);
    }

    #[test]
    fn a_late_schedule_can_be_run_now() {
        let due = Timestamp::from_millis(0);
        let at = |age: Duration| Timestamp::from_millis(i64::try_from(age.as_millis()).unwrap());
        assert!(of_schedule("nightly", due, at(LATE)).is_none());
        let late = of_schedule("nightly", due, at(LATE + Duration::from_millis(1))).unwrap();
        assert_eq!(late.remedy, Some(Remedy::RunSchedule("nightly".to_owned())));
    }

    /// Guard: how a store is set up would need attention for ever.
    #[test]
    fn a_finding_needs_attention_if_it_comes_and_goes() {
        let finding = |cause, severity| Finding {
            severity,
            cause,
            message: "a transaction is open for 400 s".to_owned(),
            remedy: "end it".to_owned(),
        };
        for severity in [Severity::Note, Severity::Warning, Severity::Error] {
            assert!(of_finding(&finding(Cause::Setup, severity)).is_none(), "{severity:?}");
        }
        let urgency =
            |severity| of_finding(&finding(Cause::Operation, severity)).map(|found| found.urgency);
        assert_eq!(urgency(Severity::Note), None);
        assert_eq!(urgency(Severity::Warning), Some(Urgency::Warning));
        assert_eq!(urgency(Severity::Error), Some(Urgency::Error));
        let found = of_finding(&finding(Cause::Operation, Severity::Warning)).unwrap();
        assert_eq!((found.place, found.detail.as_str()), (Place::Doctor, "end it"));
    }
}
