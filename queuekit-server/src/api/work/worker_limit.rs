//! The limit on live workers of one key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use queuekit::store::WorkerId;
use queuekit::store::capability::Beat;

use crate::web::{Caller, Problem};

/// Workers by key, and until when each is listed.
#[derive(Debug, Default)]
pub(in crate::api) struct WorkerLimit(Mutex<HashMap<String, HashMap<WorkerId, Instant>>>);

impl WorkerLimit {
    /// Counts this worker.
    ///
    /// # Errors
    /// 429 if the key has as many other live workers as it may.
    pub(super) fn admit(
        &self,
        caller: &Caller,
        beat: &Beat,
        most: usize,
        now: Instant,
    ) -> Result<(), Problem> {
        let Some(key) = caller.counted() else { return Ok(()) };
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = keys.entry(key.to_owned()).or_default();
        if workers.len() >= most && !workers.contains_key(&beat.id) {
            workers.retain(|_, until| *until > now);
        }
        if workers.len() >= most && !workers.contains_key(&beat.id) {
            let detail = format!(
                "the key {key} has {most} live workers, the most for one key: wait until some \
                 are no longer listed, or raise max_workers_per_key in [limits] of queuekit.toml"
            );
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
            return Err(problem.retry_after(beat.ttl.get()));
        }
        workers.insert(beat.id.clone(), now + beat.ttl.listed_for());
        Ok(())
    }

    /// Notes that the worker was removed from the list.
    pub(super) fn forget(&self, caller: &Caller, worker: &WorkerId) {
        let Some(key) = caller.key() else { return };
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.entry(key.to_owned()).or_default().remove(worker);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::store::LeaseTtl;
    use queuekit::store::capability::Served;

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
        let admit = |caller, worker, at| worker_limit.admit(caller, &beat(worker), 3, at);
        for worker in 0..3 {
            admit(&one, worker, now).unwrap();
        }
        assert_eq!(admit(&one, 3, now).unwrap_err().kind(), "rate_limited");
        admit(&one, 0, now).unwrap();
        admit(&other, 3, now).unwrap();
        worker_limit.forget(&one, &beat(1).id);
        admit(&one, 3, now).unwrap();
        admit(&one, 4, now + Duration::from_secs(30)).unwrap();
    }
}
