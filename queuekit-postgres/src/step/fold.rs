//! Counters: deltas are folded into one row per queue (contract R8.3).

use std::collections::BTreeMap;

use queuekit_core::queue::Ends;
use tokio_postgres::Row;

use super::error_groups;
use crate::column_names::columns;
use crate::counters::push_ends;
use crate::error::Outcome;
use crate::params::{params, typed};
use crate::session::Session;
use crate::statements::Sql;

/// The most deltas that one step folds.
const DELTAS: i32 = 20_000;
/// The number of the lock of folding.
const LOCK: i32 = -1;

/// The numbers of a delta, in the order in which the counters take them: pending, running,
/// completed, dead, cancelled; bytes of completed, dead, cancelled; corrupt; and what the delta's
/// ends add to the totals: ended, dead, cancelled; and removed.
const NUMBERS: usize = 13;

columns! {
    struct DeltaColumns {
        queue, pending, running, completed, dead, cancelled, completed_size, dead_size,
        cancelled_size, corrupt, ended, died, turn,
    }
}

#[derive(Default)]
struct Sum {
    numbers: [i64; NUMBERS],
    ends: Vec<(i32, i32)>,
    turn: i64,
}

/// Folds deltas into the counters and the error groups, of which `kept` are kept of a queue; does
/// nothing if another process is folding. Returns whether there may be more.
pub(crate) async fn fold(session: &Session<'_>, kept: usize) -> Outcome<bool> {
    session.begin_settling().await?;
    let lock_class = session.statements.lock_class();
    let lock = session.query(Sql::TryLock, params![LOCK, lock_class]).await?;
    if !lock.first().map_or(Ok(false), |row| row.try_get("taken"))? {
        return Ok(false);
    }
    let mut sums: BTreeMap<i32, Sum> = BTreeMap::new();
    let deltas = session.query(Sql::FoldTake, params![DELTAS]).await?;
    let at = DeltaColumns::of(&deltas)?;
    for row in &deltas {
        sums.entry(row.try_get(at.queue)?).or_default().add(row, &at)?;
    }
    if !sums.is_empty() {
        let queues: Vec<i32> = sums.keys().copied().collect();
        let mut rings: BTreeMap<i32, Ends> = BTreeMap::new();
        for row in session.query(Sql::FoldEnds, params![queues]).await? {
            let ends = Ends::from_bytes(row.try_get("last_ended")?);
            rings.insert(row.try_get("queue")?, ends);
        }
        put(session, &sums, &rings).await?;
    }
    let kept = i64::try_from(kept).unwrap_or(i64::MAX);
    let more = error_groups::fold(session, DELTAS, kept).await?;
    session.commit().await?;
    Ok(more || deltas.len() >= DELTAS as usize)
}

/// Takes the lock of folding: no other call folds until the transaction ends.
pub(super) async fn hold(session: &Session<'_>) -> Outcome<()> {
    session.lock(LOCK).await
}

async fn put(
    session: &Session<'_>,
    sums: &BTreeMap<i32, Sum>,
    rings: &BTreeMap<i32, Ends>,
) -> Outcome<()> {
    let queues: Vec<i32> = sums.keys().copied().collect();
    let mut numbers: [Vec<i64>; NUMBERS] = Default::default();
    let (mut turns, mut ends) = (Vec::new(), Vec::new());
    for (queue, sum) in sums {
        for (column, number) in numbers.iter_mut().zip(sum.numbers) {
            column.push(number);
        }
        turns.push(sum.turn);
        let mut ring = rings.get(queue).cloned().unwrap_or_default();
        for (ended, died) in &sum.ends {
            push_ends(&mut ring, *ended, *died);
        }
        ends.push(ring.to_bytes());
    }
    let ends: Vec<&[u8]> = ends.iter().map(Vec::as_slice).collect();
    let mut params = vec![typed(&queues)];
    params.extend(numbers.iter().map(typed));
    params.extend_from_slice(params![turns, ends]);
    session.query(Sql::FoldPut, &params).await.map(drop)
}

impl Sum {
    fn add(&mut self, row: &Row, at: &DeltaColumns) -> Result<(), tokio_postgres::Error> {
        let jobs = |column| row.try_get::<_, i32>(column).map(i64::from);
        let cancelled = jobs(at.cancelled)?;
        let (ended, died): (i32, i32) = (row.try_get(at.ended)?, row.try_get(at.died)?);
        let totals = match ended > 0 {
            true => [i64::from(ended), i64::from(died), cancelled],
            false => [0; 3],
        };
        if ended > 0 {
            self.ends.push((ended, died));
        }
        let states =
            [jobs(at.pending)?, jobs(at.running)?, jobs(at.completed)?, jobs(at.dead)?, cancelled];
        // A step adds jobs, moves them, or removes them.
        let removed = -states.iter().sum::<i64>().min(0);
        let [pending, running, completed, dead, cancelled] = states;
        let numbers = [
            pending,
            running,
            completed,
            dead,
            cancelled,
            row.try_get(at.completed_size)?,
            row.try_get(at.dead_size)?,
            row.try_get(at.cancelled_size)?,
            jobs(at.corrupt)?,
            totals[0],
            totals[1],
            totals[2],
            removed,
        ];
        self.numbers.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        self.turn = self.turn.max(row.try_get::<_, Option<i64>>(at.turn)?.unwrap_or_default());
        Ok(())
    }
}
