//! The checks of queues.

use queuekit::queues::{Keep, Queue};

use super::checks::{UNANSWERED, none_of};
use super::item::{Seen, State};
use crate::web::glob::Glob;
use crate::web::keys::{KeyEntry, Scope};

pub(super) fn retention(seen: &Seen<'_>) -> State {
    let Some(queues) = &seen.queues else { return UNANSWERED };
    let is_open = |queue: &&Queue| queue.settings.retention.dead == Keep::ALL;
    none_of(queues.iter().filter(is_open).map(|queue| &queue.name), "keeps them forever")
}

pub(super) fn max_pending(seen: &Seen<'_>) -> State {
    let Some(queues) = &seen.queues else { return UNANSWERED };
    // Deliveries are stored without regard to it.
    let is_open =
        |queue: &&Queue| queue.settings.max_pending.is_none() && !queue.name.is_reserved();
    let open = queues.iter().filter(is_open).map(|queue| &queue.name);
    match none_of(open, "has no limit") {
        State::Ok => {
            let keys = seen.sources.file.keys.iter();
            let creators = keys.filter(|key| creates_queues(key, queues)).map(|key| &key.id);
            none_of(creators, "may create queues, which have no limit at first")
        }
        open => open,
    }
}

/// Whether the key may store jobs in queues that do not exist.
fn creates_queues(key: &KeyEntry, queues: &[Queue]) -> bool {
    let stores = key.has(Scope::Enqueue) || key.has(Scope::Manage);
    let exists = |glob: &Glob| {
        glob.is_reserved()
            || glob.is_name() && queues.iter().any(|queue| glob.matches(queue.name.as_str()))
    };
    stores && (key.queues.is_empty() || !key.queues.iter().all(exists))
}
