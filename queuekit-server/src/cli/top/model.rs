//! The state of the dashboard. `update` changes it, and `screens` draws it.

use std::time::Duration;

use queuekit::queues::Queue;
use queuekit::store::capability::Finding;
use queuekit::{Job, JobId, Timestamp};
use ratatui::crossterm::event::KeyEvent;

use super::act::{Act, BulkAct, Confirm};
use super::extras::Extra;
use super::figures::Figures;
use super::slot::Listed;
use crate::ui::attention::Found;
use crate::wire::{
    ErrorGroupBody, FilterBody, HistoryBody, ScheduleBody, SubscriptionBody, WorkerBody,
};

/// A round that takes longer is said to wait.
const SLOW: Duration = Duration::from_secs(3);

/// Everything that is shown.
pub(super) struct Model {
    /// The store or the server, without secrets.
    pub(super) place: String,
    pub(super) every: Duration,
    /// Whether to use colours.
    pub(super) colours: bool,
    pub(super) now: Timestamp,
    /// Columns and rows of the terminal.
    pub(super) size: (u16, u16),
    pub(super) tab: Tab,
    pub(super) lists: [List; Tab::ALL.len()],
    /// The queue whose errors are listed; none for all.
    pub(super) errors_of: Option<String>,
    pub(super) opened: Option<Opened>,
    pub(super) mode: Mode,
    pub(super) is_paused: bool,
    pub(super) notice: Option<Notice>,
    /// The action that is being done.
    pub(super) doing: Option<String>,
    pub(super) link: Link,
    pub(super) figures: Figures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Overview,
    Queues,
    Jobs,
    Errors,
    Workers,
}

/// Which row of a list is selected, and which rows it has.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    index: usize,
    /// Identifies the row, which may move while it is selected.
    key: Option<String>,
    pub(super) filter: String,
}

/// One thing, shown instead of the list.
pub(super) struct Opened {
    pub(super) what: Opening,
    pub(super) scroll: usize,
    /// The job, or the sample of the group.
    pub(super) job: Option<Box<Job>>,
    pub(super) why: Option<String>,
    /// Why there is no job, or none any more.
    pub(super) missing: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Queue(String),
    Job(JobId),
    Group { id: String, queue: String },
    Worker(String),
}

/// What keys do.
pub(super) enum Mode {
    Browse,
    Help,
    /// Edits the filter of the list; the error is why it was not accepted.
    Filter {
        text: String,
        error: Option<String>,
    },
    /// Types how many jobs a worker may run at once.
    Slots {
        worker: String,
        text: String,
        error: Option<String>,
    },
    /// Waits for the count.
    Counting(BulkAct),
    Confirm(Confirm),
}

/// How the last action ended, or why a key did nothing.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// How the rounds are going.
#[derive(Debug, Default)]
pub(super) struct Link {
    /// When a round was last answered.
    pub(super) answered: Option<Timestamp>,
    /// Since when a round has been under way.
    pub(super) asked: Option<Timestamp>,
    /// Why the last round failed.
    pub(super) error: Option<String>,
    /// A round is due as soon as the present one has ended.
    pub(super) is_due: bool,
}

/// What happens to the model.
pub(super) enum Event {
    Key(KeyEvent),
    Resized(u16, u16),
    /// The interval has passed.
    Tick,
    Answered(Vec<Answered>),
    Counted(BulkAct, Result<u64, String>),
    Done(Result<String, String>),
}

/// What the model asks for.
#[derive(Debug)]
pub(super) enum Request {
    Round(Vec<Ask>),
    Count(BulkAct),
    Do(Act),
    Quit,
}

/// A call of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Queues,
    Workers,
    /// Those of a queue, or of all: of more than 100 queues the API merges none.
    Groups {
        queue: Option<String>,
    },
    History {
        from: Timestamp,
    },
    Jobs {
        text: String,
        filter: Box<FilterBody>,
    },
    Job(JobId),
    Why(JobId),
    Extra(Extra),
}

/// A call with its answer.
pub(super) struct Answered {
    pub(super) ask: Ask,
    pub(super) got: Result<Got, Failure>,
}

pub(super) enum Got {
    Queues(Listed<Queue>),
    Workers(Listed<WorkerBody>),
    Groups(Listed<ErrorGroupBody>),
    History(HistoryBody),
    Jobs(Listed<Job>),
    Job(Box<Job>),
    Why(String),
    Consumers(Vec<SubscriptionBody>),
    Schedules(Vec<ScheduleBody>),
    Findings(Vec<Finding>),
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The store or the server does not answer, and may do so later.
    Away(String),
    /// It refuses.
    Refused(String),
}

impl Model {
    pub(super) fn new(place: String, every: Duration, now: Timestamp) -> Self {
        Self {
            place,
            every,
            colours: true,
            now,
            size: (80, 24),
            tab: Tab::Overview,
            lists: Default::default(),
            errors_of: None,
            opened: None,
            mode: Mode::Browse,
            is_paused: false,
            notice: None,
            doing: None,
            link: Link::default(),
            figures: Figures::default(),
        }
    }

    pub(super) fn list(&self) -> &List {
        &self.lists[self.tab as usize]
    }

    pub(super) fn list_mut(&mut self) -> &mut List {
        &mut self.lists[self.tab as usize]
    }

    /// Whether what is shown may be out of date, because the store does not answer.
    pub(super) fn is_stale(&self) -> bool {
        self.link.error.is_some() || self.waits().is_some()
    }

    /// How long a slow round has been under way.
    pub(super) fn waits(&self) -> Option<Duration> {
        self.link.asked.map(|asked| self.now.since(asked)).filter(|waited| *waited >= SLOW)
    }

