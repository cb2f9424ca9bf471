//! Leases that ran out, and jobs that cannot be leased any more (contract R5.6 to R5.8).

use queuekit_core::lifecycle::{Budget, Transition};
use queuekit_core::{ErrorText, JobId, QueueName};

use super::change::{Change, Overdue};
use super::hints::Hints;
use crate::error::Outcome;
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// Why a job is not leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Deadline,
    Corrupt,
    /// The job was due when it was placed, and the server's clock was set back since.
    Early,
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
    for id in ids {
        let Some(record) = change.record(id) else {
            continue;
        };
        let corrupt = record.is_corrupt();
        let last = record.attempts >= record.max_attempts;
        let dies = corrupt || (last && !record.cancel_requested);
        if !budget.expire(dies) {
            continue;
        }
        if corrupt {
            change.dead_letter(id, Transition::Quarantine, &ErrorText::from("corrupt")).await?;
        } else {
            change.expire(id).await?;
        }
    }
    change.finish().await?;
    hints.forget();
    Ok(())
}

/// Dead-letters jobs instead of leasing them, or lets them wait for their time. A lease granted a
/// moment ago does not count, because it was not returned to anybody.
pub(super) async fn refuse(
    mut change: Change<'_>,
    refused: &[(JobId, Refusal)],
    budget: &mut Budget,
) -> Outcome<()> {
    for (id, refusal) in refused {
        let (transition, reason) = match refusal {
            Refusal::Deadline => (Transition::MissDeadline, "deadline"),
            Refusal::Corrupt => (Transition::Quarantine, "corrupt"),
            Refusal::Early => {
                place_anew(&change, *id).await?;
                continue;
            }
        };
        if !budget.dead_letter() {
            change.give_back(*id);
            continue;
        }
        change.take_back(*id);
        change.dead_letter(*id, transition, &ErrorText::from(reason)).await?;
    }
    change.finish().await.map(drop)
}

/// Puts the key of a job that was taken out of ready among the dirty keys.
async fn place_anew(change: &Change<'_>, id: JobId) -> Outcome<()> {
    if let Some(record) = change.record(id) {
        let (queue, key) = (record.queue, record.partition_key());
        change.session.query(Sql::AgendaPut, params![queue, key]).await?;
    }
    Ok(())
}
