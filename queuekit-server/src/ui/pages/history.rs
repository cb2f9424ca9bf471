//! The charts of what happened: jobs by outcome, and how long they waited and ran.

use std::collections::BTreeMap;
use std::time::Duration;

use queuekit::Timestamp;
use queuekit::history::{Histogram, Resolution, Runs};
use queuekit::queues::Totals;
use serde::Deserialize;

use super::history_read::{self as read, Frame, Read};
use super::queue_rows::{queues_of, store_time};
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::view::{
    Chart, Count, Deploy, Ms, Point, RangeLink, Series, Unit, When, change_in_words,
};
use crate::ui::viewer::Viewer;
use crate::wire::sum_of;

/// The most rows of totals that a page reads: of many queues, a coarser step is shown.
const ROWS: usize = 8000;
/// The most versions that are marked.
const DEPLOYS: usize = 20;

/// The query of pages with charts.
#[derive(Deserialize)]
pub(in crate::ui) struct RangeQuery {
    #[serde(default)]
    range: String,
}

/// How far back the charts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Range {
    Minutes,
    Hour,
    Day,
    Week,
}

/// Both charts.
pub(in crate::ui) struct Charts {
    pub(in crate::ui) throughput: Chart,
    pub(in crate::ui) latency: Chart,
}

impl Range {
    const ALL: [Self; 4] = [Self::Minutes, Self::Hour, Self::Day, Self::Week];

    pub(in crate::ui) fn of(query: &RangeQuery) -> Self {
        Self::ALL.into_iter().find(|range| range.name() == query.range).unwrap_or(Self::Hour)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Minutes => "5m",
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    const fn length(self) -> Duration {
        Duration::from_secs(match self {
            Self::Minutes => 5 * 60,
            Self::Hour => 3600,
            Self::Day => 24 * 3600,
            Self::Week => 7 * 24 * 3600,
        })
    }

    /// The finest step with which this number of queues has few enough rows.
    fn step(self, queues: usize) -> Resolution {
        let fits = |step: &&Resolution| {
            let points = self.length().as_secs() / step.length().as_secs();
            self.length() <= step.kept() && points.saturating_mul(queues as u64) <= ROWS as u64
        };
        let least = match self {
            Self::Minutes | Self::Hour => Resolution::Minute,
            Self::Day => Resolution::TenMinutes,
            Self::Week => Resolution::Hour,
        };
        let steps = Resolution::ALL.iter().filter(|step| **step >= least);
        steps.clone().find(fits).copied().unwrap_or(Resolution::Hour)
    }

    pub(in crate::ui) fn links(self, base: &str, path: &str) -> Vec<RangeLink> {
        let link = |range: Self| RangeLink {
            name: range.name(),
            url: format!("{base}{path}?range={}", range.name()),
            is_current: range == self,
        };
        Self::ALL.into_iter().map(link).collect()
    }
}

/// The charts of a queue, or of all that the viewer may see.
pub(in crate::ui) async fn charts(
    viewer: &Viewer,
    queue: Option<&str>,
    range: Range,
    now: &Snapshot,
) -> Result<Charts, Failure> {
    let frame = Frame::of(viewer, queue, range, now);
    let read = match now.outage {
        Some(_) => None,
        None => match read::asked(viewer, &frame).await {
            Ok(read) => Some(read),
            // The page is shown without them.
            Err(failure) if failure.is_away() => None,
            Err(failure) => return Err(failure),
        },
    };
    let (is_known, read) = (read.is_some(), read.unwrap_or_default());
    let charts = frame.charts(viewer, &read, now, viewer.app().now());
    Ok(if is_known { charts } else { charts.unknown() })
}

/// The same of up to an hour, from what is read for all viewers; none while that is not whole.
pub(in crate::ui) fn live(
    viewer: &Viewer,
    queue: Option<&str>,
    range: Range,
    now: &Snapshot,
) -> Option<Charts> {
    let frame = Frame::of(viewer, queue, range, now);
    // Runs are not told apart by their kinds.
    let is_told = frame.step == Resolution::Minute && !viewer.caller().is_bound_to_kinds();
    let extras = &now.extras;
    let is_whole = extras.trend.is_whole(frame.end) && extras.runs.is_whole(frame.end);
    if !is_told || !is_whole || now.outage.is_some() {
        return None;
    }
    let read = read::known(viewer, &frame, now);
    // A time at which nothing changes between two minutes, so that nothing is sent.
    let at = Resolution::Minute.start_of(viewer.app().now());
    Some(frame.charts(viewer, &read, now, at))
}

impl Charts {
    fn unknown(mut self) -> Self {
        for chart in [&mut self.throughput, &mut self.latency] {
            chart.is_known = false;
            chart.sentence = "The store did not answer".to_owned();
        }
        self
    }
}

impl<'a> Frame<'a> {
    fn of(viewer: &Viewer, queue: Option<&'a str>, range: Range, now: &Snapshot) -> Self {
        let queues = queue.map_or_else(|| queues_of(viewer, now).count(), |_| 1);
        let (step, end) = (range.step(queues), store_time(viewer, now));
        let begin = step.start_of(end.minus(range.length()));
        Self { queue, step, queues, begin, end }
    }

