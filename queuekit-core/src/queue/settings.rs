//! The settings of a queue (contract R12).

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{KeyOnDead, KeyOnWait, Order, Retention};
use crate::clock::Timestamp;
use crate::error_group::{GroupId, GroupNote, GroupNotes};
use crate::{duration_ms, rfc3339};

/// The settings of a queue; in force within 1 s of their change.
///
/// A store keeps them as one JSON [document](Self::to_json), which HTTP shows too, but for the
/// notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The settings of a queue; in force within 1 s of their change.")
)]
#[serde(from = "Map<String, Value>")]
#[non_exhaustive]
pub struct QueueSettings {
    /// Whether the queue is paused: reserve then does nothing in it (default false).
    pub paused: bool,
    /// Why it is paused, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 500))]
    pub pause_reason: Option<String>,
    /// When the pause ends by itself, by the store's clock; none if it lasts until the queue is
    /// resumed.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "rfc3339::option::serialize"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<rfc3339::Rfc3339>))]
    pub paused_until: Option<Timestamp>,
    /// The number of pending jobs at which an enqueue returns `QueueFull` (default none).
    pub max_pending: Option<u64>,
    /// The live leases that a partition key may have at once (default 1).
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10_000))]
    pub per_key: u32,
    /// Whether a waiting head of a key holds up the later jobs (default block).
    pub key_on_wait: KeyOnWait,
    /// Whether a dead head of a key holds up the later jobs (default continue).
    pub key_on_dead: KeyOnDead,
    /// Whether partition keys take turns (default strict: they do not).
    pub order: Order,
    /// How long an idempotency key stays in use after its job has ended (default 24 h).
    #[serde(rename = "dedup_window_ms", serialize_with = "duration_ms::serialize")]
    #[cfg_attr(feature = "openapi", schema(value_type = u64))]
    pub dedup_window: Duration,
    /// How long ended jobs are kept.
    pub retention: Retention,
    /// A description of the queue, for people (default empty).
    #[cfg_attr(feature = "openapi", schema(max_length = 1024))]
    pub description: String,
    /// Notes on error groups of the queue (contract R8.10).
    #[serde(skip_serializing_if = "GroupNotes::is_empty")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub(super) notes: GroupNotes,
    /// Settings that a newer version has stored; they are kept unchanged.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub(super) newer: Map<String, Value>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            paused: false,
            pause_reason: None,
            paused_until: None,
            max_pending: None,
            per_key: 1,
            key_on_wait: KeyOnWait::Block,
            key_on_dead: KeyOnDead::Continue,
            order: Order::Strict,
            dedup_window: Duration::from_secs(24 * 3600),
            retention: Retention::default(),
            description: String::new(),
            notes: GroupNotes::default(),
            newer: Map::new(),
        }
    }
}

impl QueueSettings {
    /// The settings at this instant: a pause whose end has come is over (contract R16.10).
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        if !self.is_paused(now) {
            (self.paused, self.pause_reason, self.paused_until) = (false, None, None);
        }
        self
    }

    /// Whether both say the same of partition keys: how many jobs of a key run at once, what holds
    /// a key up, and whether keys take turns. If not, a store has to look at all keys of the queue.
    pub fn treats_keys_as(&self, other: &Self) -> bool {
        let of_keys = |of: &Self| (of.per_key, of.key_on_wait, of.key_on_dead, of.order);
        of_keys(self) == of_keys(other)
    }

    /// Whether the queue is paused at this instant (contract R16.10).
    pub fn is_paused(&self, now: Timestamp) -> bool {
        self.paused && self.paused_until.is_none_or(|end| now < end)
    }

    /// The note on this error group of the queue (contract R8.10).
    pub fn note(&self, group: GroupId) -> Option<&GroupNote> {
        self.notes.get(group)
    }

    /// The settings without notes: not everybody who may see the queue may see every group.
    pub fn without_notes(&self) -> Cow<'_, Self> {
        if self.notes.is_empty() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { notes: GroupNotes::default(), ..self.clone() })
    }

    /// How many waiting jobs of a partition key, from the first one, are not blocked (contract
    /// R7.3). `held` says whether a dead head holds the key, `running` how many of its jobs run,
    /// and `due`, for each waiting job by sequence, whether its time has come.
    pub fn unblocked(
        &self,
        held: bool,
        running: usize,
        due: impl IntoIterator<Item = bool>,
    ) -> usize {
        let mut free = self.free_leases(held, running);
        let mut unblocked = 0;
        for is_due in due {
            if free == 0 {
                break;
            }
            unblocked += 1;
            match self.key_on_wait {
                KeyOnWait::Block if !is_due => break,
                KeyOnWait::Skip if !is_due => {}
                KeyOnWait::Block | KeyOnWait::Skip => free -= 1,
            }
        }
        unblocked
    }

    /// How many more leases a partition key may get now.
    pub(crate) fn free_leases(&self, held: bool, running: usize) -> usize {
        if held && self.key_on_dead == KeyOnDead::Hold {
            return 0;
        }
        (self.per_key as usize).saturating_sub(running)
    }
}
