//! Crash tests: whether a store keeps its data and its promises when processes are killed or the
//! power fails.
//!
//! A test starts its own program again, several times, to enqueue and to work on one store
//! ([`Role`]), kills the processes at random moments, and judges in the end ([`Verdict`]) by the
//! [`Journal`] that they wrote and by the stored data. A [`Site`] provides the store.

mod call;
mod checks;
mod events;
mod history;
mod journal;
mod kill;
mod outage;
mod paused;
#[cfg(target_os = "linux")]
pub mod power;
mod process;
mod process_role;
mod schedules;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use queuekit_core::Backend;

pub use call::Call;
pub use checks::{Fault, Verdict};
pub use events::kill_consumers;
pub use journal::{Entry, Event, Journal, Run, RunId};
pub use kill::{kill, open_at_once};
pub use outage::{Server, kill_server};
pub use paused::pause;
pub use process::{Process, Scratch, until};
pub use process_role::{Role, TTL};
pub use schedules::{kill_schedulers, tick_at_once};

/// A store that several processes open.
#[async_trait]
pub trait Site: Send + Sync {
    /// Says where a new, empty store is: a path below this directory, which is empty, or a URL of
    /// something that was made for this.
    async fn create(&self, directory: &Path) -> String;

    /// Opens it; processes do so at the same time, and the first one makes what is missing.
    async fn open(&self, place: &str) -> Arc<dyn Backend>;

    /// Panics if what is stored there is damaged; called after each kill, while other processes
    /// continue.
    async fn check(&self, place: &str);

    /// Removes data outside of the directory.
    async fn dispose(&self, place: &str) {
        let _ = place;
    }
}

/// Whether tests that have a short and a long tier are to run the long one.
pub fn is_long() -> bool {
    std::env::var_os("QUEUEKIT_TEST_LONG").is_some()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}
