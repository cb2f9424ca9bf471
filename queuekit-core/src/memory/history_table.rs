//! What history keeps.

use std::collections::BTreeMap;

use crate::clock::Timestamp;
use crate::history::{HistoryPlace, Resolution, Runs, RunsAdded};
use crate::names::{Kind, QueueName};
use crate::queue::Totals;

/// The minute that was recorded last, and the rows by resolution and place.
#[derive(Clone, Debug, Default)]
pub(super) struct HistoryTable {
    pub(super) minute: Option<Timestamp>,
    pub(super) totals: BTreeMap<(Resolution, HistoryPlace), (Timestamp, Totals)>,
    pub(super) runs: BTreeMap<(Resolution, HistoryPlace), Runs>,
    /// The pairs whose runs are kept apart, and when they were last added to.
    pairs: BTreeMap<(QueueName, Kind), Timestamp>,
}

impl HistoryTable {
    pub(super) fn add_runs(&mut self, added: RunsAdded, now: Timestamp, most: usize) {
        let RunsAdded { queue, kind, runs } = added;
        let kind = kind.filter(|kind| self.admit((queue.clone(), kind.clone()), now, most));
        for &resolution in Resolution::ALL {
            let (at, queue, kind) = (resolution.start_of(now), queue.clone(), kind.clone());
            let place = HistoryPlace { at, queue, kind };
            self.runs.entry((resolution, place)).or_default().merge(&runs);
        }
    }

    /// Whether the runs of this pair are kept apart.
    fn admit(&mut self, pair: (QueueName, Kind), now: Timestamp, most: usize) -> bool {
        let has_room = self.pairs.contains_key(&pair) || self.pairs.len() < most;
        if has_room {
            self.pairs.insert(pair, now);
        }
        has_room
    }

    /// Removes rows and pairs that are too old; at most this many.
    pub(super) fn forget(&mut self, now: Timestamp, most: usize) -> usize {
        let is_old =
            |(resolution, place): &(Resolution, HistoryPlace)| place.at < resolution.oldest(now);
        let mut left = most;
        let mut take = |old: bool| {
            let taken = old && left > 0;
            left -= usize::from(taken);
            taken
        };
        self.totals.retain(|key, _| !take(is_old(key)));
        self.runs.retain(|key, _| !take(is_old(key)));
        self.pairs.retain(|_, at| !take(*at < Resolution::Hour.oldest(now)));
        most - left
    }
}
