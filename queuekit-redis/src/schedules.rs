//! Schedules. Their rows are in one slot, and the jobs they enqueue in others. So a change with
//! jobs is first noted in the row; then its jobs are stored behind a fence that lets each change
//! pass once; then the row takes the change. A call that finds a note left by another one completes
//! it.

mod record;

use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::{
    ScheduleChange, ScheduleChanged, ScheduleQuery, ScheduleRow, ScheduleRows, Schedules,
};
use queuekit_core::limits::ANSWER_BYTES;
use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{Error, ErrorKind, Result, ScheduleName, Timestamp};
use redis::Value;

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of};
use crate::error::unreadable;
use crate::indeterminate::in_part;
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::step::job_args;
use record::{Noted, Record, State};

/// How often a call reads rows again because they have notes.
const LOOKS: usize = 5;

#[async_trait]
impl Schedules for RedisStore {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        self.for_one_call().find(query).await.map_err(|error| error.during("find_schedules"))
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        self.for_one_call().change(change).await.map_err(|error| error.during("change_schedule"))
    }
}

/// Rows, and the noted changes of others among them.
type Found = (ScheduleRows, Vec<(ScheduleName, u64, Noted)>);

impl RedisStore {
    async fn find(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        let mut looks = 0;
        loop {
            let (mut found, noted) = self.look(query).await?;
            if noted.is_empty() {
                return Ok(found);
            }
            looks += 1;
            let mut unfinished = None;
            for (name, revision, noted) in &noted {
                if let Err(error) = self.go_on(name, *revision, noted).await {
                    tracing::debug!(schedule = %name, %error, "its jobs are not stored yet");
                    unfinished = Some(error);
                }
            }
            match unfinished {
                // Schedules that can be read do not wait for an unreachable node.
                Some(error) if matches!(query, ScheduleQuery::Named(_)) => return Err(error),
                None if looks < LOOKS => {}
                _ => {
                    add_noted(&mut found, noted, query);
                    return Ok(found);
                }
            }
        }
    }

    /// Reads the rows, and the notes whose jobs are not stored yet.
    async fn look(&self, query: &ScheduleQuery) -> Result<Found> {
        let (which, name, at) = match query {
            ScheduleQuery::Named(name) => ("n", Some(name), None),
            ScheduleQuery::After(after, _) => ("a", after.as_ref(), None),
            ScheduleQuery::Due(None, _) => ("d", None, None),
            ScheduleQuery::Due(Some((at, name)), _) => ("d", Some(name), Some(*at)),
        };
        let args = vec![
            which.into(),
            name.map_or("", ScheduleName::as_str).into(),
            at.map_or(String::new(), |at| at.as_millis().to_string()).into_bytes(),
            query.limit().to_string().into_bytes(),
            ANSWER_BYTES.to_string().into_bytes(),
        ];
        let keys = self.shared.keyspace.schedules();
        let keys = vec![keys[..3].iter().cloned().collect()];
        let request = Request::Script { script: Lua::Schedules, keys, args };
        let answer = self.call("find_schedules", Call::Read, request).await?;
        read(answer, query).ok_or_else(|| unreadable("the rows of schedules"))
    }

    async fn change(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        let to = change.to.as_ref().map(|(next_at, body)| State::new(*next_at, body.clone()));
        let Some(queue) = change.jobs.first().map(|job| job.queue().clone()) else {
            let record = to.map(Record::Settled);
            let put = self.put(&change.name, change.seen, Number::New, record.as_ref(), Call::Once);
            return Ok(put.await?.map_or(ScheduleChanged::Stale, |_| ScheduleChanged::Changed));
        };
        self.shared.limits.admit_jobs(&change.jobs)?;
        let query = ScheduleQuery::Named(change.name.clone());
        let row = self.find(&query).await?.rows.pop();
        if row.as_ref().map(|row| row.revision) != change.seen {
            return Ok(ScheduleChanged::Stale);
        }
        let from = row.map(|row| State::new(row.next_at, row.body));
        let (seen, jobs) = (change.seen, job_args(&change.jobs));
        let noted = Noted { from, seen, to, queue, jobs };
        let record = Record::Noted(noted.clone());
        // Enters the queue before the change is noted: otherwise everybody who finds the note could
        // be refused the queue too.
        self.enter_queues(&[&noted.queue], false).await?;
        match self.put(&change.name, seen, Number::New, Some(&record), Call::Once).await? {
            None => Ok(ScheduleChanged::Stale),
            Some(revision) => {
                // The note is stored: any call that finds it will complete it.
                let changed = self.go_on(&change.name, revision, &noted).await.map_err(in_part)?;
                changed.ok_or_else(|| in_doubt().on(&change.name))
            }
        }
    }

    /// Stores the jobs of a change that is noted under this revision, and moves the row on, or back
    /// if their queue is full. It may run any number of times. None if others have completed it and
    /// made further changes since: then its outcome is not known.
    async fn go_on(
        &self,
        name: &ScheduleName,
        revision: u64,
        noted: &Noted,
    ) -> Result<Option<ScheduleChanged>> {
        let stored = self.store_once(name, revision, noted).await?;
        let (to, number) = match stored {
            Stored::All => (&noted.to, Number::New),
            Stored::None => (&noted.from, Number::Back(noted.seen)),
            Stored::Later(last) => (&noted.from, Number::Above(last)),
        };
        let record = to.clone().map(Record::Settled);
        // If another call was first, it has done the same.
        let moved =
            self.put(name, Some(revision), number, record.as_ref(), Call::Repeatable).await?;
        let retry_after = queue_full_retry_after();
        Ok(match stored {
            Stored::All => Some(ScheduleChanged::Changed),
            Stored::None => Some(ScheduleChanged::QueueFull { retry_after }),
            Stored::Later(_) => moved.map(|_| ScheduleChanged::Stale),
        })
    }

