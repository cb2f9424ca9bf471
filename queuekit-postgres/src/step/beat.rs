//! Presence of a worker, and orders to it (contract R3.9).

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use queuekit_core::capability::{Beat, OrderedMode, Orders, WorkerOrder};
use queuekit_core::{Limits, WorkerId};
use tokio_postgres::Row;

use crate::error::Outcome;
use crate::params::params;
use crate::row::{millis, unsigned};
use crate::session::Session;
use crate::statements::Sql;

/// The advisory lock, in the schema's class, for adding workers: they are added one by one, so that
/// the limit holds.
const LOCK: i32 = -4;

/// A beat of a listed worker touches its own row only.
pub(crate) async fn beat(session: &Session<'_>, beat: &Beat, limits: &Limits) -> Outcome<Orders> {
    let (queues, kinds) = (beat.queues.to_text(), beat.kinds.to_text());
    let (id, ttl_ms) = (beat.id.as_str(), millis(beat.ttl.get()));
    let (slots, running) = (beat.slots.cast_signed(), beat.running.cast_signed());
    // A text in Postgres cannot contain NUL.
    let name = beat.name.replace('\0', "\u{fffd}");
    let (quiet_ms, about) = (millis(beat.quiet_for()), beat.about.to_json());
    let obeyed = beat.obeyed().cast_signed();
    let row = params![id, name, queues, kinds, slots, running, ttl_ms, quiet_ms, about, obeyed];
    if let Some(row) = session.settle(Sql::Beat, row).await?.first() {
        return Ok(orders(row)?);
    }
    let most = i32::try_from(limits.workers()).unwrap_or(i32::MAX);
    let seq = Orders::of_new(beat.obeyed()).seq.cast_signed();
    let row = params![id, name, queues, kinds, slots, running, ttl_ms, quiet_ms, about, seq, most];
    let lock_class = session.statements.lock_class();
    let lock = params![LOCK, lock_class];
    let (_, listed) = session.settle_both((Sql::LockQueue, lock), (Sql::BeatFirst, row)).await?;
    let Some(row) = listed.first() else {
        limits.admit_worker(limits.workers()).map_err(|error| error.on(&beat.id))?;
        return Ok(Orders::default());
    };
    Ok(orders(row)?)
}

/// Returns which of the workers were listed.
pub(crate) async fn control(
    session: &Session<'_>,
    workers: &[WorkerId],
    order: WorkerOrder,
) -> Outcome<Vec<bool>> {
    let ids: Vec<&str> = workers.iter().map(WorkerId::as_str).collect();
    let Orders { mode, slots, .. } = Orders::default().with(order);
    let mode = mode.map(OrderedMode::as_str);
    let slots = slots.map(|slots| slots.get().cast_signed());
    let rows = session.settle(Sql::WorkersOrder, params![ids, mode, slots]).await?;
    let listed: BTreeSet<&str> =
        rows.iter().map(|row| row.try_get("id")).collect::<Result<_, _>>()?;
    Ok(workers.iter().map(|worker| listed.contains(worker.as_str())).collect())
}

/// Skips what is no order.
pub(crate) fn orders(row: &Row) -> Result<Orders, tokio_postgres::Error> {
    let mode: Option<&str> = row.try_get("order_mode")?;
    let slots: Option<i32> = row.try_get("order_slots")?;
    Ok(Orders {
        seq: unsigned(row.try_get("order_seq")?),
        mode: mode.and_then(|mode| mode.parse().ok()),
        slots: slots.and_then(|slots| NonZeroU32::new(slots.cast_unsigned())),
    })
}

/// Returns whether the worker was listed.
pub(crate) async fn forget_worker(session: &Session<'_>, worker: &WorkerId) -> Outcome<bool> {
    let gone = session.settle(Sql::WorkerForget, params![worker.as_str()]).await?;
    Ok(!gone.is_empty())
}
