//! What operators write about error groups (contract R8.10).

use serde::{Deserialize, Serialize};

use super::GroupId;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::storable;
use crate::limits::{ACT_WORD_BYTES, GROUP_NOTES, NOTE_BYTES};
use crate::rfc3339;

/// A note of an operator on an error group of a queue.
// Exhaustive: a page that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupNote {
    /// The group.
    pub group: GroupId,
    /// What the operator wrote.
    pub text: String,
    /// Who wrote it, as the audit log names them.
    pub by: String,
    /// When it was written, by the store's clock.
    #[serde(with = "rfc3339")]
    pub at: Timestamp,
}

/// A note to be written; the store adds the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewNote {
    group: GroupId,
    text: String,
    by: String,
}

impl NewNote {
    pub(crate) fn new(group: GroupId, text: String, by: &str) -> Self {
        Self { group, text, by: storable(by, ACT_WORD_BYTES) }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if is_text(&self.text) {
            return Ok(());
        }
        let limit = format!("at most {NOTE_BYTES} bytes without control characters");
        Err(Error::invalid("note", limit, format!("{} bytes", self.text.len())))
    }
}

/// The notes of a queue, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GroupNotes(Vec<GroupNote>);

impl GroupNotes {
    pub(crate) fn get(&self, group: GroupId) -> Option<&GroupNote> {
        self.0.iter().find(|note| note.group == group)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the note of the group, or removes it if the new text is empty. Beyond the most that
    /// a queue keeps, the oldest note goes.
    pub(crate) fn write(&mut self, new: &NewNote, at: Timestamp) {
        let NewNote { group, text, by } = new.clone();
        self.0.retain(|note| note.group != group);
        if !text.is_empty() {
            self.0.push(GroupNote { group, text, by, at });
        }
        self.keep_latest();
    }

    /// Reads stored notes; what cannot be read, or is out of bounds, is left out.
    pub(crate) fn from_stored(stored: serde_json::Value) -> Self {
        let serde_json::Value::Array(stored) = stored else { return Self::default() };
        let read = stored.into_iter().filter_map(|note| serde_json::from_value(note).ok());
        let is_kept = |note: &GroupNote| {
            !note.text.is_empty() && is_text(&note.text) && note.by.len() <= ACT_WORD_BYTES
        };
        let mut notes = Self(read.filter(is_kept).collect());
        notes.keep_latest();
        notes
    }

    fn keep_latest(&mut self) {
        let surplus = self.0.len().saturating_sub(GROUP_NOTES);
        self.0.drain(..surplus);
    }
}

fn is_text(text: &str) -> bool {
    text.len() <= NOTE_BYTES && !text.contains(char::is_control)
}
