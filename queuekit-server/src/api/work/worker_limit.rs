//! The limits on live workers of one key: how many there are, and what they name together.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use queuekit::workers::{Beat, WorkerId};

use crate::web::turns::Turns;
use crate::web::{Caller, Problem};

/// What each worker that a key may have may name on average, in bytes. Each request for the figures
/// of a queue reads what all workers name.
const NAMED_BYTES: usize = 1024;

/// The live workers of each key.
#[derive(Debug, Default)]
pub(in crate::api) struct WorkerLimit {
    keys: Mutex<HashMap<String, HashMap<WorkerId, Live>>>,
    /// Beats and removals of a worker take its turn, so that a removal that is noted late does not
    /// take away what was announced since.
    pub(super) turns: Turns,
}

#[derive(Debug)]
struct Live {
    /// Until when it is listed.
    until: Instant,
    /// The length of the names in its beat.
    named_bytes: usize,
}

impl WorkerLimit {
    /// Counts this worker.
    ///
    /// # Errors
    /// 429 if the key has as many other live workers as it may, or if they name as much as they may
    /// together. A live worker that names no more than before is admitted, whatever the limit is
    /// now. The jobs that it runs are left out of its beat if they are too much.
    pub(super) fn admit(
        &self,
        caller: &Caller,
        beat: &mut Beat,
        most: usize,
        now: Instant,
    ) -> Result<(), Problem> {
        let Some(key) = caller.counted() else { return Ok(()) };
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = keys.entry(key.to_owned()).or_default();
        let mut live = Live::of(beat, now);
        if exceeded(workers, &beat.id, &live, most).is_some() {
            workers.retain(|_, worker| worker.until > now);
        }
        // Only people read them.
        if exceeded(workers, &beat.id, &live, most).is_some() {
            beat.about = std::mem::take(&mut beat.about).with_jobs([]);
            live = Live::of(beat, now);
        }
        let before = workers.get(&beat.id);
        let goes_on = before.is_some_and(|before| live.named_bytes <= before.named_bytes);
        if let Some(what) = exceeded(workers, &beat.id, &live, most).filter(|_| !goes_on) {
            let detail = format!(
                "the key {key} has {what}: wait until some workers are no longer listed, or raise \
                 max_workers_per_key in [limits] of queuekit.toml"
            );
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
            return Err(problem.retry_after(beat.ttl.get()));
        }
        workers.insert(beat.id.clone(), live);
        Ok(())
    }

    /// Notes that the worker was removed from the list, by whatever key: it takes no place of the
    /// key that announced it.
    pub(super) fn forget(&self, worker: &WorkerId) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        for workers in keys.values_mut() {
            workers.remove(worker);
        }
    }
}

impl Live {
    fn of(beat: &Beat, now: Instant) -> Self {
        let queues = beat.queues.names().iter().map(|queue| queue.as_str().len());
        let kinds = beat.kinds.names().iter().map(|kind| kind.as_str().len());
        let named_bytes = beat.name.len() + queues.chain(kinds).sum::<usize>() + beat.about.bytes();
        Self { until: now + beat.listed_for(), named_bytes }
    }
}

