//! The metrics of jobs, with handles that are kept: a job costs no look-up in the recorder.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use metrics::{SharedString, counter, histogram};
use queuekit_core::metrics::{JOB_RUN, JOB_WAIT, JOBS, KIND_LABELS, OTHER};
use queuekit_core::{Kind, Lease, QueueName};

use super::run_history::RunHistory;
use crate::run::meter::Meter;
use crate::run::outcome::Outcome;

/// After this long handles are asked for anew: those of kinds that no longer come are forgotten,
/// and a recorder that was installed late is found.
const KEPT: Duration = Duration::from_secs(60);
/// More are not worth keeping.
const MOST: usize = 1000;

/// The metrics of jobs by queue and kind.
pub(crate) struct Meters {
    known: HashMap<QueueName, HashMap<Option<Kind>, Arc<Meter>>>,
    /// That of the last job is as a rule that of the next.
    last: Option<(QueueName, Option<Kind>, Arc<Meter>)>,
    made: usize,
    since: Instant,
}

impl Default for Meters {
    fn default() -> Self {
        Self { known: HashMap::new(), last: None, made: 0, since: Instant::now() }
    }
}

impl Meters {
    /// Forgets old handles; to be called between batches.
    pub(crate) fn tidy(&mut self) {
        if self.since.elapsed() > KEPT || self.made > MOST {
            *self = Self::default();
        }
    }

    /// Those of a job. Anybody may enqueue jobs of kinds that have no handler, so these have no
    /// label of their own.
    pub(crate) fn of(&mut self, lease: &Lease, is_handled: bool, runs: &RunHistory) -> Arc<Meter> {
        let (queue, kind) = (&lease.token.queue, is_handled.then_some(&lease.kind));
        if let Some((last_queue, last_kind, meter)) = &self.last
            && last_kind.as_ref() == kind
            && last_queue == queue
        {
            return Arc::clone(meter);
        }
        let kind = kind.cloned();
        let of_queue = self.known.entry(queue.clone()).or_default();
        let meter = of_queue.entry(kind.clone()).or_insert_with(|| {
            self.made += 1;
            Arc::new(meter(queue, kind.as_ref(), runs))
        });
        let meter = Arc::clone(meter);
        self.last = Some((queue.clone(), kind, Arc::clone(&meter)));
        meter
    }
}

fn meter(queue: &QueueName, kind: Option<&Kind>, runs: &RunHistory) -> Meter {
    let counts = runs.of(queue, kind);
    let queue = queue.as_str().to_owned();
    let kind = kind.map_or(SharedString::const_str(OTHER), |kind| LABELS.of(kind));
    let outcome = |outcome: &'static str| {
        let (queue, kind) = (queue.clone(), kind.clone());
        counter!(JOBS.name, "queue" => queue, "kind" => kind, "outcome" => outcome)
    };
    Meter {
        outcomes: Outcome::NAMES.map(outcome).into(),
        wait: histogram!(JOB_WAIT.name, "queue" => queue.clone()),
        run: histogram!(JOB_RUN.name, "queue" => queue, "kind" => kind),
        counts,
    }
}

/// The kinds that are labels in this process.
static LABELS: KindLabels = KindLabels::new();

/// Kinds as values of labels: the first ones that came, and [`OTHER`] for all that came later.
struct KindLabels(Mutex<BTreeSet<Kind>>);

impl KindLabels {
    const fn new() -> Self {
        Self(Mutex::new(BTreeSet::new()))
    }

    fn of(&self, kind: &Kind) -> SharedString {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(kind) && known.len() >= KIND_LABELS {
            return SharedString::const_str(OTHER);
        }
        known.insert(kind.clone());
        SharedString::from_owned(kind.as_str().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_beyond_the_first_200_has_no_label_of_its_own() {
        let labels = KindLabels::new();
        let kind = |n: usize| Kind::new(format!("kind-{n}")).unwrap();
        for n in 0..KIND_LABELS {
            assert_eq!(&*labels.of(&kind(n)), kind(n).as_str());
        }
        for n in [KIND_LABELS, KIND_LABELS + 1, 1_000_000] {
            assert_eq!(&*labels.of(&kind(n)), OTHER);
        }
        assert_eq!(&*labels.of(&kind(7)), "kind-7", "a label stays what it is");
        assert!(Kind::new(OTHER).is_err(), "no kind has this name");
    }
}
