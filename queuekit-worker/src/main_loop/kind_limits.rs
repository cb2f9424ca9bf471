//! How many jobs of a kind run at once.
//!
//! A reserve cannot leave a kind out, so jobs beyond the limit arrive all the same. As many as may
//! run wait here, each in a slot, so that one follows as soon as another ends. The others are
//! released with a growing delay: they take no slots from other kinds, and no store is asked for
//! the same job over and over.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use queuekit_core::Kind;

use crate::run::run::Run;

/// The limited kinds.
pub(crate) struct KindLimits(HashMap<Kind, Limit>);

struct Limit {
    most: usize,
    running: usize,
    /// With the places of their handlers.
    waiting: VecDeque<(Arc<Run>, usize)>,
}

/// What to do with a job that was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Start,
    /// It is kept until a run of its kind ends.
    Wait,
    Release,
}

impl KindLimits {
    pub(crate) fn new(most: &HashMap<Kind, usize>) -> Self {
        let limit = |most| Limit { most, running: 0, waiting: VecDeque::new() };
        Self(most.iter().map(|(kind, most)| (kind.clone(), limit(*most))).collect())
    }

    /// Takes up a run, if there is room for it.
    pub(crate) fn admit(&mut self, run: &Arc<Run>, handler: usize) -> Admission {
        let Some(limit) = self.0.get_mut(&run.lease.kind) else { return Admission::Start };
        if limit.running < limit.most {
            limit.running += 1;
            return Admission::Start;
        }
        if limit.waiting.len() < limit.most {
            run.hold();
            limit.waiting.push_back((Arc::clone(run), handler));
            return Admission::Wait;
        }
        Admission::Release
    }

    /// A handler of this kind has returned: the run to start in its place.
    pub(crate) fn returned(&mut self, kind: &Kind) -> Option<(Arc<Run>, usize)> {
        // Most workers limit no kind, and should not pay for a hash here.
        if self.0.is_empty() {
            return None;
        }
        let limit = self.0.get_mut(kind)?;
        let next = limit.waiting.pop_front();
        // Otherwise the next run takes the place, and the number stays.
        if next.is_none() {
            limit.running = limit.running.saturating_sub(1);
        }
        next
    }

    /// Lets go of those that wait and will not be started.
    pub(crate) fn let_go(&mut self, of: impl Fn(&Run) -> bool) -> Vec<Arc<Run>> {
        let mut gone = Vec::new();
        for limit in self.0.values_mut().filter(|limit| !limit.waiting.is_empty()) {
            let waiting = std::mem::take(&mut limit.waiting);
            let (out, kept): (VecDeque<_>, _) = waiting.into_iter().partition(|(run, _)| of(run));
            limit.waiting = kept;
            gone.extend(out.into_iter().map(|(run, _)| run));
        }
        gone
    }
}