    /// The queues of the list.
    pub(super) fn queues(&self) -> Vec<&Queue> {
        let text = &self.lists[Tab::Queues as usize].filter;
        let queues = self.figures.queues().iter();
        queues.filter(|queue| queue.name.as_str().contains(text.as_str())).collect()
    }

    /// The error groups of the list.
    pub(super) fn groups(&self) -> Vec<&ErrorGroupBody> {
        let text = &self.lists[Tab::Errors as usize].filter;
        let has = |field: &String| field.contains(text.as_str());
        let groups = self.figures.groups().iter();
        let is_listed =
            |group: &&ErrorGroupBody| self.errors_of.as_ref().is_none_or(|of| *of == group.queue);
        groups
            .filter(is_listed)
            .filter(|group| {
                [&group.id, &group.queue, &group.kind, &group.signature].into_iter().any(has)
            })
            .collect()
    }

    /// The workers of the list.
    pub(super) fn workers(&self) -> Vec<&WorkerBody> {
        let text = &self.lists[Tab::Workers as usize].filter;
        let has = |field: &String| field.contains(text.as_str());
        let workers = self.figures.workers().iter();
        workers
            .filter(|worker| {
                let named = [&worker.id, &worker.name, &worker.host];
                named.into_iter().chain(&worker.queues).chain(&worker.kinds).any(has)
            })
            .collect()
    }

    pub(super) fn selected_queue(&self) -> Option<&Queue> {
        self.queues().get(self.selected()?).copied()
    }

    pub(super) fn selected_group(&self) -> Option<&ErrorGroupBody> {
        self.groups().get(self.selected()?).copied()
    }

    /// The queue that is opened, if it still exists.
    pub(super) fn opened_queue(&self) -> Option<&Queue> {
        let Opening::Queue(name) = &self.opened.as_ref()?.what else { return None };
        self.figures.queues().iter().find(|queue| queue.name.as_str() == name)
    }

    pub(super) fn opened_group(&self) -> Option<&ErrorGroupBody> {
        let Opening::Group { id, queue } = &self.opened.as_ref()?.what else { return None };
        self.figures.groups().iter().find(|group| group.id == *id && group.queue == *queue)
    }

    pub(super) fn opened_worker(&self) -> Option<&WorkerBody> {
        let Opening::Worker(id) = &self.opened.as_ref()?.what else { return None };
        self.figures.workers().iter().find(|worker| worker.id == *id)
    }

    /// The queue that an action is about: the opened one, or else the selected one.
    pub(super) fn chosen_queue(&self) -> Option<&Queue> {
        if self.opened.is_some() { self.opened_queue() } else { self.selected_queue() }
    }

    /// The error group that an action is about.
    pub(super) fn chosen_group(&self) -> Option<&ErrorGroupBody> {
        if self.opened.is_some() { self.opened_group() } else { self.selected_group() }
    }

    pub(super) fn concerns(&self) -> Vec<Found> {
        self.figures.concerns(self.now)
    }

    pub(super) fn selected_concern(&self) -> Option<Found> {
        self.concerns().into_iter().nth(self.selected()?)
    }

    /// The rows of the list, by what identifies each.
    pub(super) fn rows(&self) -> Vec<String> {
        match self.tab {
            Tab::Overview => self.concerns().into_iter().map(|found| found.sentence).collect(),
            Tab::Queues => self.queues().iter().map(|queue| queue.name.to_string()).collect(),
            Tab::Jobs => self.figures.jobs().iter().map(|job| job.id.to_string()).collect(),
            Tab::Errors => {
                let key = |group: &&ErrorGroupBody| format!("{} {}", group.id, group.queue);
                self.groups().iter().map(key).collect()
            }
            Tab::Workers => self.workers().iter().map(|worker| worker.id.clone()).collect(),
        }
    }

    /// The selected row, if there are any.
    pub(super) fn selected(&self) -> Option<usize> {
        self.list().at(&self.rows())
    }
}

impl Tab {
    pub(super) const ALL: [Self; 5] =
        [Self::Overview, Self::Queues, Self::Jobs, Self::Errors, Self::Workers];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Queues => "Queues",
            Self::Jobs => "Jobs",
            Self::Errors => "Errors",
            Self::Workers => "Workers",
        }
    }
}

impl List {
    pub(super) fn filtered(filter: String) -> Self {
        Self { filter, ..Self::default() }
    }

    /// Where the selected row is. A row that is gone leaves the selection at its place.
    pub(super) fn at(&self, rows: &[String]) -> Option<usize> {
        let last = rows.len().checked_sub(1)?;
        let moved = self.key.as_ref().and_then(|key| rows.iter().position(|row| row == key));
        Some(moved.unwrap_or(self.index).min(last))
    }

    /// Selects a row.
    pub(super) fn select(&mut self, index: usize, rows: &[String]) {
        self.index = index.min(rows.len().saturating_sub(1));
        self.key = rows.get(self.index).cloned();
    }

    /// Selects a row that may not be listed yet.
    pub(super) fn select_key(&mut self, key: String) {
        self.key = Some(key);
    }
}

impl Opened {
    pub(super) fn new(what: Opening) -> Self {
        Self { what, scroll: 0, job: None, why: None, missing: None }
    }
}

impl Notice {
    pub(super) fn said(text: impl Into<String>) -> Option<Self> {
        Some(Self { text: text.into(), is_error: false })
    }

    pub(super) fn error(text: impl Into<String>) -> Option<Self> {
        Some(Self { text: text.into(), is_error: true })
    }
}
