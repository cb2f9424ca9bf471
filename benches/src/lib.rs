//! Benchmarks, written once and generic over the store.
//!
//! ```text
//! cargo bench -p queuekit-benches                      # all, several minutes
//! cargo bench -p queuekit-benches -- memory/enqueue    # those whose name contains this
//! BENCH_QUICK=1 cargo bench -p queuekit-benches        # small sizes: does it still work?
//! ```
//!
//! A store is measured by a target of its own in `benches/`, which opens the store and calls
//! [`run`]. Some have others beside them: `postgres_costs`, `postgres_designs`, `redis_costs`. What
//! criterion cannot say (percentiles, ratios, CPU time) is printed after the group it belongs to.
//! `docs/performance.md` has the figures.
#![expect(clippy::print_stdout, reason = "figures are printed")]
#![expect(clippy::panic, reason = "a benchmark that fails has no figure to give")]
#![expect(clippy::expect_used, reason = "a benchmark that fails has no figure to give")]

mod across;
mod backlog;
mod cpu;
mod enqueue;
mod events;
mod idle;
mod many_queues;
mod pickup;
mod reserve;
mod setup;
mod worker;

use std::future::Future;
use std::sync::Arc;

use criterion::Criterion;
use queuekit_core::Backend;

pub use across::is_other;
pub use setup::{fill, request, scaled};

/// A store that is measured.
pub trait BenchStore: 'static {
    /// What its figures are called.
    const NAME: &'static str;

    /// Jobs that the workers run at once.
    const SLOTS: usize = 100;

    /// Opens a store without jobs, which is dropped when it was measured.
    fn open() -> impl Future<Output = Arc<dyn Backend>> + Send;

    /// Opens a store without jobs that another process can open too, by its address; none where
    /// that cannot be.
    fn open_shared() -> impl Future<Output = Option<(Arc<dyn Backend>, String)>> + Send {
        async { None }
    }

    /// Opens the store of this address.
    fn open_at(address: &str) -> impl Future<Output = Arc<dyn Backend>> + Send {
        let address = address.to_owned();
        async move { panic!("no other process can open this store, not at {address} either") }
    }
}

/// Runs every benchmark that the arguments of the process ask for.
pub fn run<S: BenchStore>() {
    if is_other::<S>() {
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    enqueue::enqueue::<S>(&mut criterion);
    events::events::<S>(&mut criterion);
    reserve::reserve_and_ack::<S>(&mut criterion);
    worker::cycle::<S>(&mut criterion);
    cpu::cpu_per_job::<S>(&mut criterion);
    pickup::pickup::<S>(&mut criterion);
    across::pickup::<S>(&mut criterion);
    idle::idle::<S>(&mut criterion);
    backlog::backlog::<S>(&mut criterion);
    many_queues::many_queues::<S>(&mut criterion);
    many_queues::recent::<S>(&mut criterion);
    criterion.final_summary();
}

/// Whether the arguments of the process ask for what has this name, as criterion reads them: for
/// what is not measured by criterion.
pub fn is_asked_for(name: &str) -> bool {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    args.all(|arg| name.contains(&arg))
}
