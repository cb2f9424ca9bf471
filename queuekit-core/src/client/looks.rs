//! Looks at jobs, shared by all who wait (contract R13.11).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use crate::backend::Backend;
use crate::error::Result;
use crate::job::{JobId, State};

/// The most jobs of one call.
const JOBS: usize = 1_000;

/// The looks of a client that have not begun. Each is for all waits that agreed on its instant.
pub(super) struct Looks {
    backend: Arc<dyn Backend>,
    planned: Mutex<Vec<Planned>>,
}

struct Planned {
    at: Instant,
    ids: Vec<JobId>,
    /// Weak: a look that nobody waits for any more is not made.
    look: WeakShared<BoxFuture<'static, Seen>>,
}

/// A look that begins when the first of its waits polls it. All get its answer.
pub(super) type Look = Shared<BoxFuture<'static, Seen>>;
/// The states of the jobs that are stored.
type Seen = Result<Arc<HashMap<JobId, State>>>;

impl Looks {
    pub(super) fn new(backend: Arc<dyn Backend>) -> Arc<Self> {
        Arc::new(Self { backend, planned: Mutex::default() })
    }

    /// The look at this instant, for this job too. Poll it no earlier than then.
    pub(super) fn at(self: &Arc<Self>, at: Instant, id: JobId) -> Look {
        let mut planned = self.planned();
        planned.retain(|planned| planned.look.upgrade().is_some());
        for planned in planned.iter_mut().filter(|planned| planned.at == at) {
            if let Some(look) = planned.look.upgrade() {
                planned.ids.push(id);
                return look;
            }
        }
        let looks = Arc::clone(self);
        let look = async move { looks.look(at).await }.boxed().shared();
        planned.extend(look.downgrade().map(|look| Planned { at, ids: vec![id], look }));
        look
    }

    async fn look(&self, at: Instant) -> Seen {
        let ids = self.begin(at);
        let mut seen = HashMap::with_capacity(ids.len());
        for ids in ids.chunks(JOBS) {
            let states = self.backend.job_states(ids).await?;
            let stored = ids.iter().copied().zip(states);
            seen.extend(stored.filter_map(|(id, state)| Some((id, state?))));
        }
        Ok(Arc::new(seen))
    }

    /// Takes the jobs of the look: waits that come later need another one.
    fn begin(&self, at: Instant) -> Vec<JobId> {
        let mut planned = self.planned();
        let own = planned.iter().position(|planned| planned.at == at);
        own.map(|own| planned.swap_remove(own).ids).unwrap_or_default()
    }

    fn planned(&self) -> MutexGuard<'_, Vec<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
