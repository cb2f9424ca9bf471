//! What is wrong with a queue.

use queuekit::queues::Queue;
use queuekit::{State, Status};

use super::found::{Found, LATE, Place, Remedy, Urgency};
use super::growth::Growth;
use crate::ui::view::{Count, Ms};

/// A queue is nearly full with this share of what it may hold, in percent.
const FULL: u64 = 90;
/// A consumer lags if this number of deliveries wait.
pub(crate) const LAG: u64 = 100;
/// Below this, a queue is ill.
const ILL: u8 = 50;

/// What is wrong with a queue, if anything, or with the consumer whose deliveries it holds.
pub(super) fn of_queue(
    queue: &Queue,
    consumer: Option<&str>,
    growth: Option<Growth>,
) -> Vec<Found> {
    let name = &queue.name;
    let mut found = Vec::new();
    if queue.corrupt > 0 {
        let sentence =
            format!("{name} has {} that cannot be read", Count::exact(queue.corrupt).jobs());
        let place = Place::Doctor;
        found.push(Found::new(Urgency::Error, sentence, place).detail("Doctor says more."));
    }
    found.extend(of_backlog(queue, consumer, growth));
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
fn of_backlog(queue: &Queue, consumer: Option<&str>, growth: Option<Growth>) -> Option<Found> {
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
        Some(late(sentence, place, detail, growth))
    } else if age >= LATE {
        let sentence = format!("The oldest ready job of {name} has waited {waited}");
        let detail = format!("{} ready, {} workers.", ready.jobs(), queue.workers);
        Some(late(sentence, page(), detail, growth))
    } else if queue.health.score < ILL {
        let sentence = format!("The health of {name} is {} of 100", queue.health.score);
        let detail = reasons(queue).join("; ");
        Some(Found::new(Urgency::Warning, sentence, page()).detail(detail))
    } else {
        None
    }
}

/// A backlog that waits for long; one that shrinks is not urgent.
fn late(sentence: String, place: Place, detail: String, growth: Option<Growth>) -> Found {
    let shrinks = growth.is_some_and(Growth::shrinks);
    let urgency = if shrinks { Urgency::Info } else { Urgency::Warning };
    let growth = growth.map(|growth| format!(" {growth}")).unwrap_or_default();
    Found::new(urgency, sentence, place).detail(detail + &growth)
}

/// Whether the consumer with these deliveries lags.
fn lags(queue: &Queue) -> bool {
    let waiting = queue.counts.of_state(State::Pending).value;
    waiting >= LAG || queue.oldest_ready_age.is_some_and(|age| age >= LATE)
}

/// The causes of lost points of health, without the points: `2 of the last 20 ended jobs died`.
pub(crate) fn reasons(queue: &Queue) -> Vec<String> {
    let without = |reason: &String| match reason.split_once(": ") {
        Some((_, why)) => why.to_owned(),
        None => reason.clone(),
    };
    queue.health.reasons.iter().map(without).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::memory::MemoryStore;
    use queuekit::{Client, JobDraft, QueueName, Timestamp, queues};

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
            let found = of_queue(&queue(jobs, age, 1).await, Some("mailer"), None);
            assert_eq!(sentences(&found), Vec::from_iter(sentence), "{jobs}, {age:?}");
            let places: Vec<_> = found.iter().map(|found| &found.place).collect();
            let page = Place::Consumer("mailer".to_owned());
            assert_eq!(places, Vec::from_iter(sentence.map(|_| &page)));
        }
        let plain = of_queue(&queue(LAG, LATE, 1).await, None, None);
        assert_eq!(sentences(&plain), ["The oldest ready job of mails has waited 1m"]);
        let idle = of_queue(&queue(LAG, LATE, 0).await, Some("mailer"), None);
        assert_eq!(sentences(&idle), ["mails has 100 jobs ready and no worker"]);
    }

    /// Guard: a backlog that is worked off needs nobody.
    #[tokio::test]
    async fn a_backlog_that_waits_for_long_is_urgent_unless_it_shrinks() {
        let waiting = queue(LAG, LATE, 1).await;
        for (enqueued, urgency) in
            [(10, Urgency::Warning), (9, Urgency::Warning), (8, Urgency::Info)]
        {
            let growth = Growth::of(queues::Totals { enqueued, dead: 9, ..Default::default() }, 5);
            for consumer in [None, Some("mailer")] {
                let found = of_queue(&waiting, consumer, Some(growth));
                let [found] = &found[..] else { panic!("{found:?}") };
                assert_eq!(found.urgency, urgency, "{enqueued}");
                assert!(found.detail.ends_with(&format!(" {growth}")), "{}", found.detail);
            }
        }
    }

    /// Guard: each has a bound, and below it nothing is wrong.
    #[test]
    fn a_queue_in_trouble_has_a_sentence_for_it() {
        fn told(change: impl FnOnce(&mut Queue)) -> Vec<String> {
            let name = QueueName::try_from("mails".to_owned()).unwrap();
            let mut queue = Queue::empty(name, Default::default(), Timestamp::default());
            (queue.workers, queue.health.score) = (1, 100);
            change(&mut queue);
            of_queue(&queue, None, None).into_iter().map(|found| found.sentence).collect()
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

    #[tokio::test]
    async fn a_paused_queue_can_be_resumed_while_jobs_wait() {
        let mut paused = queue(1, LATE, 0).await;
        paused.settings.paused = true;
        let found = of_queue(&paused, None, None);
        let resume = Remedy::ResumeQueue("mails".to_owned());
        assert_eq!(found[0].remedy, Some(resume), "{found:?}");
    }
}
