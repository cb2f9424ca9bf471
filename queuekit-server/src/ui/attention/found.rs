//! What needs attention, in words: a sentence for each sort of trouble.

use std::time::Duration;

use queuekit::queues::Queue;
use queuekit::store::capability::{Cause, Finding, Severity};
use queuekit::{State, Status, Timestamp};

use crate::ui::view::{Count, Ms};
use crate::wire::ErrorGroupBody;

/// A ready job that has waited for longer is late.
const LATE: Duration = Duration::from_secs(60);
/// An error group that began within this time is new.
const NEW: Duration = Duration::from_secs(3600);
/// A worker is late if its last beat is older: it sends one every 10 s.
const SILENT: Duration = Duration::from_secs(25);
/// A queue is nearly full with this share of what it may hold, in percent.
const FULL: u64 = 90;
/// A consumer lags if this number of deliveries wait.
pub(crate) const LAG: u64 = 100;
/// Below this, a queue is ill.
const ILL: u8 = 50;

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
    fn new(urgency: Urgency, sentence: String, place: Place) -> Self {
        Self { urgency, sentence, detail: String::new(), place, since: None, remedy: None }
    }

    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    fn since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }

    fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }
}

/// What is wrong with a queue, if anything, or with the consumer whose deliveries it holds.
pub(super) fn of_queue(queue: &Queue, consumer: Option<&str>) -> Vec<Found> {
    let name = &queue.name;
    let mut found = Vec::new();
    if queue.corrupt > 0 {
        let sentence =
            format!("{name} has {} that cannot be read", Count::exact(queue.corrupt).jobs());
        let place = Place::Doctor;
        found.push(Found::new(Urgency::Error, sentence, place).detail("Doctor says more."));
    }
    found.extend(of_backlog(queue, consumer));
    let expired = Count::from(queue.counts.get(Status::Expired));
    if !expired.is_zero() {
        let (whose, detail) = match expired.value {
            1 => ("its", "Its lease has expired: the next reserve takes it back."),
            _ => ("their", "Their leases have expired: the next reserve takes them back."),
        };
        let sentence = format!("{} of {name} lost {whose} worker", expired.jobs());
        let filter = format!("queue:{name} status:expired");
        found.push(Found::new(Urgency::Warning, sentence, Place::Jobs(filter)).detail(detail));
    }
    let pending = queue.depth();
    if let Some(most) = queue.settings.max_pending.filter(|most| pending * 100 >= most * FULL) {
        let (pending, most) = (Count::exact(pending), Count::exact(most));
        let sentence = format!("{name} holds {pending} of at most {most} pending jobs");
        let detail = "At the limit, an enqueue is refused.";
        let page = Place::Queue(name.to_string());
        found.push(Found::new(Urgency::Warning, sentence, page).detail(detail));
    }
    found
}

/// Why the jobs of a queue wait: the cause, and not also its consequences.
fn of_backlog(queue: &Queue, consumer: Option<&str>) -> Option<Found> {
    let name = &queue.name;
    let page = || Place::Queue(name.to_string());
    let ready = Count::from(queue.counts.get(Status::Ready));
    let age = queue.oldest_ready_age.unwrap_or_default();
    let waited = Ms::from(age);
    if queue.settings.paused {
        if ready.is_zero() {
            return None;
        }
        let sentence = format!("{name} is paused, with {} ready", ready.jobs());
        let mut detail = format!("The oldest has waited {waited}.");
        if let Some(left) = queue.pause_left() {
            detail += &format!(" The pause ends in {}.", Ms::from(left));
        }
        if let Some(reason) = &queue.settings.pause_reason {
            detail += &format!(" Reason: {reason}");
        }
        let resume = Remedy::ResumeQueue(name.to_string());
        Some(Found::new(Urgency::Info, sentence, page()).detail(detail).remedy(resume))
    } else if queue.workers == 0 && !ready.is_zero() {
        let sentence = format!("{name} has {} ready and no worker", ready.jobs());
        let detail = format!("The oldest has waited {waited}. Start a worker that serves it.");
        Some(Found::new(Urgency::Error, sentence, page()).detail(detail))
    } else if let Some(consumer) = consumer.filter(|_| lags(queue)) {
        let waiting = Count::from(queue.counts.of_state(State::Pending));
        let wait = if waiting.value == 1 { "delivery waits" } else { "deliveries wait" };
        let sentence = format!("Consumer {consumer} lags: {waiting} {wait}");
        let detail = format!("The oldest has waited {waited}; {} workers.", queue.workers);
        let place = Place::Consumer(consumer.to_owned());
        Some(Found::new(Urgency::Warning, sentence, place).detail(detail))
    } else if age >= LATE {
        let sentence = format!("The oldest ready job of {name} has waited {waited}");
        let detail = format!("{} ready, {} workers.", ready.jobs(), queue.workers);
        Some(Found::new(Urgency::Warning, sentence, page()).detail(detail))
    } else if queue.health.score < ILL {
        let sentence = format!("The health of {name} is {} of 100", queue.health.score);
        let detail = reasons(queue).join("; ");
        Some(Found::new(Urgency::Warning, sentence, page()).detail(detail))
    } else {
        None
    }
}

