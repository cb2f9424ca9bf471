//! The first page: what needs attention, and how it goes.

use askama::Template;

use super::{Action, Chart, Count, Health, Mark, Ms, Pause, Shell, Sparkline, When, parts};

/// The page `/ui`.
#[derive(Clone, Debug, Template)]
#[template(path = "overview.html")]
pub(crate) struct Overview {
    pub(crate) shell: Shell,
    pub(crate) attention: Attention,
    pub(crate) numbers: Numbers,
    pub(crate) ranges: Vec<RangeLink>,
    pub(crate) throughput: Chart,
    pub(crate) latency: Chart,
    pub(crate) queues: QueueTable,
}

/// What needs attention, the most urgent first.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/attention.html")]
pub(crate) struct Attention {
    pub(crate) items: Vec<Concern>,
    /// What was looked at, if nothing needs attention: `12 queues and 4 workers`.
    pub(crate) looked_at: String,
}

/// One thing that needs attention.
#[derive(Clone, Debug)]
pub(crate) struct Concern {
    /// `error`, `warning` or `info`
    pub(crate) shape: &'static str,
    /// A sentence: `emails has 1,204 ready jobs and no worker`.
    pub(crate) sentence: String,
    /// More about it, smaller.
    pub(crate) detail: String,
    /// Where to look, with the prefix.
    pub(crate) url: String,
    /// Since when, if that is known.
    pub(crate) since: Option<When>,
    /// What can be done about it here.
    pub(crate) action: Option<Action>,
    /// Or on which page it can be done: address and text.
    pub(crate) link: Option<(String, String)>,
}

/// The seven numbers.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/numbers.html")]
pub(crate) struct Numbers {
    pub(crate) items: Vec<Number>,
}

/// How many jobs have a status.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) mark: Mark,
    pub(crate) count: Count,
    pub(crate) url: String,
    /// `240 a minute`, or empty.
    pub(crate) note: String,
}

/// A range of time to choose.
#[derive(Clone, Debug)]
pub(crate) struct RangeLink {
    /// `5m`, `1h`, `24h` or `7d`
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) is_current: bool,
}

/// All queues, or those of a page.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/queue_table.html")]
pub(crate) struct QueueTable {
    pub(crate) base: String,
    pub(crate) rows: Vec<QueueRow>,
    /// Whether the rows are those that a search has found.
    pub(crate) is_search: bool,
}

/// A queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueRow {
    pub(crate) name: String,
    pub(crate) pause: Option<Pause>,
    pub(crate) ready: Count,
    pub(crate) running: Count,
    pub(crate) failed: Count,
    pub(crate) scheduled: Count,
    pub(crate) blocked: Count,
    pub(crate) dead: Count,
    pub(crate) completed: Count,
    /// Age of the oldest ready job.
    pub(crate) oldest: Option<Ms>,
    pub(crate) workers: u64,
    /// Slots of its workers that run a job, in percent; none without workers.
    pub(crate) utilisation: Option<u8>,
    /// Completed jobs for each minute of the last hour.
    pub(crate) spark: Sparkline,
    pub(crate) health: Health,
}

parts!(Attention, Numbers, QueueTable);

impl QueueRow {
    /// Whether the oldest job has waited for a minute or more.
    pub(crate) fn is_late(&self) -> bool {
        self.oldest.is_some_and(|age| age.0 >= 60_000)
    }

    /// Whether its reasons are shown in the table.
    pub(crate) fn is_unwell(&self) -> bool {
        self.health.score < 80 && !self.health.reasons.is_empty()
    }

    /// The statuses that have a column, with their counts.
    pub(crate) fn counts(&self) -> [(&'static str, Count); 7] {
        [
            ("ready", self.ready),
            ("running", self.running),
            ("failed", self.failed),
            ("scheduled", self.scheduled),
            ("blocked", self.blocked),
            ("dead", self.dead),
            ("completed", self.completed),
        ]
    }
}
