//! What happens to the model, and what it asks for in turn. No I/O.

use queuekit::{JobId, Timestamp};

use super::act::Confirm;
use super::extras::{Extra, Schedules};
use super::figures::HOUR;
use super::model::{
    Answered, Ask, Event, Failure, Got, Mode, Model, Notice, Opened, Opening, Request, Tab,
};
use crate::wire::FilterBody;

/// How often the chart of the last hour is read: it has a bar for each minute.
const HISTORY_EVERY: std::time::Duration = std::time::Duration::from_secs(30);

impl Model {
    /// Takes what happened at this time.
    pub(super) fn update(&mut self, event: Event, now: Timestamp) -> Vec<Request> {
        self.now = now;
        match event {
            Event::Key(key) => self.press(key),
            Event::Resized(columns, rows) => {
                self.size = (columns, rows);
                Vec::new()
            }
            Event::Tick => self.round(),
            Event::Answered(answers) => self.answered(answers),
            Event::Counted(act, counted) => {
                // It may have been given up in the meantime.
                if matches!(&self.mode, Mode::Counting(waiting) if waiting.target == act.target) {
                    self.ask_to_confirm(counted.and_then(|counted| act.confirm(counted)));
                }
                Vec::new()
            }
            Event::Done(done) => {
                self.doing = None;
                self.notice = match done {
                    Ok(text) => Notice::said(text),
                    Err(text) => Notice::error(text),
                };
                self.refresh()
            }
        }
    }

    /// Opens the question, or says why there is none.
    pub(super) fn ask_to_confirm(&mut self, confirm: Result<Confirm, String>) {
        match confirm {
            Ok(confirm) => self.mode = Mode::Confirm(confirm),
            Err(why) => {
                self.mode = Mode::Browse;
                self.notice = Notice::error(why);
            }
        }
    }

    /// A round now, or as soon as the present one has ended.
    pub(super) fn refresh(&mut self) -> Vec<Request> {
        self.link.is_due = true;
        self.round()
    }

    fn round(&mut self) -> Vec<Request> {
        if self.is_paused || self.link.asked.is_some() {
            return Vec::new();
        }
        self.link.is_due = false;
        let asks = self.asks();
        if asks.is_empty() {
            return Vec::new();
        }
        self.link.asked = Some(self.now);
        vec![Request::Round(asks)]
    }

    /// The calls of a round, at most three: only what is on the screen.
    fn asks(&self) -> Vec<Ask> {
        match &self.opened {
            Some(Opened { what: Opening::Job(id), .. }) => {
                return vec![Ask::Job(*id), Ask::Why(*id)];
            }
            Some(Opened { what: Opening::Group { .. }, .. }) => {
                let sample = self.sample().map(Ask::Job);
                return [self.ask_groups()].into_iter().chain(sample).collect();
            }
            Some(Opened { what: Opening::Queue(_) | Opening::Worker(_), .. }) | None => {}
        }
        match self.tab {
            Tab::Overview => {
                // The chart changes once a minute, so it takes the place of the workers then.
                let second = self.history_due().unwrap_or(Ask::Workers);
                let third = self.figures.extras.next(self.now).map(Ask::Extra);
                vec![Ask::Queues, second, third.unwrap_or(Ask::Groups { queue: None })]
            }
            Tab::Queues => vec![Ask::Queues],
            Tab::Jobs => {
                let text = self.list().filter.clone();
                // `older:1h` is an hour before each round.
                let filter = FilterBody::read([text.as_str()]).map(Box::new);
                filter.into_iter().map(|filter| Ask::Jobs { text: text.clone(), filter }).collect()
            }
            Tab::Errors => vec![self.ask_groups()],
            Tab::Workers => vec![Ask::Workers],
        }
    }

    fn ask_groups(&self) -> Ask {
        Ask::Groups { queue: self.errors_of.clone() }
    }

