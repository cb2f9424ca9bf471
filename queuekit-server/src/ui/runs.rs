//! Actions on many jobs and replays, which this server continues when the page is closed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;

use super::failure::Failure;
use super::run::{Run, State};

/// The most runs that are remembered.
const REMEMBERED: usize = 100;
/// The most runs at once, and those of one key.
const AT_ONCE: usize = 8;
const OF_KEY: usize = 2;
/// The most runs at once of keys that are restricted to some queues or kinds, so that several of
/// them leave places to those that are responsible for all. When half of these places are taken,
/// such a key has one run at most, so that few of them leave places to others.
const OF_BOUND_KEYS: usize = 6;

/// The runs of this process, the latest last. They end with it: what was changed stays changed, and
/// the same filter then matches the rest. The address of a run says what it does, so that its page
/// can offer to begin again.
#[derive(Default)]
pub(super) struct Runs(Mutex<VecDeque<Arc<Run>>>);

impl Runs {
    /// Remembers a run that begins.
    ///
    /// # Errors
    /// 429 if there are too many.
    pub(super) fn begin(&self, run: Run) -> Result<Arc<Run>, Failure> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut all, mut bound, mut own) = (0, 0, 0);
        for other in runs.iter().filter(|other| other.state() == State::Running) {
            all += 1;
            bound += usize::from(other.is_bound);
            own += usize::from(other.is_of(&run.started_by));
        }
        let is_scarce = run.is_bound && bound >= OF_BOUND_KEYS / 2;
        let of_key = if is_scarce { 1 } else { OF_KEY };
        let is_beyond = run.is_bound && bound >= OF_BOUND_KEYS;
        if all >= AT_ONCE || own >= of_key || is_beyond {
            let detail = "there are as many of these runs as may run at once: stop one, or wait";
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, detail));
        }
        let run = Arc::new(run);
        runs.push_back(Arc::clone(&run));
        while runs.len() > REMEMBERED {
            // Few are running, so that one of these has ended.
            let ended = runs.iter().position(|run| run.state() != State::Running);
            drop(ended.and_then(|at| runs.remove(at)));
        }
        Ok(run)
    }

    /// The run of this id, if it belongs to this key.
    pub(super) fn find(&self, key: &str, id: &str) -> Option<Arc<Run>> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.iter().find(|run| run.id == id && run.is_of(key)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use queuekit::Timestamp;

    use super::*;
    use crate::ui::run::Task;

    fn begin(runs: &Runs, key: &str, is_bound: bool) -> Result<Arc<Run>, StatusCode> {
        let consumer = "c".parse().unwrap();
        let task = Task::Replay { consumer, name: "n".to_owned(), from: None };
        let run = Run::new(key, is_bound, task, None, Timestamp::default());
        run.and_then(|run| runs.begin(run)).map_err(|failure| failure.status)
    }

    /// Guard: restricted keys have fewer places than there are.
    #[test]
    fn s6_runs_of_restricted_keys_leave_places_to_others() {
        let runs = Runs::default();
        let full = Some(StatusCode::TOO_MANY_REQUESTS);
        for key in ["a", "a", "b"] {
            begin(&runs, key, true).unwrap();
        }
        assert_eq!(begin(&runs, "b", true).err(), full, "half of the places are taken");
        for key in ["c", "d", "e"] {
            begin(&runs, key, true).unwrap();
        }
        assert_eq!(begin(&runs, "f", true).err(), full);
        begin(&runs, "all", false).unwrap();
        begin(&runs, "all", false).unwrap();
        assert_eq!(begin(&runs, "all", false).err(), full);
        assert_eq!(begin(&runs, "more", false).err(), full);
    }
}
