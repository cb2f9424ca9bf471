//! A stored schedule.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::definition::{Definition, Parts};
use crate::capability::ScheduleRow;
use crate::clock::Timestamp;
use crate::declared::digest_of;
use crate::error::{Error, ErrorKind, Result};
use crate::job::JobId;
use crate::names::ScheduleName;

/// A schedule of a store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Schedule {
    /// The definition.
    pub definition: Definition,
    /// Whether the schedule is paused, and so enqueues nothing until it is resumed.
    pub paused: bool,
    /// The next nominal time; none while the schedule is paused, or after its end.
    pub next_at: Option<Timestamp>,
    /// The last occurrence that was enqueued.
    pub last: Option<Occurrence>,
    /// How many jobs the schedule has enqueued.
    pub enqueued: u64,
    /// How many occurrences enqueued no job: missed ones that were not caught up with (R15.4), and
    /// those skipped because of overlap (R15.5).
    pub skipped: u64,
    /// Rises with every change.
    pub revision: u64,
    /// Digest of the definition in the last declaration (R15.1).
    pub(super) declared: Option<String>,
}

/// An occurrence that was enqueued.
// Exhaustive: a time, and its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// The nominal time, or the time at which the run was requested.
    pub nominal: Timestamp,
    /// The job.
    pub job: JobId,
}

/// One line of JSON, followed by the payload, byte for byte.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    parts: Parts,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    paused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Occurrence>,
    #[serde(default)]
    enqueued: u64,
    #[serde(default)]
    skipped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared: Option<String>,
}

impl Schedule {
    /// The name.
    pub fn name(&self) -> &ScheduleName {
        self.definition.name()
    }

    /// The next nominal times after this one, at most `count`; none while the schedule is paused.
    /// For some cron expressions this takes milliseconds.
    pub fn upcoming(&self, now: Timestamp, count: usize) -> Vec<Timestamp> {
        let Some(next) = self.next_at else { return Vec::new() };
        // An occurrence that is due counts as one of the next: catch-up decides whether it runs.
        let first = (next > now).then_some(next);
        let later = self.definition.upcoming(first.unwrap_or(now));
        first.into_iter().chain(later).take(count).collect()
    }

    /// Whether the definition is another than the code declared last (R15.1): an operator changed
    /// it. False if no code has declared it, or if it was reset since.
    pub fn differs_from_code(&self) -> bool {
        let parts = &self.definition.parts;
        let digest = || digest_of(parts, self.definition.job().payload()).ok();
        self.declared.as_ref().is_some_and(|declared| digest().as_ref() != Some(declared))
    }

    /// The first nominal time from now on that has not been handled.
    pub(super) fn next_from(&self, now: Timestamp) -> Option<Timestamp> {
        if self.paused {
            return None;
        }
        let last = self.last.map_or(now, |last| last.nominal);
        self.definition.next_after(now.max(last))
    }

    /// Reads a row.
    ///
    /// # Errors
    /// `Corrupt` if the row cannot be read, or was written by a newer version.
    pub(super) fn from_row(row: &ScheduleRow) -> Result<Self> {
        let corrupt = |why: String| {
            let message = format!("the stored schedule cannot be read ({why}); put it again");
            Error::new(ErrorKind::Corrupt, message).on(&row.name)
        };
        let end = row.body.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| corrupt("it is cut off".to_owned()))?;
        let head = serde_json::from_slice(&row.body[..end]);
        let Head { mut parts, paused, last, enqueued, skipped, declared } =
            head.map_err(|error| corrupt(error.to_string()))?;
        parts.job = parts.job.with_payload(row.body.slice(end + 1..));
        let definition = Definition { name: row.name.clone(), parts };
        let (next_at, revision) = (row.next_at, row.revision);
        Ok(Self { definition, paused, next_at, last, enqueued, skipped, revision, declared })
    }

    /// What is stored, except the name and the next time.
    pub(super) fn body(&self) -> Result<Bytes> {
        let head = Head {
            parts: self.definition.parts.clone(),
            paused: self.paused,
            last: self.last,
            enqueued: self.enqueued,
            skipped: self.skipped,
            declared: self.declared.clone(),
        };
        let mut body = serde_json::to_vec(&head).map_err(|error| {
            let message = "the schedule cannot be written as JSON";
            Error::new(ErrorKind::Corrupt, message).on(self.name()).caused_by(error)
        })?;
        body.push(b'\n');
        body.extend_from_slice(self.definition.parts.job.payload());
        Ok(body.into())
    }
}
