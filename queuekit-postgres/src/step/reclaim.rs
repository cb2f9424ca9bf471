//! Leases that ran out, and jobs that can be leased no more (contract R5.6 to R5.8).

use queuekit_core::lifecycle::Transition;
use queuekit_core::limits::{BURIALS_PER_RESERVE, reclaims_per_reserve};
use queuekit_core::{ErrorText, JobId, QueueName};

use super::change::{Change, Overdue};
use super::hints::Hints;
use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// What one call of reserve may still do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    reclaims: usize,
    burials: usize,
}

/// Why a job is not leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doom {
    Deadline,
    Corrupt,
    /// It was due when it was placed, and the server's clock has been set back since.
    Early,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { reclaims: reclaims_per_reserve(limit), burials: BURIALS_PER_RESERVE }
    }

    pub(super) fn burials(&self) -> usize {
        self.burials
    }

    pub(super) fn has_buried(&self) -> bool {
        self.burials < BURIALS_PER_RESERVE
    }
}

/// Takes back leases that ran out, earliest first, in the transaction that was begun.
pub(super) async fn reclaim(
    session: &Session<'_>,
    names: &[QueueName],
    hints: &Hints,
    budget: &mut Budget,
) -> Outcome<()> {
    let queues: Vec<&str> = names.iter().map(QueueName::as_str).collect();
    let most = i32::try_from(budget.reclaims).unwrap_or(i32::MAX);
    let after_ms = hints.expired(names.iter());
    let (ids, mut change) = match Change::overdue(session, queues, most, after_ms).await? {
        Overdue::Some(ids, change) => (ids, change),
        Overdue::None { as_of } => {
            hints.none_expired(names.iter(), as_of);
            return Ok(());
        }
    };
    for id in ids.into_iter().take(budget.reclaims) {
        let Some(record) = change.record(id) else {
            continue;
        };
        let corrupt = record.is_corrupt();
        let last = record.attempts >= record.max_attempts;
        let dies = corrupt || (last && !record.cancel_requested);
        if dies && budget.burials == 0 {
            continue;
        }
        budget.burials -= usize::from(dies);
        if corrupt {
            change.bury(id, Transition::Quarantine, &ErrorText::from("corrupt")).await?;
        } else {
            change.expire(id).await?;
        }
    }
    change.finish().await?;
    hints.forget();
    Ok(())
}

/// Buries jobs instead of leasing them, or has them wait for their time. Those that were leased a
/// moment ago have not been: nobody was told.
pub(super) async fn refuse(
    mut change: Change<'_>,
    doomed: &[(JobId, Doom)],
    budget: &mut Budget,
) -> Outcome<()> {
    for (id, doom) in doomed {
        let (transition, reason) = match doom {
            Doom::Deadline => (Transition::MissDeadline, "deadline"),
            Doom::Corrupt => (Transition::Quarantine, "corrupt"),
            Doom::Early => {
                place_anew(&change, *id).await?;
                continue;
            }
        };
        if budget.burials == 0 {
            change.give_back(*id);
            continue;
        }
        budget.burials -= 1;
        change.take_back(*id);
        change.bury(*id, transition, &ErrorText::from(reason)).await?;
    }
    change.finish().await.map(drop)
}

/// The key of a job that was taken out of reserve's reach is looked at anew.
async fn place_anew(change: &Change<'_>, id: JobId) -> Outcome<()> {
    if let Some(record) = change.record(id) {
        let (queue, lane) = (record.queue, record.partition_key());
        change.session.query(Sql::AgendaPut, params![queue, lane]).await?;
    }
    Ok(())
}
