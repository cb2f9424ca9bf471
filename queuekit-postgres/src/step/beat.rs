//! Presence of a worker (contract R3.9).

use queuekit_core::capability::Beat;
use queuekit_core::{Limits, WorkerId};

use crate::error::Outcome;
use crate::params::params;
use crate::row::millis;
use crate::session::Session;
use crate::statements::Sql;

/// The advisory lock, in the schema's class, for adding workers: they are added one by one, so that
/// the limit holds.
const LOCK: i32 = -4;

/// A beat of a listed worker touches its own row only.
pub(crate) async fn beat(session: &Session<'_>, beat: &Beat, limits: &Limits) -> Outcome<()> {
    let (queues, kinds) = (beat.queues.to_text(), beat.kinds.to_text());
    let (id, ttl_ms) = (beat.id.as_str(), millis(beat.ttl.get()));
    let (slots, running) = (beat.slots.cast_signed(), beat.running.cast_signed());
    // A text in Postgres cannot contain NUL.
    let name = beat.name.replace('\0', "\u{fffd}");
    let row = params![id, name, queues, kinds, slots, running, ttl_ms];
    if !session.settle(Sql::Beat, row).await?.is_empty() {
        return Ok(());
    }
    let most = i32::try_from(limits.workers()).unwrap_or(i32::MAX);
    let row = params![id, name, queues, kinds, slots, running, ttl_ms, most];
    let lock_class = session.statements.lock_class();
    let lock = params![LOCK, lock_class];
    let (_, listed) = session.settle_both((Sql::LockQueue, lock), (Sql::BeatFirst, row)).await?;
    if listed.is_empty() {
        limits.admit_worker(limits.workers()).map_err(|error| error.on(&beat.id))?;
    }
    Ok(())
}

/// Returns whether the worker was listed.
pub(crate) async fn forget_worker(session: &Session<'_>, worker: &WorkerId) -> Outcome<bool> {
    let gone = session.settle(Sql::WorkerForget, params![worker.as_str()]).await?;
    Ok(!gone.is_empty())
}
