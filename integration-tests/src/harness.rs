//! What the suite needs to know of a store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::Durability;
use queuekit_core::{Backend, JobId};

/// Opens stores for the suite: each case has one of its own.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// Opens an empty store that nobody else uses: a schema, a key prefix or a file of its own.
    async fn open(&self) -> Arc<dyn World>;

    /// Why no store can be opened here, for example because there is no server: then every case
    /// is skipped, loudly.
    async fn why_absent(&self) -> Option<String> {
        None
    }
}

/// One open store, its clock, and what the harness can do to it.
///
/// The methods that cases are written in are inherent on `dyn World`: see [`kit`](crate::kit).
#[async_trait]
pub trait World: Send + Sync + 'static {
    /// What this store can do; a case compares it with what the store says of itself.
    fn expect(&self) -> Expect;

    /// The store.
    fn backend(&self) -> &Arc<dyn Backend>;

    /// Moves the store's clock forward, by whole milliseconds. No case ever sleeps.
    async fn advance(&self, by: Duration);

    /// Moves the store's clock back; false if the harness cannot.
    async fn rewind(&self, by: Duration) -> bool {
        let _ = by;
        false
    }

    /// An independent handle on the same store, as another process would have.
    async fn second_handle(&self) -> Option<Arc<dyn Backend>> {
        None
    }

    /// Makes the stored record of a job unreadable; false if the harness cannot.
    async fn corrupt(&self, id: JobId) -> bool {
        let _ = id;
        false
    }

    /// Everything the store holds, byte for byte, and not what reads show: a line per row, key or
    /// record. Two dumps are equal if and only if nothing was written between them, whatever
    /// the clock did. None if the harness cannot.
    async fn raw_dump(&self) -> Option<Vec<String>> {
        None
    }

    /// Removes the store, also after a case failed.
    async fn dispose(&self) {}
}

/// What a harness states of its store, so that lost support is a failure and not a skip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Which part of the contract the store keeps.
    pub level: Level,
    /// [`World::corrupt`] works.
    pub can_corrupt: bool,
    /// [`World::rewind`] works.
    pub can_rewind: bool,
    /// The store's clock stands but for [`World::advance`] and [`World::rewind`]: cases then ask
    /// for each bound to the millisecond. Where it goes on they allow for
    /// [`SLACK`](crate::kit::SLACK), and say so.
    pub clock_stands: bool,
    /// [`World::second_handle`] works.
    pub second_handle: bool,
    /// [`World::raw_dump`] works. Without it, cases compare what reads show.
    pub raw_dump: bool,
    /// The store's schema has versions.
    pub migrations: bool,
    /// An enqueue call over several queues is one atomic step (R2.3).
    pub atomic_across_queues: bool,
    /// History that nothing keeps any more is dropped as a whole, however many jobs that are.
    pub drops_history: bool,
    /// The store keeps events.
    pub outbox: bool,
    /// What an Ok survives (R11.1), where the store says it.
    pub durability: Option<Durability>,
}

impl Expect {
    /// A store with the ten operations and nothing else.
    pub const CORE: Self = Self {
        level: Level::Core,
        can_corrupt: false,
        can_rewind: false,
        clock_stands: false,
        second_handle: false,
        raw_dump: false,
        migrations: false,
        atomic_across_queues: false,
        drops_history: false,
        outbox: false,
        durability: None,
    };

    /// A store with every capability trait but [`migrations`](Self::migrations) and
    /// [`outbox`](Self::outbox).
    pub const FULL: Self = Self { level: Level::Full, ..Self::CORE };
}

/// How much of the contract a case needs and a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The ten operations of [`Backend`].
    Core,
    /// All capability traits too.
    Full,
}

/// What else a case needs, beside its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// [`World::corrupt`].
    Corrupt,
    /// [`World::rewind`].
    Rewind,
    /// [`World::second_handle`].
    SecondHandle,
    /// The capability [`Migrations`](queuekit_core::capability::Migrations).
    Migrations,
    /// [`Expect::atomic_across_queues`].
    AtomicAcrossQueues,
    /// The capability [`Outbox`](queuekit_core::capability::Outbox).
    Outbox,
}

impl Need {
    /// Whether a store of which this is expected has it.
    pub fn is_met_by(self, expect: &Expect) -> bool {
        match self {
            Self::Corrupt => expect.can_corrupt,
            Self::Rewind => expect.can_rewind,
            Self::SecondHandle => expect.second_handle,
            Self::Migrations => expect.migrations,
            Self::AtomicAcrossQueues => expect.atomic_across_queues,
            Self::Outbox => expect.outbox,
        }
    }
}
