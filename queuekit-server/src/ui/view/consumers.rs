//! Events and their consumers.

use std::fmt;

use askama::Template;

use super::{Action, Chart, Count, Facts, Mark, Ms, Newer, RangeLink, Shell, When, parts};

/// The page `/ui/events`.
#[derive(Clone, Debug, Template)]
#[template(path = "events.html")]
pub(crate) struct Events {
    pub(crate) shell: Shell,
    pub(crate) consumers: ConsumerTable,
    /// Only events of this type or prefix; empty for all.
    pub(crate) types: String,
    pub(crate) log: EventLog,
    /// How long events are kept, in words.
    pub(crate) retention: String,
}

/// The consumers as a table.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/consumer_table.html")]
pub(crate) struct ConsumerTable {
    pub(crate) rows: Vec<ConsumerRow>,
}

parts!(ConsumerTable);

/// A part of the log of events.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    pub(crate) newer: Newer,
    /// The newest first.
    pub(crate) rows: Vec<EventRow>,
    /// Why the types are no pattern.
    pub(crate) error: Option<String>,
    /// Addresses with the prefix.
    pub(crate) newest: Option<String>,
    pub(crate) older: Option<String>,
    /// Whether older events were not looked for, since they are too many.
    pub(crate) is_cut: bool,
}

/// A consumer.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerRow {
    pub(crate) name: String,
    /// With the prefix.
    pub(crate) url: String,
    /// `order.*`
    pub(crate) events: String,
    /// `ok`, `warning` (lagging or failing) or `paused` (disabled), with its word.
    pub(crate) mark: Mark,
    /// `ordered`, `fair` or empty.
    pub(crate) order: &'static str,
    /// Deliveries that wait.
    pub(crate) lag: Count,
    pub(crate) running: Count,
    pub(crate) dead: Count,
    pub(crate) completed: Count,
    /// Deliveries that it completes; none if that is not known yet.
    pub(crate) rate: Option<Rate>,
    /// Share of the last 100 that failed, in percent.
    pub(crate) failing: u8,
    pub(crate) p50: Option<Ms>,
    pub(crate) p95: Option<Ms>,
}

/// How often something happens: `12/min`, or `0.3/min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) completed: u64,
    pub(crate) minutes: u64,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let a_minute = self.completed as f64 / self.minutes.max(1) as f64;
        match self.completed {
            0 => f.write_str("0/min"),
            _ if a_minute < 10.0 => write!(f, "{a_minute:.1}/min"),
            _ => write!(f, "{}/min", Count::exact(a_minute.round() as u64)),
        }
    }
}

/// An event of the log.
#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) at: When,
    /// The partition key; empty if there is none.
    pub(crate) key: String,
    /// The beginning of its data, on a line.
    pub(crate) data: String,
}

/// The page `/ui/consumers/NAME`.
#[derive(Clone, Debug, Template)]
#[template(path = "consumer.html")]
pub(crate) struct Consumer {
    pub(crate) shell: Shell,
    pub(crate) row: ConsumerRow,
    /// The queue of its deliveries, with the prefix.
    pub(crate) queue_url: String,
    pub(crate) ranges: Vec<RangeLink>,
    pub(crate) throughput: Chart,
    pub(crate) facts: Facts,
    pub(crate) actions: Vec<Action>,
    pub(crate) replay: Replay,
    pub(crate) cli: String,
}

/// The form of a replay: it counts first.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    /// With the prefix.
    pub(crate) url: String,
    /// A duration or time, as on the command line; empty for the whole log.
    pub(crate) from: String,
    /// How many events match, once they are counted.
    pub(crate) matched: Option<Count>,
    /// Whether the count stopped early, so that there are more.
    pub(crate) and_more: bool,
    /// Identifies the replay, so that it delivers nothing twice.
    pub(crate) name: String,
    pub(crate) impossible: Option<String>,
    pub(crate) cli: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_below_ten_has_a_decimal() {
        let rate = |completed| Rate { completed, minutes: 10 }.to_string();
        let rates = [0, 1, 99, 104, 12_345].map(rate);
        assert_eq!(rates, ["0/min", "0.1/min", "9.9/min", "10/min", "1,235/min"]);
    }
}