/// Whether the consumer with these deliveries lags.
fn lags(queue: &Queue) -> bool {
    let waiting = queue.counts.of_state(State::Pending).value;
    waiting >= LAG || queue.oldest_ready_age.is_some_and(|age| age >= LATE)
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

/// The causes of lost points of health, without the points: `2 of the last 20 ended jobs died`.
pub(crate) fn reasons(queue: &Queue) -> Vec<String> {
    let without = |reason: &String| match reason.split_once(": ") {
        Some((_, why)) => why.to_owned(),
        None => reason.clone(),
    };
    queue.health.reasons.iter().map(without).collect()
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
    use queuekit::memory::MemoryStore;
    use queuekit::{Client, JobDraft, QueueName, queues};

    use super::*;

    /// A queue with this number of jobs, the oldest of which has waited for so long.
    async fn queue(jobs: u64, age: Duration, workers: u64) -> Queue {
        let client = Client::new(MemoryStore::new());
        let jobs = (0..jobs).map(|_| JobDraft::new("t", "1").queue("mails"));
        client.enqueue_all(jobs).await.unwrap().ids().unwrap();
        let mut queue = client.queues().list(None, 1).await.unwrap().queues.remove(0);
        (queue.oldest_ready_age, queue.workers) = (Some(age), workers);
        queue
    }

    fn sentences(found: &[Found]) -> Vec<&str> {
        found.iter().map(|found| found.sentence.as_str()).collect()
    }

    #[tokio::test]
    async fn a_consumer_lags_if_many_deliveries_wait_or_one_waits_for_long() {
        let before = LATE - Duration::from_millis(1);
        for (jobs, age, sentence) in [
            (LAG - 1, before, None),
            (LAG, before, Some("Consumer mailer lags: 100 deliveries wait")),
            (1, LATE, Some("Consumer mailer lags: 1 delivery waits")),
        ] {
            let found = of_queue(&queue(jobs, age, 1).await, Some("mailer"));
            assert_eq!(sentences(&found), Vec::from_iter(sentence), "{jobs}, {age:?}");
            let places: Vec<_> = found.iter().map(|found| &found.place).collect();
            let page = Place::Consumer("mailer".to_owned());
            assert_eq!(places, Vec::from_iter(sentence.map(|_| &page)));
        }
        let plain = of_queue(&queue(LAG, LATE, 1).await, None);
        assert_eq!(sentences(&plain), ["The oldest ready job of mails has waited 1m"]);
        let idle = of_queue(&queue(LAG, LATE, 0).await, Some("mailer"));
        assert_eq!(sentences(&idle), ["mails has 100 jobs ready and no worker"]);
    }

    /// Guard: each has a bound, and below it nothing is wrong.
    #[test]
    fn a_queue_in_trouble_has_a_sentence_for_it() {
        fn told(change: impl FnOnce(&mut Queue)) -> Vec<String> {
            let name = QueueName::try_from("mails".to_owned()).unwrap();
            let mut queue = Queue::empty(name, Default::default(), Timestamp::default());
            (queue.workers, queue.health.score) = (1, 100);
            change(&mut queue);
            of_queue(&queue, None).into_iter().map(|found| found.sentence).collect()
        }
        let jobs = |status, jobs| {
            move |queue: &mut Queue| queue.counts.set(status, queues::Count::exact(jobs))
        };
        let full = |pending| {
            move |queue: &mut Queue| {
                queue.settings.max_pending = Some(10);
                jobs(Status::Scheduled, pending)(queue);
            }
        };
        let paused = |ready| {
            move |queue: &mut Queue| {
                queue.settings.paused = true;
                jobs(Status::Ready, ready)(queue);
            }
        };
        assert!(told(jobs(Status::Ready, 1)).is_empty());
        assert_eq!(told(|queue| queue.corrupt = 1), ["mails has 1 job that cannot be read"]);
        assert_eq!(told(jobs(Status::Expired, 1)), ["1 job of mails lost its worker"]);
        assert!(told(full(8)).is_empty());
        assert_eq!(told(full(9)), ["mails holds 9 of at most 10 pending jobs"]);
        assert!(told(|queue| queue.health.score = ILL).is_empty());
        assert_eq!(
            told(|queue| queue.health.score = ILL - 1),
            ["The health of mails is 49 of 100"]
        );
        assert!(told(paused(0)).is_empty());
        assert_eq!(told(paused(1)), ["mails is paused, with 1 job ready"]);
    }

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

    #[tokio::test]
    async fn a_paused_queue_can_be_resumed_while_jobs_wait() {
        let mut paused = queue(1, LATE, 0).await;
        paused.settings.paused = true;
        let found = of_queue(&paused, None);
        let resume = Remedy::ResumeQueue("mails".to_owned());
        assert_eq!(found[0].remedy, Some(resume), "{found:?}");
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
