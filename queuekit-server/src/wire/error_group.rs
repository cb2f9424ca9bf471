//! Which error groups are asked for, and error groups in answers.

use queuekit::JobId;
use queuekit::error_groups::{ErrorGroup, RecentErrors};
use queuekit::queues::QueueSettings;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{NoteBody, Time};

/// The most queues whose groups are merged into one list.
pub(crate) const MERGED_QUEUES: usize = 100;

/// Which groups.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ErrorGroupsQuery {
    /// Only groups of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) queue: Option<String>,
    /// Most groups.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub(crate) limit: Option<usize>,
}

/// Of which queue.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ErrorGroupQuery {
    /// Only the group of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    pub(crate) queue: Option<String>,
}

/// Error groups, the most recent first.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ErrorGroups, bound = "")]
pub(crate) struct ErrorGroupsBody<T = ErrorGroupBody> {
    #[schema(value_type = Vec<ErrorGroupBody>)]
    pub(crate) groups: Vec<T>,
}

/// Errors of one queue that look alike.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ErrorGroup)]
pub(crate) struct ErrorGroupBody {
    /// Made of kind and signature, so that it is the same in each queue.
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub(crate) id: String,
    pub(crate) queue: String,
    pub(crate) kind: String,
    /// The first line of the errors, with numbers, quoted text, paths and the like masked.
    pub(crate) signature: String,
    /// Attempts that failed with such an error, expired leases included.
    pub(crate) failures: u64,
    /// Jobs that died of it, including those that were deleted or retried since.
    pub(crate) deaths: u64,
    /// When the group began.
    pub(crate) first: Time,
    /// When it was last added to.
    pub(crate) last: Time,
    /// The job that it was last added to for; it may be gone.
    pub(crate) sample: JobId,
    pub(crate) recent: RecentErrorsBody,
    /// What an operator wrote about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) note: Option<NoteBody>,
}

/// How many errors occurred lately. A failure that ended its job dead is one error. Hours and days
/// are those of UTC, by the clock of the store.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RecentErrors)]
pub(crate) struct RecentErrorsBody {
    /// In each of the last 24 hours, the current one last.
    #[schema(min_items = 24, max_items = 24)]
    pub(crate) hours: Vec<u64>,
    /// On each of the last 7 days, the current one last.
    #[schema(min_items = 7, max_items = 7)]
    pub(crate) days: Vec<u64>,
}

impl RecentErrorsBody {
    fn of(recent: &RecentErrors) -> Self {
        Self { hours: recent.hours().to_vec(), days: recent.days().to_vec() }
    }

    pub(crate) fn in_hour(&self) -> u64 {
        self.hours.last().copied().unwrap_or_default()
    }

    pub(crate) fn in_24_hours(&self) -> u64 {
        self.hours.iter().sum()
    }

    pub(crate) fn in_7_days(&self) -> u64 {
        self.days.iter().sum()
    }
}

impl ErrorGroupBody {
    /// A group, with the note on it in the settings of its queue.
    pub(crate) fn of(group: &ErrorGroup, settings: Option<&QueueSettings>) -> Self {
        let id = group.key.id();
        Self {
            id: id.to_string(),
            queue: group.queue.to_string(),
            kind: group.key.kind.to_string(),
            signature: group.key.signature.to_string(),
            failures: group.failures,
            deaths: group.deaths,
            first: Time(group.first),
            last: Time(group.last),
            sample: group.sample,
            recent: RecentErrorsBody::of(&group.recent),
            note: settings.and_then(|settings| settings.note(id)).map(NoteBody::of),
        }
    }
}
