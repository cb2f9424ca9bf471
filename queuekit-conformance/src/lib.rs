//! The conformance suite of queuekit: the contract of every store, as cases that anyone can run.
//!
//! Each case is a plain async function in [`cases`], named by the rule that it shows
//! (`r3_3_stale_ack_changes_nothing`). Its documentation names the guard that it protects: without
//! this line of a store, the case fails. [`RULES`] lists the rules, and [`STORE_RULES`] those that
//! are tested elsewhere, and why.
//!
//! # Testing a store of your own
//!
//! State how a fresh store is opened and what it can do. The macro turns each case into a test. A
//! case needs the ten operations of [`Backend`](queuekit_core::Backend), and some need
//! capabilities: those that your store does not have yet are named as skipped.
//! `docs/writing-a-store.md` leads from an empty file to a store that passes.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use queuekit_core::{Backend, ManualClock, async_trait, memory::MemoryStore as MyStore};
//! use queuekit_conformance::{Capability, Expect, Harness, World, conformance};
//!
//! struct MyHarness;
//! struct MyWorld { store: Arc<dyn Backend>, clock: ManualClock }
//!
//! #[async_trait]
//! impl Harness for MyHarness {
//!     async fn open(&self) -> Arc<dyn World> {
//!         let clock = ManualClock::default();
//!         Arc::new(MyWorld { store: Arc::new(MyStore::with_clock(clock.clone())), clock })
//!     }
//! }
//!
//! #[async_trait]
//! impl World for MyWorld {
//!     fn expect(&self) -> Expect {
//!         let capabilities = &[Capability::Leases, Capability::Admin];
//!         Expect { capabilities, clock_stands: true, ..Expect::TEN_OPERATIONS }
//!     }
//!     fn backend(&self) -> &Arc<dyn Backend> { &self.store }
//!     async fn advance(&self, by: Duration) { self.clock.advance(by) }
//! }
//!
//! conformance!(my_store, MyHarness);
//! # fn main() {}
//! ```
//!
//! # What a harness promises
//!
//! - Each [`World`] is a separate store, because cases run in parallel.
//! - It may be opened with the lower limits of [`kit::limits`], or lower ones: cases ask what they
//!   are, and go to their end.
//! - [`World::advance`] moves the store's clock, so that no case sleeps. If nothing else moves it,
//!   [`Expect::clock_stands`] says so, and cases look 1 ms before each bound of time, at it and
//!   1 ms after it ([`kit::Moment`]). Otherwise they allow for [`kit::SLACK`]: a store that is
//!   early by less passes, and a line on stderr says so.
//! - [`World::raw_dump`] tells every byte that is stored. Without it, cases that say that nothing
//!   changed compare what reads show, and say so once.
//! - [`Expect`] states what the store can do, and a case compares it with the store: support that
//!   was lost is a failure. A case that needs what the harness states it lacks prints `SKIPPED
//!   <case>: <why>` to stderr, also where tests are captured, and [`Report`] counts it.
//!
//! A case that fails prints its assertion, and then what it shows, the line of a store that keeps
//! it, and where in `docs/semantics.md` the rule is.
//!
//! # Testing the tests
//!
//! [`run_all`] runs every case in this process and reports; [`broken`] has stores that break one
//! rule each, all of which fail. [`Layer`] and [`Wrapped`] are how they, and any wrapper, are made.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that fails panics"
)]

pub mod broken;
pub mod cases;
pub mod kit;
pub mod model;
pub mod time_limit;
pub mod worker;

mod explain;
mod harness;
mod layer;
mod layered;
mod list;
mod list_bounds;
mod list_fence;
mod list_keys;
mod list_sources;
mod memory;
mod operations;
#[cfg(unix)]
mod own_process;
mod registry;
mod rules;
mod runner;
mod skip;
mod this_test;
mod wrapped;

pub use harness::{Capability, Expect, Harness, Need, World};
pub use layer::Layer;
pub use layered::Layered;
pub use memory::MemoryHarness;
pub use operations::OPERATIONS;
#[cfg(unix)]
pub use own_process::alone;
pub use registry::{CASES, CaseInfo};
pub use rules::{RULES, STORE_RULES};
pub use runner::{CASE_TIMEOUT, Report, Verdict, run_all, run_case, test_case};
pub use skip::{lacks, missing, program, skip, tell};
#[doc(hidden)]
pub use this_test::__test_around;
pub use wrapped::Wrapped;