/// What the key would have too much of with this worker.
fn exceeded(
    workers: &HashMap<WorkerId, Live>,
    id: &WorkerId,
    live: &Live,
    most: usize,
) -> Option<String> {
    let others = || workers.iter().filter(|(other, _)| *other != id);
    if others().count() >= most {
        return Some(format!("{most} live workers, the most for one key"));
    }
    let named = others().map(|(_, other)| other.named_bytes).sum::<usize>() + live.named_bytes;
    let bound = most.saturating_mul(NAMED_BYTES);
    let what = || format!("live workers that name {named} bytes of queues and kinds, over {bound}");
    (named > bound).then(what)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::JobId;
    use queuekit::Timestamp;
    use queuekit::jobs::Kind;
    use queuekit::store::LeaseTtl;
    use queuekit::workers::{About, Running, Served};

    use super::*;
    use crate::web::auth::tests::caller_of;

    fn beat(id: usize) -> Beat {
        let ttl = LeaseTtl::new(Duration::from_secs(10)).unwrap();
        let id = WorkerId::new(format!("w{id}")).unwrap();
        Beat::new(id, Served::first([]), Served::first([]), ttl)
    }

    #[test]
    fn s6_a_key_has_some_live_workers_until_their_beats_have_run_out() {
        let (worker_limit, one, other) =
            (WorkerLimit::default(), caller_of("one", 1), caller_of("two", 1));
        let now = Instant::now();
        let admit = |caller, worker, at| worker_limit.admit(caller, &mut beat(worker), 3, at);
        for worker in 0..3 {
            admit(&one, worker, now).unwrap();
        }
        assert_eq!(admit(&one, 3, now).unwrap_err().kind(), "rate_limited");
        admit(&one, 0, now).unwrap();
        admit(&other, 3, now).unwrap();
        worker_limit.forget(&beat(1).id);
        admit(&one, 3, now).unwrap();
        admit(&one, 4, now + Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn s6_a_live_worker_goes_on_under_a_lower_limit() {
        let (limit, key, now) = (WorkerLimit::default(), caller_of("one", 1), Instant::now());
        for worker in 0..3 {
            limit.admit(&key, &mut beat(worker), 3, now).unwrap();
        }
        let admit = |beat: &Beat, at| limit.admit(&key, &mut beat.clone(), 1, at);
        admit(&beat(2), now).unwrap();
        let named = |id| {
            let mut beat = beat(id);
            beat.kinds = Served::first([Kind::new("more").unwrap()]);
            beat
        };
        assert_eq!(admit(&named(2), now).unwrap_err().kind(), "rate_limited");
        let later = now + Duration::from_secs(30);
        admit(&beat(0), later).expect("the others are gone");
        assert_eq!(admit(&beat(2), later).unwrap_err().kind(), "rate_limited");
    }

    #[test]
    fn s6_the_workers_of_a_key_name_1_kib_each_on_average() {
        let (limit, key, now) = (WorkerLimit::default(), caller_of("one", 1), Instant::now());
        let naming = |id, kinds: usize| {
            let kinds = (0..kinds).map(|n| Kind::new(format!("{n:0>128}")).unwrap());
            let mut beat = beat(id);
            beat.kinds = Served::first(kinds);
            beat
        };
        let admit = |beat: &Beat, at| limit.admit(&key, &mut beat.clone(), 4, at);
        admit(&naming(0, 24), now).unwrap();
        admit(&naming(1, 8), now).unwrap();
        let refused = admit(&naming(2, 1), now).unwrap_err();
        assert_eq!(refused.kind(), "rate_limited");
        admit(&naming(2, 0), now).expect("a worker that names nothing fits");
        admit(&naming(0, 24), now).expect("a worker replaces its own beat");
        admit(&naming(0, 23), now).unwrap();
        admit(&naming(2, 1), now).expect("what the first no longer names is free");
        admit(&naming(3, 32), now + Duration::from_secs(30)).expect("the others are gone");
    }

    /// A worker that is refused because of what it runs would leave the list when it is busiest.
    #[test]
    fn s6_jobs_that_are_too_much_are_left_out_of_a_beat() {
        let (limit, key, now) = (WorkerLimit::default(), caller_of("one", 1), Instant::now());
        let job = || {
            let id = JobId::generate(&queuekit::QueueName::default(), Timestamp::default());
            Running::new(id, Kind::new("work").unwrap(), Timestamp::default())
        };
        let running = |jobs| {
            let mut beat = beat(0);
            let jobs = std::iter::repeat_with(job).take(jobs);
            beat.about = About::default().with_host("mail-7").with_jobs(jobs);
            beat
        };
        for (runs, told) in [(10, 10), (100, 0)] {
            let mut beat = running(runs);
            limit.admit(&key, &mut beat, 1, now).unwrap();
            assert_eq!((beat.about.jobs().len(), beat.about.host()), (told, "mail-7"));
        }
    }
}
