//! One queue.

use askama::Template;

use super::{
    Action, Chart, Count, Health, Limit, Mark, Ms, Pause, RangeLink, Shell, When, WorkerTable,
    parts,
};

/// The page `/ui/queues/NAME`.
#[derive(Clone, Debug, Template)]
#[template(path = "queue.html")]
pub(crate) struct QueuePage {
    pub(crate) shell: Shell,
    pub(crate) name: String,
    pub(crate) head: QueueHead,
    pub(crate) ranges: Vec<RangeLink>,
    pub(crate) throughput: Chart,
    pub(crate) latency: Chart,
    /// Kinds that wait, the most frequent first.
    pub(crate) kinds: Tally,
    /// Partition keys that wait, held ones first.
    pub(crate) keys: Tally,
    pub(crate) workers: WorkerTable,
    pub(crate) settings: SettingsForm,
    pub(crate) actions: Vec<Action>,
}

/// How the queue is: its counts and health, which change while one looks.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/queue_head.html")]
pub(crate) struct QueueHead {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) pause: Option<Pause>,
    pub(crate) health: Health,
    pub(crate) oldest: Option<Ms>,
    pub(crate) workers: u64,
    pub(crate) limits: Vec<Limit>,
    pub(crate) bar: StateBar,
}

/// The statuses of its jobs as one bar.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/state_bar.html")]
pub(crate) struct StateBar {
    pub(crate) parts: Vec<StatePart>,
}

/// A status with its count.
#[derive(Clone, Debug)]
pub(crate) struct StatePart {
    pub(crate) mark: Mark,
    pub(crate) count: Count,
    /// The list of these jobs, with the prefix.
    pub(crate) url: String,
}

/// A list of names with their counts.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) rows: Vec<TallyRow>,
    /// What was counted: `of the first 1,000 ready jobs`.
    pub(crate) of: String,
}

/// A name with its count.
#[derive(Clone, Debug)]
pub(crate) struct TallyRow {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) count: Count,
    /// `held by a dead job`, or empty.
    pub(crate) note: String,
}

/// The settings of the queue, as a form.
#[derive(Clone, Debug)]
pub(crate) struct SettingsForm {
    /// With the prefix.
    pub(crate) url: String,
    pub(crate) rows: Vec<Setting>,
    /// Who made the last change that the audit log still has, and when.
    pub(crate) changed: Option<(String, When)>,
    /// Why this viewer cannot change them.
    pub(crate) impossible: Option<String>,
    /// The command that shows how to change them.
    pub(crate) cli: String,
}

/// A setting.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The name of the form's field, as on the command line: `max-pending`.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    /// What it does.
    pub(crate) help: &'static str,
    /// The value in force.
    pub(crate) value: String,
    /// What can be chosen; empty if it is a text.
    pub(crate) choices: &'static [&'static str],
}

parts!(QueueHead, StateBar);

/// A part, placed on a line of 1,000 units.
pub(crate) struct Slice<'a> {
    pub(crate) part: &'a StatePart,
    pub(crate) x: u64,
    pub(crate) width: u64,
}

impl StateBar {
    /// The parts that are not empty. Each is wide enough to be seen.
    pub(crate) fn slices(&self) -> Vec<Slice<'_>> {
        let parts: Vec<&StatePart> = self.parts.iter().filter(|p| !p.count.is_zero()).collect();
        let total = parts.iter().map(|part| u128::from(part.count.value)).sum::<u128>().max(1);
        let free = 1000 - parts.len() as u64 * 12;
        let mut x = 0;
        let slice = |part: &'_ &'_ StatePart| {
            let share = u128::from(part.count.value) * u128::from(free) / total;
            let width = 12 + u64::try_from(share).unwrap_or(free);
            x += width;
            (x - width, width - 3)
        };
        let places: Vec<(u64, u64)> = parts.iter().map(slice).collect();
        let placed = parts.into_iter().zip(places);
        placed.map(|(part, (x, width))| Slice { part, x, width }).collect()
    }

    /// `1,204 ready, 8 running`
    pub(crate) fn label(&self) -> String {
        let slices = self.slices();
        let told = slices.iter().map(|s| format!("{} {}", s.part.count, s.part.mark.word));
        told.collect::<Vec<_>>().join(", ")
    }
}

impl Setting {
    pub(crate) fn is_chosen(&self, choice: &str) -> bool {
        self.value == choice
    }
}
