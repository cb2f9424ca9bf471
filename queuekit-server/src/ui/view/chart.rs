//! A big chart: a script draws it from the numbers in the page, and a table has the same numbers.

use std::fmt::Write as _;

use askama::Template;

use super::{Ms, Series, Shape, Unit, When, parts, plot};

/// A chart over time.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/chart.html")]
pub(crate) struct Chart {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What it says, in a sentence: `p95 wait is 1.2 s, up 30 %`.
    pub(crate) sentence: String,
    /// Whether its numbers could be read.
    pub(crate) is_known: bool,
    /// What its values are: `jobs` per step, or `ms`.
    pub(crate) unit: Unit,
    /// The time of each point, oldest first.
    pub(crate) times: Vec<Point>,
    pub(crate) series: Vec<Series>,
    /// When a new version began to work.
    pub(crate) deploys: Vec<Deploy>,
}

/// A time of the chart.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    pub(crate) when: When,
}

/// A version that began to work.
#[derive(Clone, Debug)]
pub(crate) struct Deploy {
    pub(crate) seconds: i64,
    pub(crate) version: String,
}

/// A row of the table.
pub(crate) struct ChartRow<'a> {
    pub(crate) when: &'a When,
    /// In the order of the series.
    pub(crate) values: Vec<String>,
}

parts!(Chart);

impl Chart {
    /// Whether there is anything to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.values.iter().all(|value| value.is_none()))
    }

    pub(crate) const fn kind(&self) -> &'static str {
        match self.unit {
            Unit::Jobs => "jobs",
            Unit::Ms => "ms",
        }
    }

    /// The numbers for the script: `{"t":[..],"s":[{"n":"completed","c":"completed","v":[..]}],
    /// "d":[[seconds,"1.2.0"]]}`.
    pub(crate) fn json(&self) -> String {
        let deploys = self.deploys.iter().map(|deploy| (deploy.seconds, &deploy.version));
        let series = self.series.iter().map(|series| {
            let Series { name, class, values } = series;
            serde_json::json!({ "n": name, "c": class, "v": values })
        });
        serde_json::json!({
            "t": self.times.iter().map(|point| point.seconds).collect::<Vec<_>>(),
            "s": series.collect::<Vec<_>>(),
            "d": deploys.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// What is seen until a script draws.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        plot::shapes(self.unit, self.times.len(), &self.series)
    }

    /// The latest rows first, at most sixty.
    pub(crate) fn rows(&self) -> Vec<ChartRow<'_>> {
        let row = |(at, point)| {
            let Point { when, .. }: &Point = point;
            let value = |series: &Series| self.told(series.values.get(at).copied().flatten());
            ChartRow { when, values: self.series.iter().map(value).collect() }
        };
        self.times.iter().enumerate().rev().take(60).map(row).collect()
    }

    fn told(&self, value: Option<u64>) -> String {
        match (value, self.unit) {
            (None, _) => "–".to_owned(),
            (Some(ms), Unit::Ms) => Ms(ms).to_string(),
            (Some(jobs), Unit::Jobs) => jobs.to_string(),
        }
    }

    /// The versions for those who do not see the marks.
    pub(crate) fn deployed(&self) -> String {
        let mut told = String::new();
        for Deploy { version, .. } in &self.deploys {
            let comma = if told.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(told, "{comma}{version}");
        }
        told
    }
}
