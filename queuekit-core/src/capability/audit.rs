//! The audit log: what operators changed (contract R8.6).

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::backend::PageSize;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::storable;
use crate::limits::{ACT_TARGET_BYTES, ACT_WORD_BYTES};

/// Keeps the latest changes by operators.
///
/// A change and its entry are two steps, in this order: a process that dies between them leaves a
/// change without an entry. Only the server and the commands add entries. An application that calls
/// the store itself can add its own.
#[async_trait]
pub trait AuditLog: Debug + Send + Sync {
    /// Adds an entry, at the store's present time, and removes the oldest beyond
    /// [`Limits::audit_entries`](crate::Limits::audit_entries).
    ///
    /// A call that is repeated after `Indeterminate` may add a second entry.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn record_act(&self, act: &Act) -> Result<()>;

    /// The entries, newest first: those whose number is below `before`, or the newest. Fewer than
    /// `limit` are the last.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>>;
}

/// What an operator did, and the outcome. Long texts are cut.
///
/// ```
/// use queuekit_core::capability::Act;
///
/// let act = Act::new("ops", "retry", "status:dead queue:mail").counted(120, 118);
/// assert_eq!(act.with_outcome("done").changed, Some(118));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Act {
    /// The id of the API key, or the account that ran the command.
    pub who: String,
    /// The action, as one word: `pause`, `retry`, `remove`.
    pub action: String,
    /// The target: `queue mail`, `job 0199..`, or the filter of a bulk action.
    pub target: String,
    /// How many jobs the filter of a bulk action matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<u64>,
    /// How many jobs a bulk action changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<u64>,
    /// `done`, the outcome in a word, or the kind of the error.
    pub outcome: String,
}

impl Act {
    /// An act that was done.
    pub fn new(who: &str, action: &str, target: &str) -> Self {
        Self {
            who: storable(who, ACT_WORD_BYTES),
            action: storable(action, ACT_WORD_BYTES),
            target: storable(target, ACT_TARGET_BYTES),
            matched: None,
            changed: None,
            outcome: "done".to_owned(),
        }
    }

    /// How many jobs it matched and changed.
    #[must_use]
    pub fn counted(mut self, matched: u64, changed: u64) -> Self {
        (self.matched, self.changed) = (Some(matched), Some(changed));
        self
    }

    /// Sets the outcome.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &str) -> Self {
        self.outcome = storable(outcome, ACT_WORD_BYTES);
        self
    }

    /// The act as one text, for stores that keep it as text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_text`](Self::to_text) wrote; none if it cannot be read.
    pub fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// An entry of the audit log.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The number of the entry, which rises from entry to entry. The next page begins before it.
    pub seq: u64,
    /// When the entry was made, by the store's clock.
    pub at: Timestamp,
    /// What was done.
    pub act: Act,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_6_an_act_is_bounded_whatever_is_named() {
        let long = "x".repeat(100_000);
        let act = Act::new(&long, &long, &long).counted(u64::MAX, u64::MAX).with_outcome(&long);
        assert!(act.to_text().len() < 3_000, "{} bytes", act.to_text().len());
        assert_eq!(Act::from_text(&act.to_text()), Some(act));
    }

    #[test]
    fn r8_6_an_act_is_read_as_it_was_written() {
        for act in [
            Act::new("ops", "pause", "queue mail"),
            Act::new("ops", "retry", "status:dead").counted(3, 2).with_outcome("unavailable"),
            Act::new("\u{0}\u{1b}", "\"", "\n"),
        ] {
            assert_eq!(Act::from_text(&act.to_text()), Some(act));
        }
        assert_eq!(Act::from_text("{"), None);
    }
}
