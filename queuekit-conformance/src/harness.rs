//! The suite's interface to a store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::Durability;
use queuekit_core::{Backend, Capabilities, JobId};

use crate::CASE_TIMEOUT;

/// Opens stores for the suite: each case has one of its own.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// Opens an empty store that nothing else uses: its own schema, key prefix or file.
    async fn open(&self) -> Arc<dyn World>;

    /// Why no store can be opened here, for example because no server is installed. Every case is
    /// then skipped, with a line on stderr.
    async fn why_absent(&self) -> Option<String> {
        None
    }

    /// How long one case may take before it counts as hanging. Most cases take milliseconds; a
    /// remote store may need more than the default.
    fn case_timeout(&self) -> Duration {
        CASE_TIMEOUT
    }
}

/// One open store, its clock, and what the harness can do to it.
///
/// The methods that cases are written in are inherent on `dyn World`: see [`kit`](crate::kit).
#[async_trait]
pub trait World: Send + Sync + 'static {
    /// What this store is expected to do. A case compares this with the store.
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

    /// Everything that is stored, byte for byte, and not what reads show: a line per row, key or
    /// record. Two dumps are equal if and only if nothing was written between them, whatever the
    /// clock did. None if the harness cannot do this.
    async fn raw_dump(&self) -> Option<Vec<String>> {
        None
    }

    /// Removes the store, also after a case failed.
    async fn dispose(&self) {}
}

/// What a harness states about its store. So a lost capability is a failure and not a skip.
// Exhaustive: a harness writes what it has over `Expect::TEN_OPERATIONS`; a new field breaks none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The capabilities that the store has, in addition to its ten operations. A case that needs
    /// another one is skipped, with a line on stderr.
    pub capabilities: &'static [Capability],
    /// [`World::corrupt`] works.
    pub can_corrupt: bool,
    /// [`World::rewind`] works.
    pub can_rewind: bool,
    /// The store's clock moves only by [`World::advance`] and [`World::rewind`]. Cases then test
    /// each bound of time to the millisecond. Otherwise they allow for
    /// [`SLACK`](crate::kit::SLACK), and say so on stderr.
    pub clock_stands: bool,
    /// [`World::second_handle`] works.
    pub second_handle: bool,
    /// A cancel by another handle rings on this one at once (R13.1).
    pub cancels_cross_handles: bool,
    /// [`World::raw_dump`] works. Without it, cases compare what reads show.
    pub raw_dump: bool,
    /// An enqueue call over several queues is one atomic step (R2.3).
    pub atomic_across_queues: bool,
    /// The store drops history in large parts, so one step may remove any number of jobs.
    pub drops_history: bool,
    /// Which failures a successful call survives (R11.1), if the store states it.
    pub durability: Option<Durability>,
}

impl Expect {
    /// A store with only the ten operations, and a harness that can only open it and move its
    /// clock.
    pub const TEN_OPERATIONS: Self = Self {
        capabilities: &[],
        can_corrupt: false,
        can_rewind: false,
        clock_stands: false,
        second_handle: false,
        cancels_cross_handles: false,
        raw_dump: false,
        atomic_across_queues: false,
        drops_history: false,
        durability: None,
    };

    /// Whether the harness states this capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// One of the capability traits of [`Capabilities`].
// Exhaustive: a test of a wrapper decides about each capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the trait of that name")]
pub enum Capability {
    Leases,
    Checkpoints,
    Wakeups,
    Upkeep,
    Exchange,
    Admin,
    Inspect,
    Migrations,
    Schedules,
    Outbox,
    Audit,
    Errors,
    History,
    Control,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 14] = [
        Self::Leases,
        Self::Checkpoints,
        Self::Wakeups,
        Self::Upkeep,
        Self::Exchange,
        Self::Admin,
        Self::Inspect,
        Self::Migrations,
        Self::Schedules,
        Self::Outbox,
        Self::Audit,
        Self::Errors,
        Self::History,
        Self::Control,
    ];

    /// Whether the store has this capability.
    pub fn is_in(self, capabilities: &Capabilities<'_>) -> bool {
        match self {
            Self::Leases => capabilities.leases.is_some(),
            Self::Checkpoints => capabilities.checkpoints.is_some(),
            Self::Wakeups => capabilities.wakeups.is_some(),
            Self::Upkeep => capabilities.upkeep.is_some(),
            Self::Exchange => capabilities.exchange.is_some(),
            Self::Admin => capabilities.admin.is_some(),
            Self::Inspect => capabilities.inspect.is_some(),
            Self::Migrations => capabilities.migrations.is_some(),
            Self::Schedules => capabilities.schedules.is_some(),
            Self::Outbox => capabilities.outbox.is_some(),
            Self::Audit => capabilities.audit.is_some(),
            Self::Errors => capabilities.errors.is_some(),
            Self::History => capabilities.history.is_some(),
            Self::Control => capabilities.control.is_some(),
        }
    }
}

/// What a case needs of the harness or the store, other than capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// [`World::corrupt`].
    Corrupt,
    /// [`World::rewind`].
    Rewind,
    /// [`World::second_handle`].
    SecondHandle,
    /// [`Expect::atomic_across_queues`].
    AtomicAcrossQueues,
}

impl Need {
    /// Whether these expectations include it.
    pub fn is_met_by(self, expect: &Expect) -> bool {
        match self {
            Self::Corrupt => expect.can_corrupt,
            Self::Rewind => expect.can_rewind,
            Self::SecondHandle => expect.second_handle,
            Self::AtomicAcrossQueues => expect.atomic_across_queues,
        }
    }
}