    fn charts(&self, viewer: &Viewer, read: &Read, now: &Snapshot, at: Timestamp) -> Charts {
        let begin = read.begin.unwrap_or(self.begin);
        let times: Vec<Timestamp> =
            std::iter::successors(Some(begin), |time| Some(*time + self.step.length()))
                .take_while(|time| *time <= self.end)
                .collect();
        let point = |time: &Timestamp| Point {
            seconds: time.as_millis().div_euclid(1000),
            when: When::of(*time, at),
        };
        let points: Vec<Point> = times.iter().map(point).collect();
        let deploys = deploys(viewer, now, self.queue, begin);
        let mut throughput = throughput(read, &times, points.clone(), deploys.clone(), self.step);
        if read.begin.is_some() {
            let shown = Ms::from(self.end.since(begin)).coarse();
            let queues = Count::exact(self.queues as u64).of("queue");
            throughput.sentence += &format!("; of {queues}, only the last {shown} are shown");
        }
        Charts { throughput, latency: latency(read, &times, points, deploys) }
    }
}

fn throughput(
    read: &Read,
    times: &[Timestamp],
    points: Vec<Point>,
    deploys: Vec<Deploy>,
    step: Resolution,
) -> Chart {
    let series = |name, class, of: fn(&Totals) -> u64| {
        let values = times.iter().map(|time| read.done.get(time).map(of)).collect();
        Series { name, class, values }
    };
    let sum = |of: &[Timestamp]| {
        let done = of.iter().filter_map(|time| read.done.get(time));
        done.fold(Totals::default(), |all, one| sum_of(all, *one))
    };
    let (first, second) = halves(times);
    let all = sum(times);
    let told = |number, word: &str| format!("{} {word}", Count::exact(number));
    let sentence = format!(
        "{}, {}, {}; each point is {}",
        told(all.completed, "completed"),
        told(all.failed, "failed"),
        told(all.dead, "dead"),
        step_in_words(step),
    );
    let change = change_in_words(sum(first).completed, sum(second).completed);
    let sentence = sentence + &compared(&[("completed jobs", change)]);
    Chart {
        id: "throughput",
        title: "Throughput",
        sentence,
        is_known: true,
        unit: Unit::Jobs,
        times: points,
        series: vec![
            series("completed", "completed", |totals| totals.completed),
            series("failed", "failed", |totals| totals.failed),
            series("dead", "dead", |totals| totals.dead),
        ],
        deploys,
    }
}

/// `; from the first half of this time to the second, waits rose by 30 %`
fn compared(changes: &[(&str, Option<String>)]) -> String {
    let told =
        |(what, change): &(&str, Option<String>)| Some(format!("{what} {}", change.as_ref()?));
    let told: Vec<String> = changes.iter().filter_map(told).collect();
    match told.is_empty() {
        true => String::new(),
        false => format!("; from the first half of this time to the second, {}", told.join(", ")),
    }
}

/// The first and the second half; the latest time is not over.
fn halves(times: &[Timestamp]) -> (&[Timestamp], &[Timestamp]) {
    let over = &times[..times.len().saturating_sub(1)];
    let half = over.len() / 2;
    (&over[..half], &over[over.len() - half..])
}

fn step_in_words(step: Resolution) -> &'static str {
    match step {
        Resolution::Minute => "a minute",
        Resolution::TenMinutes => "10 minutes",
        Resolution::Hour => "an hour",
    }
}

