//! Tells the workers of this process which runs another process has asked to stop.

use std::collections::HashSet;

use queuekit_core::QueueName;
use queuekit_core::capability::WakeupHub;
use rusqlite::Connection;

use crate::column_names::{Columns, columns};
use crate::statements::CANCELS;

/// The most runs that one look reads. It is more than stop at once; the workers of further ones
/// learn of it with their next heartbeats.
const MOST: usize = 1000;

columns! {
    struct CancelColumns { key, lease_seq, queue }
}

#[derive(Debug, Default)]
pub(crate) struct Cancels {
    /// The runs of the last look, by job and lease. Their workers know: telling them again would
    /// make them extend their leases, so that processes would wake each other for ever.
    told: HashSet<(i64, i64)>,
}

impl Cancels {
    /// Rings for the queues of runs that were asked to stop since the last look.
    pub(crate) fn look(&mut self, conn: &Connection, wakeups: &WakeupHub) -> rusqlite::Result<()> {
        let mut statement = conn.prepare_cached(CANCELS)?;
        let at = CancelColumns::of(CANCELS, &statement)?;
        let mut found = HashSet::new();
        let mut rows = statement.query([MOST])?;
        while let Some(row) = rows.next()? {
            let run = (row.get(at.key)?, row.get(at.lease_seq)?);
            let queue = QueueName::new(row.get::<_, String>(at.queue)?);
            if let (false, Ok(queue)) = (self.told.contains(&run), queue) {
                wakeups.ring_cancel(&queue);
            }
            found.insert(run);
        }
        self.told = found;
        Ok(())
    }
}
