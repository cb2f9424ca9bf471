//! The counters of queues, with the deltas that are not folded yet (contract R8.3).

use queuekit_core::State;
use queuekit_core::queue::{Ends, Totals};
use tokio_postgres::Row;

use crate::column_names::columns;
use crate::error::Outcome;
use crate::params::params;
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;

/// The counters of one queue.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) queue: i32,
    /// By state.
    pub(crate) counts: [i64; State::ALL.len()],
    /// Bytes of payloads and results, by state; only of those that have ended.
    pub(crate) sizes: [i64; State::ALL.len()],
    pub(crate) corrupt: i64,
    pub(crate) ends: Ends,
    pub(crate) totals: Totals,
}

/// The counters of some queues.
pub(crate) async fn figures(session: &Session<'_>, queues: Vec<i32>) -> Outcome<Vec<Figures>> {
    let rows = session.query(Sql::Figures, params![queues]).await?;
    let at = FiguresColumns::of(&rows)?;
    rows.iter().map(|row| Ok(Figures::read(row, &at)?)).collect()
}

columns! {
    struct FiguresColumns {
        id, pending, running, completed, dead, cancelled, completed_size, dead_size,
        cancelled_size, corrupt, last_ended, ended, died, total_ended, total_dead,
        total_cancelled, total_removed, total_failed,
    }
}

impl Figures {
    fn read(row: &Row, at: &FiguresColumns) -> Result<Self, tokio_postgres::Error> {
        let (mut counts, mut sizes) = ([0; State::ALL.len()], [0; State::ALL.len()]);
        for (state, column) in [
            (State::Pending, at.pending),
            (State::Running, at.running),
            (State::Completed, at.completed),
            (State::Dead, at.dead),
            (State::Cancelled, at.cancelled),
        ] {
            counts[state as usize] = row.try_get(column)?;
        }
        for (state, column) in [
            (State::Completed, at.completed_size),
            (State::Dead, at.dead_size),
            (State::Cancelled, at.cancelled_size),
        ] {
            sizes[state as usize] = row.try_get(column)?;
        }
        let mut ring = Ends::from_bytes(row.try_get(at.last_ended)?);
        let (ended, died): (Vec<i32>, Vec<i32>) = (row.try_get(at.ended)?, row.try_get(at.died)?);
        ended.into_iter().zip(died).for_each(|(ended, died)| push_ends(&mut ring, ended, died));
        let total = |column| row.try_get(column).map(unsigned);
        let ends = Totals::of_ends(
            total(at.total_ended)?,
            total(at.total_dead)?,
            total(at.total_cancelled)?,
        );
        let enqueued = counts.iter().sum::<i64>() + row.try_get::<_, i64>(at.total_removed)?;
        let failed = total(at.total_failed)?;
        let totals = Totals { enqueued: unsigned(enqueued), failed, ..ends };
        let (queue, corrupt) = (row.try_get(at.id)?, row.try_get(at.corrupt)?);
        Ok(Self { queue, counts, sizes, corrupt, ends: ring, totals })
    }
}

/// Adds the ends of one statement to the ring. The order of ends within a statement is not known.
pub(crate) fn push_ends(ring: &mut Ends, ended: i32, died: i32) {
    (0..ended).for_each(|at| ring.push(at >= ended - died));
}
