//! All that needs attention, from what a viewer sees of the store.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use queuekit::Timestamp;
use queuekit::queues::Queue;
use queuekit::store::capability::Finding;

use super::found::{Found, is_new, of_disabled, of_finding, of_group, of_schedule, of_worker};
use super::growth::Growth;
use super::queue::of_queue;
use crate::wire::ErrorGroupBody;

/// What a viewer sees of the store, as far as it was read.
#[derive(Default)]
pub(crate) struct Seen<'a> {
    pub(crate) queues: Vec<SeenQueue<'a>>,
    pub(crate) consumers: Vec<Consumer<'a>>,
    pub(crate) workers: Vec<Worker<'a>>,
    pub(crate) groups: Vec<Cow<'a, ErrorGroupBody>>,
    pub(crate) due: Vec<Due<'a>>,
    pub(crate) findings: &'a [Finding],
    /// The time of the store's clock: error groups begin by it.
    pub(crate) store_now: Timestamp,
}

/// A queue, and how its backlog grows, if that is known.
pub(crate) struct SeenQueue<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) growth: Option<Growth>,
}

/// A consumer of events.
pub(crate) struct Consumer<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) is_enabled: bool,
}

/// A worker, and when it was last heard of.
pub(crate) struct Worker<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) age: Duration,
    pub(crate) quiet_for: Duration,
}

/// A schedule whose time had come when it was read.
pub(crate) struct Due<'a> {
    pub(crate) name: &'a str,
    pub(crate) at: Timestamp,
    pub(crate) as_of: Timestamp,
}

impl Seen<'_> {
    /// All that needs attention, the most urgent first, and of equal ones always in the same order.
    pub(crate) fn concerns(&self) -> Vec<Found> {
        let consumers: HashSet<&str> = self.consumers.iter().map(|one| &*one.name).collect();
        let of_queue = |SeenQueue { queue, growth }: &SeenQueue<'_>| {
            // The queue of its deliveries.
            let consumer = queue.name.as_str().strip_prefix("event.");
            of_queue(queue, consumer.filter(|name| consumers.contains(name)), *growth)
        };
        let mut found: Vec<Found> = self.queues.iter().flat_map(of_queue).collect();
        found.extend(self.workers.iter().filter_map(|worker| {
            of_worker(&worker.name, &worker.id, worker.age, worker.quiet_for)
        }));
        let new = self.groups.iter().filter(|group| is_new(group.first.0, self.store_now));
        found.extend(new.map(|group| of_group(group)));
        let late = self.due.iter().filter_map(|due| of_schedule(due.name, due.at, due.as_of));
        found.extend(late);
        let disabled = self.consumers.iter().filter(|consumer| !consumer.is_enabled);
        found.extend(disabled.map(|consumer| of_disabled(&consumer.name)));
        found.extend(self.findings.iter().filter_map(of_finding));
        found.sort_by_key(|found| found.urgency);
        found
    }
}

#[cfg(test)]
mod tests {
    use queuekit::queues::Count;
    use queuekit::store::capability::{Cause, Severity};
    use queuekit::{QueueName, Status};
    use serde_json::json;

    use super::*;
    use crate::ui::attention::{LAG, Urgency};

    fn sentences(seen: &Seen<'_>) -> Vec<String> {
        seen.concerns().into_iter().map(|found| found.sentence).collect()
    }

    fn deliveries(consumer: &str) -> Queue {
        let name = QueueName::try_from(format!("event.{consumer}")).unwrap();
        let mut queue = Queue::empty(name, Default::default(), Timestamp::default());
        queue.counts.set(Status::Ready, Count::exact(LAG));
        queue.workers = 1;
        queue
    }

    fn consumer(name: &str, is_enabled: bool) -> Consumer<'_> {
        Consumer { name: name.into(), is_enabled }
    }

    /// Guard: deliveries of a consumer that was deleted are those of a queue.
    #[test]
    fn a_consumer_lags_by_the_queue_of_its_deliveries() {
        let queues = [deliveries("mailer"), deliveries("gone")];
        let consumers = vec![consumer("mailer", true), consumer("idle", true)];
        let seen = |queue| SeenQueue { queue, growth: None };
        let seen = Seen { queues: queues.iter().map(seen).collect(), consumers, ..Seen::default() };
        assert_eq!(sentences(&seen), ["Consumer mailer lags: 100 deliveries wait"]);
    }

    /// Guard: a group that only fails is retried without help, and one that is old is known.
    #[test]
    fn a_group_of_errors_is_told_for_an_hour_and_its_dead_jobs_can_be_retried() {
        let hour_ms = 3_600_000;
        let group = |deaths: u64| -> ErrorGroupBody {
            let began = "1970-01-01T00:00:00Z";
            let group = json!({
                "id": "0123456789abcdef", "queue": "mails", "kind": "mail", "signature": "HTTP <n>",
                "failures": 3, "deaths": deaths, "first": began, "last": began,
                "sample": "01a2024a-5d52-7a42-9ab4-907047ec37a8",
                "recent": {"hours": vec![0; 24], "days": vec![0; 7]},
            });
            serde_json::from_value(group).unwrap()
        };
        let told = |deaths, now_ms| {
            let store_now = Timestamp::from_millis(now_ms);
            let seen =
                Seen { groups: vec![Cow::Owned(group(deaths))], store_now, ..Seen::default() };
            let found = seen.concerns();
            found.into_iter().map(|it| (it.urgency, it.remedy.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(told(0, hour_ms), [(Urgency::Warning, false)]);
        assert_eq!(told(1, hour_ms), [(Urgency::Error, true)]);
        assert!(told(1, hour_ms + 1).is_empty());
    }

    #[test]
    fn each_part_is_warned_of_the_most_urgent_first() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let finding = Finding {
            severity: Severity::Warning,
            cause: Cause::Operation,
            message: "a transaction is open for 400 s".to_owned(),
            remedy: String::new(),
        };
        let (age, quiet_for) = (Duration::from_secs(60), Duration::ZERO);
        let seen = Seen {
            consumers: vec![consumer("billing", false)],
            workers: vec![Worker { id: "w1".into(), name: "".into(), age, quiet_for }],
            due: vec![Due { name: "nightly", at: at(0), as_of: at(61) }],
            findings: &[finding],
            ..Seen::default()
        };
        let told = [
            "Schedule nightly is late",
            "Worker w1 was last heard of 1m ago",
            "A transaction is open for 400 s",
            "Consumer billing is disabled",
        ];
        assert_eq!(sentences(&seen), told);
        let urgencies: Vec<_> = seen.concerns().iter().map(|found| found.urgency).collect();
        assert_eq!(urgencies[0], Urgency::Error);
    }
}