fn latency(read: &Read, times: &[Timestamp], points: Vec<Point>, deploys: Vec<Deploy>) -> Chart {
    let millis = |of: &Histogram, share| of.quantile(share).map(|time| Ms::from(time).0);
    let series = |name, class, of: &dyn Fn(&Runs) -> Option<u64>| {
        let values = times.iter().map(|time| read.runs.get(time).and_then(of)).collect();
        Series { name, class, values }
    };
    let p95 = |times: &[Timestamp]| {
        let mut all = Runs::default();
        times.iter().filter_map(|time| read.runs.get(time)).for_each(|runs| all.merge(runs));
        millis(&all.wait, 0.95).zip(millis(&all.run, 0.95))
    };
    let sentence = match p95(times) {
        Some((wait, run)) => {
            let (first, second) = halves(times);
            let (before, after) = (p95(first), p95(second));
            let change =
                |of: fn((u64, u64)) -> u64| change_in_words(before.map(of)?, after.map(of)?);
            let changes = [("waits", change(|(wait, _)| wait)), ("runs", change(|(_, run)| run))];
            let (wait, run) = (Ms(wait), Ms(run));
            format!("95 % of runs waited less than {wait} and took less than {run}")
                + &compared(&changes)
        }
        None => "no run has ended in this time".to_owned(),
    };
    Chart {
        id: "latency",
        title: "Wait and run",
        sentence,
        is_known: true,
        unit: Unit::Ms,
        times: points,
        series: vec![
            series("wait p50", "wait50", &|runs| millis(&runs.wait, 0.5)),
            series("wait p95", "wait95", &|runs| millis(&runs.wait, 0.95)),
            series("run p50", "run50", &|runs| millis(&runs.run, 0.5)),
            series("run p95", "run95", &|runs| millis(&runs.run, 0.95)),
        ],
        deploys,
    }
}

/// When the first worker of each version started.
fn deploys(viewer: &Viewer, now: &Snapshot, queue: Option<&str>, begin: Timestamp) -> Vec<Deploy> {
    let mut first = BTreeMap::<String, Timestamp>::new();
    for worker in now.figures.iter().flat_map(|figures| &figures.workers) {
        let Some(seen) = super::workers::seen(viewer.caller(), worker) else { continue };
        let serves = queue.is_none_or(|queue| seen.queues.iter().any(|own| own == queue));
        let Some(started) = seen.started_at.filter(|_| serves && !seen.version.is_empty()) else {
            continue;
        };
        let at = first.entry(seen.version).or_insert(started.0);
        *at = (*at).min(started.0);
    }
    let shown = first.into_iter().filter(|(_, at)| *at >= begin).take(DEPLOYS);
    shown
        .map(|(version, at)| Deploy { seconds: at.as_millis().div_euclid(1000), version })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_the_more_queues_the_coarser_the_step() {
        assert_eq!(Range::Hour.step(1), Resolution::Minute);
        assert_eq!(Range::Hour.step(1000), Resolution::TenMinutes);
        assert_eq!(Range::Hour.step(8000), Resolution::Hour);
        assert_eq!(Range::Day.step(1), Resolution::TenMinutes);
        assert_eq!(Range::Week.step(1), Resolution::Hour);
        assert_eq!(Range::Week.step(1_000_000), Resolution::Hour);
    }
}