    async fn store_once(
        &self,
        name: &ScheduleName,
        revision: u64,
        noted: &Noted,
    ) -> Result<Stored> {
        let shared = &*self.shared;
        self.enter_queues(&[&noted.queue], false).await?;
        let keyspace = &shared.keyspace;
        let keys = vec![keyspace.of(&noted.queue), [keyspace.fences(&noted.queue)].into()];
        let mut args = noted.jobs.clone();
        args.extend([name.as_str().into(), revision.to_string().into_bytes()]);
        let request = Request::Script { script: Lua::EnqueueOnce, keys, args };
        let call = if shared.wait_replicas.is_some() { Call::Stored } else { Call::Repeatable };
        let stored = match self.call("change_schedule", call, request).await? {
            Value::Int(0) => Stored::None,
            Value::Int(last @ ..0) => Stored::Later(last.unsigned_abs()),
            // Jobs that were stored already are left as they are.
            Value::Int(_) | Value::Array(_) => Stored::All,
            _ => return Err(unreadable("the answer to the jobs of a schedule")),
        };
        if stored == Stored::All {
            self.stir(std::iter::once(&noted.queue));
        }
        Ok(stored)
    }

    /// Writes the row. Returns its new revision; none if it no longer has the revision that was
    /// read.
    async fn put(
        &self,
        name: &ScheduleName,
        seen: Option<u64>,
        from_now_on: Number,
        record: Option<&Record>,
        call: Call,
    ) -> Result<Option<u64>> {
        let due = record.and_then(Record::due).map_or(String::new(), |due| due.to_string());
        let number =
            |number: Option<u64>| number.map_or(Vec::new(), |number| number.to_string().into());
        let (back_to, above) = match from_now_on {
            Number::New => (None, None),
            Number::Back(seen) => (seen, None),
            Number::Above(last) => (None, Some(last)),
        };
        let args = vec![
            name.as_str().into(),
            number(seen),
            due.into_bytes(),
            record.map_or(Vec::new(), Record::write),
            self.shared.limits.schedules().to_string().into_bytes(),
            number(back_to),
            number(above),
        ];
        let keys = vec![self.shared.keyspace.schedules()];
        let request = Request::Script { script: Lua::SchedulePut, keys, args };
        match self.call("change_schedule", call, request).await? {
            Value::Int(0) => Ok(None),
            Value::Int(revision) => Ok(Some(revision.cast_unsigned())),
            answer => {
                if matches!(answer, Value::BulkString(_)) {
                    let limits = self.shared.limits;
                    limits.admit_schedule(limits.schedules()).map_err(|error| error.on(name))?;
                }
                Err(unreadable("the answer to a change of a schedule"))
            }
        }
    }
}

/// The fate of the jobs of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    All,
    None,
    /// A change with this later number has been there. Either another call has moved the row on
    /// since, or the server of the rows has lost its last changes with their numbers.
    Later(u64),
}

/// The revision that a row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    New,
    /// The revision before the change.
    Back(Option<u64>),
    /// A new revision, higher than this.
    Above(u64),
}

fn in_doubt() -> Error {
    let message = "other processes have completed or undone this change and made later ones; read \
                   the schedule";
    Error::new(ErrorKind::Indeterminate, message)
}

/// Lists rows with a note as they were before it: a change based on that fails as stale. Such rows
/// are not due, but are looked at again soon.
fn add_noted(
    found: &mut ScheduleRows,
    noted: Vec<(ScheduleName, u64, Noted)>,
    query: &ScheduleQuery,
) {
    if matches!(query, ScheduleQuery::Due(..)) {
        let soon = queue_full_retry_after();
        found.next_due_in = Some(found.next_due_in.map_or(soon, |next_in| next_in.min(soon)));
        return;
    }
    for (name, _, noted) in noted {
        if let (Some(revision), Some(State { next_at, body })) = (noted.seen, noted.from) {
            found.rows.push(ScheduleRow { name, revision, next_at, body });
        }
    }
    found.rows.sort_by(|one, other| one.name.cmp(&other.name));
}

/// Reads the rows; skips one that cannot be read as a schedule.
fn read(answer: Value, query: &ScheduleQuery) -> Option<Found> {
    let mut answer = array_of(answer)?.into_iter();
    let now = Timestamp::from_millis(text_of(answer.next()?)?.parse().ok()?);
    let next_in = text_of(answer.next()?)?.parse().ok();
    let next_due_in = next_in.map(Duration::from_millis);
    let mut found = ScheduleRows { now, next_due_in, ..ScheduleRows::default() };
    let last_at = text_of(answer.next()?)?.parse().ok().map(Timestamp::from_millis);
    let mut noted = Vec::new();
    while let (Some(name), Some(record)) = (answer.next(), answer.next()) {
        let Ok(name) = ScheduleName::new(text_of(name)?) else { continue };
        found.next = last_at.map(|at| query.behind(&name, Some(at)));
        match Record::read(bytes_of(record)?) {
            Some((revision, Record::Settled(State { next_at, body }))) => {
                found.rows.push(ScheduleRow { name, revision, next_at, body });
            }
            Some((revision, Record::Noted(note))) => noted.push((name, revision, note)),
            None => {}
        }
    }
    Some((found, noted))
}

fn text_of(value: Value) -> Option<String> {
    String::from_utf8(bytes_of(value)?).ok()
}
