//! The model test: random sequences of operations on a store and, in lock-step, on a plain state
//! machine written from the contract alone.
//!
//! The machine is slow and simple: it keeps jobs in one list and looks at all of them each time.
//! After each operation both must answer the same; at intervals both must hold the same jobs in
//! the same order. A difference prints the seed and the sequence that led to it.

mod choose;
mod compare;
mod lockstep;
mod machine;
mod sequence;

use std::collections::BTreeMap;

use queuekit_core::lifecycle::Transition;

use crate::Harness;
use lockstep::Lockstep;

/// How much to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first sequence's seed; each further one adds 1.
    pub seed: u64,
    /// How many sequences.
    pub sequences: u64,
    /// Operations in each.
    pub steps: usize,
}

impl Default for Plan {
    /// 800 sequences of 80 operations; `QUEUEKIT_TEST_LONG=1` runs ten times as many, and
    /// `QUEUEKIT_TEST_SEED` starts elsewhere.
    fn default() -> Self {
        let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
        let long = std::env::var_os("QUEUEKIT_TEST_LONG").is_some();
        Self {
            seed: number("QUEUEKIT_TEST_SEED").unwrap_or(1),
            sequences: if long { 8000 } else { 800 },
            steps: 80,
        }
    }
}

/// How often each transition was taken.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<Transition, u64>);

impl Coverage {
    fn add(&mut self, other: &Self) {
        for (transition, times) in &other.0 {
            *self.0.entry(*transition).or_default() += times;
        }
    }

    fn took(&mut self, transition: Transition) {
        *self.0.entry(transition).or_default() += 1;
    }

    /// How often this transition was taken.
    pub fn of(&self, transition: Transition) -> u64 {
        self.0.get(&transition).copied().unwrap_or(0)
    }
}

/// Runs the plan on fresh stores of this harness; how often each transition was taken.
///
/// # Panics
/// At the first difference between the store and the machine, with what led to it.
pub async fn run(harness: &dyn Harness, plan: Plan) -> Coverage {
    let mut coverage = Coverage::default();
    for seed in plan.seed..plan.seed + plan.sequences {
        let world = harness.open().await;
        let mut lockstep = Lockstep::new(&*world, seed);
        lockstep.run(plan.steps).await;
        coverage.add(lockstep.coverage());
        world.dispose().await;
    }
    coverage
}
