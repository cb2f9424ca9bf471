//! Presence of workers, and orders to them (contract R3.9).

use std::num::NonZeroU32;

use queuekit_core::capability::{Beat, Orders, WorkerOrder};
use queuekit_core::{Result, WorkerId};
use rusqlite::{Row, params};

use super::Step;
use crate::column_names::columns;
use crate::row::{millis, unsigned};
use crate::statements::*;

impl Step<'_> {
    pub(crate) fn beat(&mut self, beat: &Beat) -> Result<Orders> {
        let listed = self.orders(&beat.id)?;
        if listed.is_none() {
            self.execute(WORKERS_FORGET, [self.now.as_millis()])?;
            let listed = self.value(WORKER_COUNT, [])?.unwrap_or(0);
            self.limits.admit_worker(listed).map_err(|error| error.on(&beat.id))?;
        }
        let statement = if listed.is_some() { WORKER_UPDATE } else { WORKER_INSERT };
        let new = Orders::of_new(beat.obeyed());
        let orders = listed.map_or(new, |orders| orders.after(beat.obeyed()));
        let (queues, kinds) = (beat.queues.to_text(), beat.kinds.to_text());
        let row = params![
            beat.id.as_str(),
            beat.name,
            queues,
            kinds,
            beat.slots,
            beat.running,
            millis(beat.ttl.get()),
            self.now.as_millis(),
            millis(beat.quiet_for()),
            beat.about.to_json(),
            orders.seq.cast_signed(),
            orders.mode.map(|mode| mode.as_str()),
            orders.slots.map(NonZeroU32::get),
        ];
        self.execute(statement, row)?;
        Ok(orders)
    }

    pub(crate) fn forget_worker(&mut self, worker: &WorkerId) -> Result<bool> {
        let gone = self.execute(WORKER_FORGET, params![worker.as_str(), self.now.as_millis()])?;
        Ok(gone == 1)
    }

    pub(crate) fn control(
        &mut self,
        workers: &[WorkerId],
        order: WorkerOrder,
    ) -> Result<Vec<bool>> {
        workers.iter().map(|worker| self.control_one(worker, order)).collect()
    }

    fn control_one(&mut self, worker: &WorkerId, order: WorkerOrder) -> Result<bool> {
        let Some(orders) = self.orders(worker)? else {
            return Ok(false);
        };
        let Orders { seq, mode, slots } = orders.with(order);
        let (mode, slots) = (mode.map(|mode| mode.as_str()), slots.map(NonZeroU32::get));
        let row = params![worker.as_str(), seq.cast_signed(), mode, slots];
        self.execute(WORKER_ORDER, row).map(|changed| changed == 1)
    }

    /// The orders of a worker, if it is listed.
    fn orders(&self, worker: &WorkerId) -> Result<Option<Orders>> {
        let read = |row: &Row<'_>, at: &OrderColumns| orders(row, at);
        self.row(WORKER_ORDERS, params![self.now.as_millis(), worker.as_str()], read)
    }
}

columns! {
    pub(crate) struct OrderColumns { order_seq, order_mode, order_slots }
}

/// Skips what is no order.
pub(crate) fn orders(row: &Row<'_>, at: &OrderColumns) -> rusqlite::Result<Orders> {
    let mode: Option<String> = row.get(at.order_mode)?;
    let slots: Option<u32> = row.get(at.order_slots)?;
    Ok(Orders {
        seq: unsigned(row.get(at.order_seq)?),
        mode: mode.and_then(|mode| mode.parse().ok()),
        slots: slots.and_then(NonZeroU32::new),
    })
}
