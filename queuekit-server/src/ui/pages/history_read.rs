//! The rows that charts are made of.

use std::collections::BTreeMap;

use queuekit::Timestamp;
use queuekit::history::{Resolution, Runs, TotalsRow, rates};
use queuekit::queues::Totals;
use serde::Serialize;

use super::queue_rows::queues_of;
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::viewer::Viewer;
use crate::wire::{HistoryBody, RunsRowBody, Time, TotalsRowBody, sum_of};

/// The most answers that a page asks for.
const ANSWERS: usize = 8;
/// Rows that fit into one answer.
const ROWS: usize = 2000;

/// What charts are of.
pub(super) struct Frame<'a> {
    pub(super) queue: Option<&'a str>,
    pub(super) step: Resolution,
    /// How many queues may have rows.
    pub(super) queues: usize,
    pub(super) begin: Timestamp,
    pub(super) end: Timestamp,
}

/// What happened in each time.
#[derive(Default)]
pub(super) struct Read {
    pub(super) done: BTreeMap<Timestamp, Totals>,
    pub(super) runs: BTreeMap<Timestamp, Runs>,
    /// Where it begins, if there were too many rows to read all.
    pub(super) begin: Option<Timestamp>,
}

#[derive(Serialize)]
struct Asked<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    from: Time,
    to: Time,
    step: String,
}

#[derive(Default)]
struct Rows {
    totals: Vec<TotalsRowBody>,
    runs: Vec<RunsRowBody>,
}

/// Asks for the rows, the latest first: of many queues, the oldest may be left out.
pub(super) async fn asked(viewer: &Viewer, frame: &Frame<'_>) -> Result<Read, Failure> {
    let length = frame.step.length();
    // The first difference needs the row before.
    let begin = frame.begin.minus(length);
    let fits = u32::try_from(ROWS / frame.queues.max(1)).unwrap_or(1).max(1);
    let (mut read, mut totals) = (Read::default(), Vec::<TotalsRow>::new());
    let (mut to, mut answers) = (frame.end + length, 0);
    while to > begin {
        let from = to.minus(length * fits).max(begin);
        match rows(viewer, frame, (from, to), &mut answers).await? {
            Some(rows) => {
                totals.extend(rows.totals.iter().filter_map(TotalsRowBody::row));
                for row in &rows.runs {
                    read.runs.entry(row.at.0).or_default().merge(&row.runs());
                }
                to = from;
            }
            None => {
                // Of the first time that was read, the row before is missing.
                read.begin = Some(frame.step.start_of(to) + length * 2);
                break;
            }
        }
    }
    totals.sort_by_key(|row| row.at);
    read.add(&totals, frame.step);
    if let Some(begin) = read.begin {
        read.done.retain(|at, _| *at >= begin);
        read.runs.retain(|at, _| *at >= begin);
    }
    Ok(read)
}

/// All rows of a time; none if they need more answers than are left.
async fn rows(
    viewer: &Viewer,
    frame: &Frame<'_>,
    (from, to): (Timestamp, Timestamp),
    answers: &mut usize,
) -> Result<Option<Rows>, Failure> {
    let mut all = Rows::default();
    let mut next = Some(Time(from));
    while let Some(from) = next {
        if *answers >= ANSWERS {
            return Ok(None);
        }
        *answers += 1;
        let step = frame.step.to_string();
        let asked = Asked { queue: frame.queue, from, to: Time(to), step };
        let answer = match viewer.find("/v1/history", &asked).await {
            Ok(answer) => answer,
            // A store without history has no charts, and a restricted key may see none.
            Err(failure) if failure.is_lack() => return Ok(Some(all)),
            Err(failure) => return Err(failure),
        };
        let body: HistoryBody = answer.read()?;
        all.totals.extend(body.totals);
        all.runs.extend(body.runs);
        next = body.next;
    }
    Ok(Some(all))
}

/// The rows that were read for all viewers, of the queues that this one may see.
pub(super) fn known(viewer: &Viewer, frame: &Frame<'_>, now: &Snapshot) -> Read {
    let is_shown = |name: &str| frame.queue.is_none_or(|queue| queue == name);
    let mut read = Read::default();
    for queue in queues_of(viewer, now).filter(|queue| is_shown(queue.name.as_str())) {
        read.add(&now.extras.trend.rows(&queue.name), frame.step);
    }
    let sees = |name: &str| is_shown(name) && viewer.caller().sees_queue(name);
    read.runs = now.extras.runs.of(|queue| sees(queue.as_str()));
    read.runs.retain(|at, _| *at >= frame.begin);
    read.done.retain(|at, _| *at >= frame.begin);
    read
}

impl Read {
    /// Adds the differences between rows that are in the order of time.
    fn add(&mut self, rows: &[TotalsRow], step: Resolution) {
        for rate in rates(rows) {
            let of_time = self.done.entry(step.start_of(rate.to)).or_default();
            *of_time = sum_of(*of_time, rate.change);
        }
    }
}
