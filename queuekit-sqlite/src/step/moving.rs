//! Placing the waiting jobs and the keys of a queue anew, after a change of its order or of the
//! rules for its keys (contract R6.7).
//!
//! The queue's row keeps how far this has come, so that it takes many steps, and any process can
//! continue. Until its end nothing of the queue is leased. Jobs that are stored or that end
//! meanwhile are placed as the new settings want it.

use queuekit_core::queue::QueueSettings;
use queuekit_core::{QueueName, Result};
use rusqlite::params;

use super::Step;
use super::queue::Moving;
use crate::column_names::columns;
use crate::row::PLAIN;
use crate::statements::*;

/// The most jobs or keys of a sort that one step places.
const SLICE: usize = 1000;

columns! {
    struct ReadyColumns { rank, at, seq }
    struct WaitingColumns { lane, seq }
}

impl Step<'_> {
    /// Begins to place all of a queue anew, if its new settings want that.
    pub(super) fn begin_move(&mut self, queue: usize, was: &QueueSettings) -> Result<()> {
        let row = &mut self.queues[queue];
        if !row.settings.treats_keys_as(was) {
            row.moving = Some(Moving::after(was, &row.settings, row.moving.is_some()));
        }
        self.place_slice(queue)
    }

    /// Places the next slice of a queue anew. Returns whether there is more.
    pub(crate) fn move_queue(&mut self, name: &QueueName) -> Result<bool> {
        let Some(queue) = self.queue(name)? else {
            return Ok(false);
        };
        self.place_slice(queue)?;
        Ok(self.queues[queue].moving.is_some())
    }

    /// Places a slice of those of these queues that a change of settings has left in the middle;
    /// one of all, because each reserve of a transaction comes here.
    pub(super) fn continue_moves(&mut self, names: &[QueueName]) -> Result<()> {
        for name in names {
            if let Some(queue) = self.queue(name)?
                && self.queues[queue].moving.is_some()
                && !std::mem::replace(&mut self.has_moved, true)
            {
                self.place_slice(queue)?;
            }
        }
        Ok(())
    }

    fn place_slice(&mut self, queue: usize) -> Result<()> {
        let Some(mut moving) = self.queues[queue].moving.take() else {
            return Ok(());
        };
        // Ends behind the first full slice.
        let next = loop {
            let end = match &moving {
                Moving::Ready(rank, at, seq) => self.move_ready(queue, (*rank, *at, *seq))?,
                Moving::Waiting(lane, seq) => self.move_waiting(queue, lane, *seq)?,
                Moving::Keys(lane) => self.move_keys(queue, lane)?,
            };
            moving = match (end, moving) {
                (Some(end), _) => break Some(end),
                (None, Moving::Ready(..)) => Moving::waiting(),
                (None, Moving::Waiting(..)) => Moving::keys(),
                (None, Moving::Keys(_)) => break None,
            };
        };
        let text = next.as_ref().map(serde_json::to_string).transpose().map_err(unwritable)?;
        self.execute(QUEUE_MOVE, params![self.queues[queue].id, text])?;
        if next.is_none() {
            self.stir(queue);
        }
        self.queues[queue].moving = next;
        Ok(())
    }

    fn move_ready(&mut self, queue: usize, from: (i64, i64, i64)) -> Result<Option<Moving>> {
        let (id, is_fair) = (self.queues[queue].id, self.queues[queue].is_fair());
        let slice = params![id, from.0, from.1, from.2, SLICE];
        let end = self.row(MOVE_READY_END, slice, |row, at: &ReadyColumns| {
            Ok(Moving::Ready(row.get(at.rank)?, row.get(at.at)?, row.get(at.seq)?))
        })?;
        self.execute(if is_fair { MOVE_READY_FAIR } else { MOVE_READY_STRICT }, slice)?;
        if end.is_none() {
            // Of those that left meanwhile some were counted, and some were not.
            let mut plain = self.lane(queue, PLAIN)?;
            plain.waiting = self.value(PLAIN_COUNT, [id])?.unwrap_or_default();
            self.refresh(&mut plain)?;
        }
        Ok(end)
    }

    fn move_waiting(&mut self, queue: usize, lane: &str, seq: i64) -> Result<Option<Moving>> {
        if !self.queues[queue].skips() {
            return Ok(None);
        }
        let (id, now) = (self.queues[queue].id, self.now.as_millis());
        self.execute(MOVE_WAITING, params![id, lane, seq, SLICE, now])?;
        self.row(MOVE_WAITING_END, params![id, lane, seq, SLICE], |row, at: &WaitingColumns| {
            Ok(Moving::Waiting(row.get(at.lane)?, row.get(at.seq)?))
        })
    }

    fn move_keys(&mut self, queue: usize, after: &str) -> Result<Option<Moving>> {
        let id = self.queues[queue].id;
        let slice: Vec<String> = self.column(LANES, params![id, after, SLICE])?;
        for name in &slice {
            let mut lane = self.lane(queue, name)?;
            self.refresh(&mut lane)?;
        }
        Ok(slice.into_iter().nth(SLICE - 1).map(Moving::Keys))
    }
}

fn unwritable(error: serde_json::Error) -> queuekit_core::Error {
    let message = "how far the keys of the queue are placed cannot be written";
    queuekit_core::Error::new(queuekit_core::ErrorKind::Corrupt, message).caused_by(error)
}