    /// The history to ask for, if it is time. A refusal is not asked about again.
    fn history_due(&self) -> Option<Ask> {
        let slot = &self.figures.history;
        let since = self.now.minus(HOUR);
        let due = match &slot.value {
            None => slot.refused.is_none().then_some(since),
            Some(history) => {
                let asked = history.asked_at.unwrap_or(since);
                let is_due = !history.is_complete || self.now.since(asked) >= HISTORY_EVERY;
                is_due.then(|| history.last_row().unwrap_or(since))
            }
        };
        // The workers are read first.
        due.filter(|_| {
            self.figures.workers.value.is_some() || self.figures.workers.refused.is_some()
        })
        .map(|from| Ask::History { from })
    }

    /// The latest job of the opened group.
    pub(super) fn sample(&self) -> Option<JobId> {
        self.opened_group().map(|group| group.sample)
    }

    fn answered(&mut self, answers: Vec<Answered>) -> Vec<Request> {
        self.link.asked = None;
        self.link.error = None;
        for Answered { ask, got } in answers {
            match &ask {
                Ask::Extra(extra) => self.figures.extras.asked(*extra, self.now),
                Ask::Groups { .. } => self.figures.extras.asked_groups(),
                _ => {}
            }
            match got {
                Ok(got) => self.take(ask, got),
                Err(Failure::Refused(why)) => self.refused(&ask, why),
                Err(Failure::Away(why)) => self.link.error = Some(why),
            }
        }
        if self.link.error.is_none() {
            self.link.answered = Some(self.now);
        }
        if self.link.is_due { self.round() } else { Vec::new() }
    }

    fn take(&mut self, ask: Ask, got: Got) {
        let figures = &mut self.figures;
        match (ask, got) {
            (_, Got::Queues(queues)) => figures.take_queues(queues),
            (_, Got::Workers(workers)) => figures.workers.set(workers),
            (_, Got::Groups(groups)) => figures.groups.set(groups),
            (_, Got::Consumers(consumers)) => figures.extras.consumers.slot.set(consumers),
            (_, Got::Schedules(schedules)) => {
                let schedules = Schedules::of(schedules, figures.store_now(self.now));
                figures.extras.schedules.slot.set(schedules);
            }
            (_, Got::Findings(findings)) => figures.extras.findings.slot.set(findings),
            (_, Got::History(history)) => figures.take_history(&history, self.now),
            // Otherwise the filter has changed since.
            (Ask::Jobs { text, .. }, Got::Jobs(jobs))
                if text == self.lists[Tab::Jobs as usize].filter =>
            {
                figures.jobs.set(jobs);
            }
            (Ask::Job(id), Got::Job(job)) => {
                if let Some(opened) = self.opened_for(id) {
                    (opened.job, opened.missing) = (Some(job), None);
                }
            }
            (Ask::Why(id), Got::Why(why)) => {
                if let Some(opened) = self.opened_for(id) {
                    opened.why = Some(why);
                }
            }
            _ => {}
        }
    }

    fn refused(&mut self, ask: &Ask, why: String) {
        let figures = &mut self.figures;
        match ask {
            Ask::Queues => figures.queues.refuse(why),
            Ask::Workers => figures.workers.refuse(why),
            Ask::Groups { .. } => figures.groups.refuse(why),
            Ask::History { .. } => figures.history.refuse(why),
            Ask::Jobs { .. } => figures.jobs.refuse(why),
            Ask::Extra(Extra::Consumers) => figures.extras.consumers.slot.refuse(why),
            Ask::Extra(Extra::Schedules) => figures.extras.schedules.slot.refuse(why),
            Ask::Extra(Extra::Findings) => figures.extras.findings.slot.refuse(why),
            Ask::Job(id) => {
                if let Some(opened) = self.opened_for(*id) {
                    opened.missing = Some(why);
                }
            }
            // The same is said of the job.
            Ask::Why(id) => {
                if let Some(opened) = self.opened_for(*id) {
                    opened.why = None;
                }
            }
        }
    }

    /// What is opened, if an answer about this job belongs there.
    fn opened_for(&mut self, id: JobId) -> Option<&mut Opened> {
        let sample = self.sample();
        self.opened.as_mut().filter(|opened| match opened.what {
            Opening::Job(opened) => opened == id,
            Opening::Group { .. } => sample == Some(id),
            Opening::Queue(_) | Opening::Worker(_) => false,
        })
    }
}
