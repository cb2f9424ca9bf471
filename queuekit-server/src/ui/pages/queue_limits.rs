//! The limits of a queue, with how much of each is used.

use queuekit::Status;
use queuekit::queues::{Keep, Queue};

use super::queue_rows::{InUse, percent};
use crate::grammar::Span;
use crate::ui::view::{Count, Limit};

/// All limits, from the figures of the queue.
pub(super) fn limits(queue: &Queue, in_use: InUse) -> Vec<Limit> {
    let of = |status| queue.counts.get(status);
    let retention = &queue.settings.retention;
    let done = [of(Status::Completed), of(Status::Cancelled)];
    let mut limits = vec![
        bounded("Pending jobs", Count::exact(queue.depth()), queue.settings.max_pending),
        per_key(queue),
        kept("Completed and cancelled jobs kept", sum(done.map(Count::from)), &retention.done),
        kept("Dead jobs kept", of(Status::Dead).into(), &retention.dead),
    ];
    if in_use.slots > 0 {
        let running = Count::exact(in_use.running);
        limits.insert(1, bounded("Slots of its workers in use", running, Some(in_use.slots)));
    }
    limits
}

fn bounded(label: &'static str, used: Count, most: Option<u64>) -> Limit {
    let told = match most {
        Some(most) => format!("{used} of {}", Count::exact(most)),
        None => format!("{used}, no limit"),
    };
    // Of 0 all is used: nothing more is admitted.
    let share = |most| if most == 0 { 100 } else { percent(used.value, most) };
    Limit { label, told, percent: most.map(share), note: String::new() }
}

/// How many leases each key has is no figure of the queue; how many jobs wait for theirs is.
fn per_key(queue: &Queue) -> Limit {
    let told = Count::exact(queue.settings.per_key.into()).to_string();
    let blocked = Count::from(queue.counts.get(Status::Blocked));
    let note = match blocked.is_zero() {
        true => "no job waits for its key".to_owned(),
        false if blocked.value == 1 => "1 job waits for its key".to_owned(),
        false => format!("{blocked} jobs wait for their keys"),
    };
    Limit { label: "Runs at once per partition key", told, percent: None, note }
}

fn kept(label: &'static str, used: Count, keep: &Keep) -> Limit {
    let age = keep.age().map(|age| format!("for {}", Span(age)));
    let bytes = keep.bytes().map(|bytes| format!("at most {} bytes", Count::exact(bytes)));
    let note: Vec<String> = age.into_iter().chain(bytes).collect();
    Limit { note: note.join(", "), ..bounded(label, used, keep.jobs()) }
}

fn sum(counts: [Count; 2]) -> Count {
    let [one, other] = counts;
    Count { value: one.value + other.value, about: one.about || other.about }
}

#[cfg(test)]
mod tests {
    use queuekit::queues::{Count as Counted, QueueSettings};
    use queuekit::{QueueName, Timestamp};

    use super::*;

    fn queue() -> Queue {
        Queue::empty(QueueName::default(), QueueSettings::default(), Timestamp::default())
    }

    fn told(queue: &Queue, label: &str) -> (String, Option<u8>, &'static str, String) {
        let limits = limits(queue, InUse { running: 3, slots: 4 });
        let limit = limits.into_iter().find(|limit| limit.label == label).unwrap();
        (limit.told.clone(), limit.percent, limit.level(), limit.note)
    }

    #[test]
    fn a_limit_says_in_words_how_much_of_it_is_used() {
        let mut queue = queue();
        assert_eq!(told(&queue, "Pending jobs").0, "0, no limit");
        queue.settings.max_pending = Some(1_000);
        for (ready, percent, level) in [(0, 0, ""), (899, 89, ""), (900, 90, "nearly full")] {
            queue.counts.set(Status::Ready, Counted::exact(ready));
            let expected = (format!("{ready} of 1,000"), Some(percent), level, String::new());
            assert_eq!(told(&queue, "Pending jobs"), expected);
        }
        for (ready, words) in [(1_000, "1,000 of 1,000"), (1_001, "1,001 of 1,000")] {
            queue.counts.set(Status::Ready, Counted::exact(ready));
            let expected = (words.to_owned(), Some(100), "full", String::new());
            assert_eq!(told(&queue, "Pending jobs"), expected);
        }
        queue.settings.max_pending = Some(0);
        assert_eq!(told(&queue, "Pending jobs").2, "full");
        assert_eq!(told(&queue, "Slots of its workers in use").0, "3 of 4");
    }

    #[test]
    fn what_is_kept_counts_all_jobs_that_ended_so() {
        let mut queue = queue();
        queue.counts.set(Status::Completed, Counted::exact(40_000));
        queue.counts.set(Status::Cancelled, Counted::exact(10_000));
        queue.counts.set(Status::Dead, Counted::exact(7));
        let done = told(&queue, "Completed and cancelled jobs kept");
        assert_eq!(done, ("50,000 of 100,000".to_owned(), Some(50), "", "for 1d".to_owned()));
        let dead = told(&queue, "Dead jobs kept");
        assert_eq!(dead, ("7, no limit".to_owned(), None, "", String::new()));
    }

    #[test]
    fn the_limit_of_a_key_tells_how_many_jobs_wait_for_theirs() {
        let mut queue = queue();
        let note = |queue: &Queue| told(queue, "Runs at once per partition key").3;
        assert_eq!(note(&queue), "no job waits for its key");
        queue.counts.set(Status::Blocked, Counted::exact(12));
        assert_eq!(note(&queue), "12 jobs wait for their keys");
    }
}
