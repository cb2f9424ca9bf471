//! What each key does.

use queuekit::JobId;
use queuekit::jobs::BulkAction;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::act::{Act, BulkAct, Decision, Verb};
use super::model::{List, Mode, Model, Notice, Opened, Opening, Request, Tab};
use super::orders::Order;
use super::screens;
use crate::ui::attention::Place;
use crate::wire::FilterBody;

/// Longest filter that is typed.
const FILTER_LETTERS: usize = 500;
/// Rows that a page key moves by.
const PAGE: isize = 10;

impl Model {
    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<Request> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && key.code == KeyCode::Char('c') {
            return vec![Request::Quit];
        }
        match &mut self.mode {
            Mode::Help => {
                self.mode = Mode::Browse;
                Vec::new()
            }
            Mode::Filter { .. } => self.edit(key, is_control),
            Mode::Slots { .. } => {
                self.edit_slots(key);
                Vec::new()
            }
            Mode::Counting(_) => {
                if matches!(key.code, KeyCode::Esc | KeyCode::Char('n' | 'q')) {
                    self.mode = Mode::Browse;
                }
                Vec::new()
            }
            Mode::Confirm(confirm) => match confirm.press(key) {
                Decision::Open => Vec::new(),
                Decision::No => {
                    self.mode = Mode::Browse;
                    self.notice = Notice::said("nothing was changed");
                    Vec::new()
                }
                Decision::Yes(act) => {
                    self.mode = Mode::Browse;
                    self.doing = Some(confirmed(&act));
                    vec![Request::Do(act)]
                }
            },
            Mode::Browse if is_control => Vec::new(),
            Mode::Browse => self.browse(key.code),
        }
    }

    fn browse(&mut self, key: KeyCode) -> Vec<Request> {
        let was_said = self.notice.take();
        match key {
            KeyCode::Char('q') => return self.quit(was_said),
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char(' ') => {
                self.is_paused = !self.is_paused;
                return self.refresh();
            }
            KeyCode::Char(digit @ '1'..='5') => {
                return self.open_tab(Tab::ALL[digit as usize - '1' as usize]);
            }
            KeyCode::Tab => return self.open_tab(self.beside(1)),
            KeyCode::BackTab => return self.open_tab(self.beside(Tab::ALL.len() - 1)),
            KeyCode::Char('j') | KeyCode::Down => self.step(1),
            KeyCode::Char('k') | KeyCode::Up => self.step(-1),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::Char('g') | KeyCode::Home => self.step(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.step(isize::MAX),
            KeyCode::Enter => return self.enter(),
            KeyCode::Esc => return self.back(),
            KeyCode::Char('/') => self.start_filter(),
            KeyCode::Char(letter) => return self.act(letter),
            _ => {}
        }
        Vec::new()
    }

    /// An action in progress would stop half-way: only a second q leaves it.
    fn quit(&mut self, was_said: Option<Notice>) -> Vec<Request> {
        if let Some(doing) = &self.doing {
            let warning = format!("{doing}: q again leaves it unfinished");
            if was_said.is_none_or(|notice| notice.text != warning) {
                self.notice = Notice::error(warning);
                return Vec::new();
            }
        }
        vec![Request::Quit]
    }

    fn open_tab(&mut self, tab: Tab) -> Vec<Request> {
        self.tab = tab;
        self.opened = None;
        self.refresh()
    }

    /// The tab this many to the right.
    fn beside(&self, by: usize) -> Tab {
        Tab::ALL[(self.tab as usize + by) % Tab::ALL.len()]
    }

    /// Moves the selection, or scrolls what is opened.
    fn step(&mut self, by: isize) {
        if self.opened.is_some() {
            let last = screens::last_scroll(self);
            if let Some(opened) = &mut self.opened {
                opened.scroll = opened.scroll.saturating_add_signed(by).min(last);
            }
            return;
        }
        let rows = self.rows();
        let from = self.list().at(&rows).unwrap_or(0);
        self.list_mut().select(from.saturating_add_signed(by), &rows);
    }

    fn enter(&mut self) -> Vec<Request> {
        let opening = match (&self.opened, self.tab) {
            (Some(Opened { what: Opening::Group { id, queue }, .. }), _) => {
                let filter = format!("group:{id} queue:{queue} status:dead");
                return self.list_jobs(filter);
            }
            (Some(Opened { what: Opening::Queue(name), .. }), _) => {
                let filter = format!("queue:{name}");
                return self.list_jobs(filter);
            }
            (Some(_), _) => return Vec::new(),
            (None, Tab::Overview) => return self.enter_concern(),
            (None, Tab::Queues) => {
                self.selected_queue().map(|queue| Opening::Queue(queue.name.to_string()))
            }
            (None, Tab::Jobs) => return self.enter_job(),
            (None, Tab::Errors) => self.selected_group().map(|group| {
                let (id, queue) = (group.id.clone(), group.queue.clone());
                Opening::Group { id, queue }
            }),
            (None, Tab::Workers) => {
                let worker = self.selected().and_then(|at| self.workers().get(at).copied());
                worker.map(|worker| Opening::Worker(worker.id.clone()))
            }
        };
        let Some(opening) = opening else { return Vec::new() };
        self.opened = Some(Opened::new(opening));
        self.refresh()
    }

    /// What the list knows of the job is shown until the first answer.
    fn enter_job(&mut self) -> Vec<Request> {
        let at = self.selected();
        let Some(job) = at.and_then(|at| self.figures.jobs().get(at)) else { return Vec::new() };
        let opened =
            Opened { job: Some(Box::new(job.clone())), ..Opened::new(Opening::Job(job.id)) };
        self.opened = Some(opened);
        self.refresh()
    }

    /// Goes to where the concern is.
    fn enter_concern(&mut self) -> Vec<Request> {
        let place = self.selected_concern().map(|found| found.place);
        let (tab, opening) = match place.map(|place| self.listed_place(place)) {
            None => return Vec::new(),
            Some(Place::Jobs(filter)) => return self.list_jobs(filter),
            Some(Place::Queue(name)) => {
                self.lists[Tab::Queues as usize] = List::default();
                self.lists[Tab::Queues as usize].select_key(name.clone());
                (Tab::Queues, Some(Opening::Queue(name)))
            }
            Some(Place::ErrorGroup { id, queue }) => {
                self.lists[Tab::Errors as usize] = List::default();
                self.errors_of = None;
                self.lists[Tab::Errors as usize].select_key(format!("{id} {queue}"));
                (Tab::Errors, Some(Opening::Group { id, queue }))
            }
            Some(Place::Workers) => (Tab::Workers, None),
            Some(Place::Doctor) => return self.is_said_by("doctor"),
            Some(Place::Schedule(_)) => return self.is_said_by("cron list"),
            Some(Place::Consumer(_)) => return self.is_said_by("subscription list"),
        };
        self.tab = tab;
        self.opened = opening.map(Opened::new);
        self.refresh()
    }

    /// The queue of a consumer's deliveries instead of the consumer, if it is listed.
    fn listed_place(&self, place: Place) -> Place {
        let Place::Consumer(name) = &place else { return place };
        let queue = format!("event.{name}");
        let mut queues = self.figures.queues().iter();
        if queues.any(|listed| listed.name.as_str() == queue) { Place::Queue(queue) } else { place }
    }

    fn is_said_by(&mut self, command: &str) -> Vec<Request> {
        self.notice = Notice::said(format!("`queuekit {command}` says more"));
        Vec::new()
    }

    fn list_jobs(&mut self, filter: String) -> Vec<Request> {
        self.tab = Tab::Jobs;
        self.opened = None;
        self.set_filter(filter);
        self.refresh()
    }

    fn back(&mut self) -> Vec<Request> {
        if self.opened.take().is_none() {
            if !self.list().filter.is_empty() {
                self.set_filter(String::new());
            } else if self.tab == Tab::Errors {
                self.errors_of = None;
            }
        }
        self.refresh()
    }

    fn start_filter(&mut self) {
        if self.tab == Tab::Overview {
            self.notice = Notice::error("the overview has no filter: open another tab first");
            return;
        }
        self.opened = None;
        self.mode = Mode::Filter { text: self.list().filter.clone(), error: None };
    }

    fn edit(&mut self, key: KeyEvent, is_control: bool) -> Vec<Request> {
        let is_jobs = self.tab == Tab::Jobs;
        let Mode::Filter { text, error } = &mut self.mode else { return Vec::new() };
        match key.code {
            KeyCode::Esc => self.mode = Mode::Browse,
            KeyCode::Enter => {
                if is_jobs && let Err(refused) = FilterBody::read([text.as_str()]) {
                    *error = Some(refused.to_string());
                    return Vec::new();
                }
                let text = std::mem::take(text);
                self.mode = Mode::Browse;
                self.set_filter(text);
                return self.refresh();
            }
            _ => *error = None,
        }
        let Mode::Filter { text, .. } = &mut self.mode else { return Vec::new() };
        match key.code {
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char('u') if is_control => text.clear(),
            KeyCode::Char('w') if is_control => {
                let is_of_word = |letter: char| !letter.is_whitespace();
                text.truncate(text.trim_end().trim_end_matches(is_of_word).len());
            }
            KeyCode::Char(letter) if !is_control && text.chars().count() < FILTER_LETTERS => {
                text.push(letter);
            }
            _ => {}
        }
        Vec::new()
    }

    /// Other jobs are listed from now on, so those of before are no longer shown.
    fn set_filter(&mut self, filter: String) {
        let is_same = self.list().filter == filter;
        *self.list_mut() = List::filtered(filter);
        if self.tab == Tab::Jobs && !is_same {
            self.figures.jobs = Default::default();
        }
    }

    /// Actions: lower case is harmless or can be undone, upper case cannot.
    fn act(&mut self, letter: char) -> Vec<Request> {
        if let Some(doing) = &self.doing {
            self.notice = Notice::error(format!("{doing}: wait until it has ended"));
            return Vec::new();
        }
        match (self.tab, letter) {
            (Tab::Overview, 'a') => return self.mend(),
            (Tab::Queues, 'p') => {
                let turn =
                    self.chosen_queue().map(|queue| Act::turn(&queue.name, queue.settings.paused));
                self.ask_to_confirm(turn.ok_or_else(nothing_selected));
            }
            (Tab::Queues, 'e') => return self.list_errors(),
            (Tab::Queues, 'D') => {
                let purge = self.chosen_queue().map(|queue| BulkAct::purge(&queue.name));
                return self.count(purge);
            }
            (Tab::Jobs, 'r') => self.act_on_job(Verb::Retry),
            (Tab::Jobs, 'n') => self.act_on_job(Verb::RunNow),
            (Tab::Jobs, 'c') => self.act_on_job(Verb::Cancel),
            (Tab::Jobs, 'D') => self.act_on_job(Verb::Delete),
            (Tab::Errors, 'R') => {
                let retry = self.on_group(BulkAction::Retry);
                return self.count(retry);
            }
            (Tab::Errors, 'D') => {
                let purge = self.on_group(BulkAction::Delete);
                return self.count(purge);
            }
            (Tab::Workers, 'p') => self.ask_to_order(Order::Quiet),
            (Tab::Workers, 'r') => self.ask_to_order(Order::Resume),
            (Tab::Workers, 'S') => self.ask_to_order(Order::Stop),
            (Tab::Workers, 's') => self.ask_for_slots(),
            (_, 'a') => self.is_elsewhere("a acts on what needs attention: press 1 for Overview"),
            (_, 'p') => self.is_elsewhere("p pauses a queue: press 2 for Queues"),
            (_, 'e') => self.is_elsewhere("e lists the errors of a queue: press 2 for Queues"),
            (_, 's' | 'S') => {
                self.is_elsewhere("s and S give orders to a worker: press 5 for Workers");
            }
            (_, 'r' | 'n' | 'c') => {
                self.is_elsewhere("r, n and c act on a job: press 3 for Jobs");
            }
            (_, 'R') => self.is_elsewhere("R retries the jobs of an error: press 4 for Errors"),
            (_, 'D') => self.is_elsewhere("D deletes jobs in the tabs Queues, Jobs and Errors"),
            _ => {}
        }
        Vec::new()
    }

    fn on_group(&self, action: BulkAction) -> Option<BulkAct> {
        let group = self.chosen_group()?;
        Some(BulkAct::of_group(action, &group.id, &group.queue))
    }

    /// The errors of the chosen queue alone.
    fn list_errors(&mut self) -> Vec<Request> {
        let Some(queue) = self.chosen_queue().map(|queue| queue.name.to_string()) else {
            self.notice = Notice::error(nothing_selected());
            return Vec::new();
        };
        self.lists[Tab::Errors as usize] = List::default();
        self.figures.groups = Default::default();
        self.errors_of = Some(queue);
        self.open_tab(Tab::Errors)
    }

    fn is_elsewhere(&mut self, text: &str) {
        self.notice = Notice::error(text);
    }

    fn act_on_job(&mut self, verb: Verb) {
        let confirm = match (&self.opened, self.selected()) {
            (Some(Opened { missing: Some(why), .. }), _) => Err(why.clone()),
            (Some(opened), _) => opened.job.as_deref().ok_or_else(nothing_selected),
            (None, at) => {
                at.and_then(|at| self.figures.jobs().get(at)).ok_or_else(nothing_selected)
            }
        };
        let confirm = confirm.and_then(|job| Act::on_job(verb, job));
        self.ask_to_confirm(confirm);
    }

    /// Counts the jobs; the answer opens the question.
    pub(super) fn count(&mut self, act: Option<BulkAct>) -> Vec<Request> {
        let Some(mut act) = act else {
            self.notice = Notice::error(nothing_selected());
            return Vec::new();
        };
        if let Err(error) = act.bulk.keep_possible() {
            self.notice = Notice::error(error.to_string());
            return Vec::new();
        }
        self.mode = Mode::Counting(act.clone());
        vec![Request::Count(act)]
    }
}

fn nothing_selected() -> String {
    "nothing is selected".to_owned()
}

/// What is being done, for as long as it takes.
fn confirmed(act: &Act) -> String {
    let job = |verb: &str, id: &JobId| format!("{verb} job {id}");
    match act {
        Act::Pause(queue) => format!("pausing queue {queue}"),
        Act::Resume(queue) => format!("resuming queue {queue}"),
        Act::Job(id, Verb::Retry) => job("retrying", id),
        Act::Job(id, Verb::RunNow) => job("rescheduling", id),
        Act::Job(id, Verb::Cancel) => job("cancelling", id),
        Act::Job(id, Verb::Delete) => job("deleting", id),
        Act::Bulk(act) => act.title(),
        Act::Order(worker, order) => order.doing(worker),
        Act::RunSchedule(name) => format!("running schedule {name}"),
        Act::EnableConsumer(name) => format!("enabling consumer {name}"),
    }
}
