//! The model test: random sequences of operations on a store and, in lock-step, on a plain state
//! machine written from the contract alone.
//!
//! The machine is slow and simple: it keeps jobs in one list and looks at all of them each time.
//! After each operation both must answer the same; at intervals both must hold the same jobs in
//! the same order, the same log of events, subscriptions and schedules. A difference prints the
//! seed and the sequence that led to it.

mod choose;
mod compare;
mod events;
mod lockstep;
mod machine;
mod schedules;
mod sequence;

use std::collections::BTreeMap;

use queuekit_core::lifecycle::Transition;

use crate::{Capability, Harness};
use lockstep::Lockstep;

/// How much to run.
// Exhaustive: tests write what they change over `Plan::default()`.
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
    /// 800 sequences of 110 operations, the same in every run; `QUEUEKIT_TEST_LONG=1` runs ten
    /// times as many.
    fn default() -> Self {
        let long = std::env::var_os("QUEUEKIT_TEST_LONG").is_some();
        Self { seed: 1, sequences: if long { 8000 } else { 800 }, steps: 110 }
    }
}

impl Plan {
    /// The same number of sequences, from the seed in `QUEUEKIT_TEST_SEED`. `cargo xtask` takes it
    /// from the commit, so that each commit tries sequences of its own and a failure can be
    /// repeated.
    pub fn rotated() -> Self {
        let seed = std::env::var("QUEUEKIT_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        Self { seed: seed.unwrap_or(1), ..Self::default() }
    }

    /// Only the first `1 / parts` of the sequences: for stores that take longer.
    #[must_use]
    pub fn share(self, parts: u64) -> Self {
        Self { sequences: self.sequences / parts, ..self }
    }
}

/// How often each transition was taken, and how often each other thing happened.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    transitions: BTreeMap<Transition, u64>,
    beside: BTreeMap<Beside, u64>,
}

/// Things that happen to events and schedules, other than transitions of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each name says it")]
pub enum Beside {
    Subscribed,
    DeclaredAgain,
    Emitted,
    EmittedAgain,
    EmitConflict,
    Replayed,
    EventPruned,
    EventKept,
    Scheduled,
    Occurred,
    Passed,
    FoundFull,
    RunNow,
}

impl Beside {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Subscribed,
        Self::DeclaredAgain,
        Self::Emitted,
        Self::EmittedAgain,
        Self::EmitConflict,
        Self::Replayed,
        Self::EventPruned,
        Self::EventKept,
        Self::Scheduled,
        Self::Occurred,
        Self::Passed,
        Self::FoundFull,
        Self::RunNow,
    ];
}

impl Coverage {
    fn add(&mut self, other: &Self) {
        for (transition, times) in &other.transitions {
            *self.transitions.entry(*transition).or_default() += times;
        }
        for (beside, times) in &other.beside {
            *self.beside.entry(*beside).or_default() += times;
        }
    }

    fn took(&mut self, transition: Transition) {
        *self.transitions.entry(transition).or_default() += 1;
    }

    fn saw(&mut self, beside: Beside) {
        *self.beside.entry(beside).or_default() += 1;
    }

    /// How often this transition was taken.
    pub fn of(&self, transition: Transition) -> u64 {
        self.transitions.get(&transition).copied().unwrap_or(0)
    }

    /// How often this happened.
    pub fn times(&self, beside: Beside) -> u64 {
        self.beside.get(&beside).copied().unwrap_or(0)
    }
}

/// Runs the plan on fresh stores of this harness; how often each transition was taken. Sequences
/// of a store without events leave them out, and say so.
///
/// # Panics
/// At the first difference between the store and the machine, with what led to it.
#[expect(clippy::print_stderr, reason = "what is left out is said")]
pub async fn run(harness: &dyn Harness, plan: Plan) -> Coverage {
    let mut coverage = Coverage::default();
    let mut told = false;
    for seed in plan.seed..plan.seed + plan.sequences {
        let world = harness.open().await;
        if !world.expect().has(Capability::Outbox) && !std::mem::replace(&mut told, true) {
            eprintln!("model: this store keeps no events; its sequences are without them");
        }
        let mut lockstep = Lockstep::new(&*world, seed);
        lockstep.run(plan.steps).await;
        coverage.add(lockstep.coverage());
        world.dispose().await;
    }
    coverage
}
