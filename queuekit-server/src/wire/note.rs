//! Notes on error groups, in requests and answers.

use queuekit::error_groups::GroupNote;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Time;

/// What an operator wrote about an error group.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Note)]
pub(crate) struct NoteBody {
    pub(crate) text: String,
    /// Who wrote it: the id of the API key, `account@host` for a command on the store, or `-` on a
    /// server without keys.
    pub(crate) by: String,
    /// When it was written.
    pub(crate) at: Time,
}

impl NoteBody {
    pub(crate) fn of(note: &GroupNote) -> Self {
        let GroupNote { group: _, text, by, at } = note;
        Self { text: text.clone(), by: by.clone(), at: Time(*at) }
    }
}

/// A note to be written.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NewNote)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNoteBody {
    /// At most 500 bytes without control characters; an empty text removes the note.
    #[schema(max_length = 500)]
    pub(crate) text: String,
}

/// The queue of the group.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct NoteQuery {
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) queue: String,
}
