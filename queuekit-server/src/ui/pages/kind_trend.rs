//! How often runs of a kind failed lately. The store counts the errors of a group since it began,
//! and the runs of a kind by time.

use std::collections::BTreeMap;
use std::time::Duration;

use queuekit::Timestamp;
use queuekit::history::Resolution;

use crate::ui::failure::Failure;
use crate::ui::view::{Count, KindTrend, Sparkline};
use crate::ui::viewer::Viewer;
use crate::wire::{HistoryBody, HistoryParams, RunsRowBody, Time};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Hours of the line.
const HOURS: u32 = 24;

/// The failed runs of a kind in a queue; none if there are none in 7 days. No history has the runs
/// of workers over HTTP.
pub(super) async fn of(
    viewer: &Viewer,
    queue: &str,
    kind: &str,
    now: Timestamp,
) -> Result<Option<KindTrend>, Failure> {
    let step = Resolution::Hour;
    let Some(hours) = failed(viewer, queue, kind, now.minus(7 * DAY), step).await? else {
        return Ok(None);
    };
    if hours.values().all(|failed| *failed == 0) {
        return Ok(None);
    }
    let Some(minutes) = failed(viewer, queue, kind, now.minus(HOUR), Resolution::Minute).await?
    else {
        return Ok(None);
    };
    let sum = |from: Timestamp| hours.range(from..).map(|(_, failed)| failed).sum::<u64>();
    let first = step.start_of(now).minus(HOUR * (HOURS - 1));
    let at = |hour: u32| hours.get(&(first + HOUR * hour)).copied().unwrap_or_default();
    let (last_day, last_hour) = (sum(now.minus(DAY)), minutes.values().sum());
    let values: Vec<u64> = (0..HOURS).map(at).collect();
    let most = values.iter().max().copied().unwrap_or_default();
    let label = format!("{last_day} failed runs in 24 hours, {most} at most in an hour");
    Ok(Some(KindTrend {
        kind: kind.to_owned(),
        hour: Count::exact(last_hour),
        day: Count::exact(last_day),
        week: Count::exact(hours.values().sum()),
        spark: Sparkline { values, label },
    }))
}

/// Failed runs by the time at which their row begins.
async fn failed(
    viewer: &Viewer,
    queue: &str,
    kind: &str,
    from: Timestamp,
    step: Resolution,
) -> Result<Option<BTreeMap<Timestamp, u64>>, Failure> {
    let asked = HistoryParams {
        queue: Some(queue.to_owned()),
        kind: Some(kind.to_owned()),
        from: Some(Time(from)),
        to: None,
        step: Some(step.to_string()),
    };
    let body: HistoryBody = match viewer.find("/v1/history", &asked).await {
        Ok(answer) => answer.read()?,
        Err(failure) if failure.is_lack() || failure.is_away() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let row = |row: &RunsRowBody| (row.at.0, row.failed + row.dead);
    Ok(Some(body.runs.iter().map(row).collect()))
}
