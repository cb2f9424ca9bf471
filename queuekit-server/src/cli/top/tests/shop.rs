//! A shop with a queue, a job, an error and a worker of each sort.

use std::time::Duration;

use queuekit::jobs::{Failure, Kind};
use queuekit::queues::{Count, Queue, QueueSettings, Totals};
use queuekit::{Job, JobId, QueueName, State, Status};
use serde_json::json;

use super::{noon, seconds_ago};
use crate::cli::top::model::{Answered, Ask, Event, Got, Model};
use crate::cli::top::slot::Listed;
use crate::wire::{ErrorGroupBody, HistoryBody, RecentErrorsBody, WorkerBody};

/// What tests write into texts that come from jobs.
pub(super) struct Texts {
    pub(super) name: &'static str,
    pub(super) error: &'static str,
}

pub(super) const PLAIN: Texts =
    Texts { name: "mailer", error: "smtp: connect to mail.example.org:587: timed out" };

/// The dashboard, with an answer to every call.
pub(super) fn open() -> Model {
    open_with(&PLAIN)
}

pub(super) fn open_with(texts: &Texts) -> Model {
    let mut model = Model::new("sqlite://shop.db".to_owned(), Duration::from_secs(1), noon());
    let _ = model.update(Event::Tick, noon());
    answer_with(&mut model, texts);
    model
}

/// Answers everything that a tab may ask for.
fn answer_with(model: &mut Model, texts: &Texts) {
    let filter = Box::default();
    let answers = [
        (Ask::Queues, Got::Queues(listed(queues()))),
        (Ask::Workers, Got::Workers(listed(workers(texts)))),
        (Ask::Groups { queue: None }, Got::Groups(listed(groups(texts)))),
        (Ask::History { from: noon() }, Got::History(history())),
        (Ask::Jobs { text: String::new(), filter }, Got::Jobs(listed(jobs(texts)))),
    ];
    let answers = answers.into_iter().map(|(ask, got)| Answered { ask, got: Ok(got) }).collect();
    let _ = model.update(Event::Answered(answers), noon());
}

pub(super) fn listed<T>(items: Vec<T>) -> Listed<T> {
    Listed { items, has_more: false }
}

pub(super) fn queues() -> Vec<Queue> {
    let queue = |name: &str, counts: &[(Status, u64)], completed: u64| {
        let name = QueueName::new(name).unwrap();
        let mut queue = Queue::empty(name, QueueSettings::default(), noon());
        for (status, value) in counts {
            queue.counts.set(*status, Count { value: *value, exact: *value < 10_000 });
        }
        queue.totals = Totals { completed, ..Totals::default() };
        queue.workers = 1;
        queue
    };
    let mut emails = queue(
        "emails",
        &[(Status::Ready, 12), (Status::Failed, 3), (Status::Dead, 7), (Status::Completed, 48_210)],
        48_210,
    );
    emails.oldest_ready_age = Some(Duration::from_secs(95));
    emails.health.score = 62;
    emails.health.reasons = vec!["-38: 7 of the last 20 ended jobs died".to_owned()];
    let mut images = queue("images", &[(Status::Ready, 4)], 900);
    images.settings.paused = true;
    images.oldest_ready_age = Some(Duration::from_secs(4000));
    let mut reports = queue("reports", &[(Status::Ready, 2), (Status::Scheduled, 1)], 59);
    reports.workers = 0;
    reports.oldest_ready_age = Some(Duration::from_secs(10));
    reports.health.score = 40;
    let orders = queue("orders", &[(Status::Running, 3), (Status::Completed, 1500)], 1500);
    vec![emails, images, orders, reports]
}

pub(super) fn jobs(texts: &Texts) -> Vec<Job> {
    let job = |number: u8, queue: &str, kind: &str, state: State, status: Status| {
        let queue = QueueName::new(queue).unwrap();
        let mut job = Job::pending(id(number), queue, Kind::new(kind).unwrap(), seconds_ago(300));
        (job.state, job.status) = (state, status);
        job
    };
    let mut running = job(1, "orders", "shop.order", State::Running, Status::Running);
    running.attempts = 1;
    running.worker = Some("mailer-1".parse().unwrap());
    let mut ready = job(2, "emails", "shop.mail", State::Pending, Status::Ready);
    ready.partition_key = Some(texts.name.to_owned().try_into().unwrap());
    let mut dead = job(3, "emails", "shop.mail", State::Dead, Status::Dead);
    (dead.attempts, dead.max_attempts) = (3, 3);
    dead.payload = json!({ "to": texts.name, "number": 7 }).to_string().into();
    dead.finished_at = Some(seconds_ago(60));
    dead.errors = (1..=3).map(|attempt| failure(texts, attempt)).collect();
    dead.metadata = [("tenant", texts.name)].into_iter().collect();
    let mut failed = job(4, "images", "shop.picture", State::Pending, Status::Failed);
    failed.errors = vec![failure(texts, 1)];
    failed.scheduled_at = super::seconds_later(30);
    let mut completed = job(5, "orders", "shop.order", State::Completed, Status::Completed);
    completed.finished_at = Some(seconds_ago(5));
    vec![running, ready, dead, failed, completed]
}

fn failure(texts: &Texts, attempt: u32) -> Failure {
    let at = seconds_ago(300 - i64::from(attempt) * 60);
    let worker = Some("mailer-1".parse().unwrap());
    Failure {
        attempt,
        lease_seq: attempt.into(),
        at,
        started_at: Some(at),
        worker,
        error: texts.error.into(),
    }
}

pub(super) fn id(number: u8) -> JobId {
    format!("01890a5d-ac96-774b-bcce-b302099a80{number:02}").parse().unwrap()
}

pub(super) fn groups(texts: &Texts) -> Vec<ErrorGroupBody> {
    let group =
        |id: &str, queue: &str, kind: &str, error: &str, deaths, first, last| ErrorGroupBody {
            id: id.to_owned(),
            queue: queue.to_owned(),
            kind: kind.to_owned(),
            signature: error.to_owned(),
            failures: 21,
            deaths,
            first: seconds_ago(first).into(),
            last: seconds_ago(last).into(),
            sample: self::id(3),
            recent: recent(deaths),
            note: None,
        };
    vec![
        group("3f1c9a2b77d0e415", "emails", "shop.mail", texts.error, 7, 900, 60),
        group("90aa41b2c3d4e5f6", "images", "shop.picture", "cannot read <*>.tiff", 0, 90_000, 240),
    ]
}

/// Errors in each hour and day; those of an older group are over.
fn recent(deaths: u64) -> RecentErrorsBody {
    let mut recent = RecentErrorsBody { hours: vec![0; 24], days: vec![0; 7] };
    match deaths {
        0 => (recent.days[5], recent.hours[3]) = (21, 2),
        _ => {
            recent.hours[21..].copy_from_slice(&[1, 5, 15]);
            recent.days[6] = 21;
        }
    }
    recent
}

pub(super) fn workers(texts: &Texts) -> Vec<WorkerBody> {
    let worker = |id: &str, running: u32, age_ms: u64| {
        let value = json!({
            "id": id, "name": texts.name, "queues": ["emails", "orders"], "more_queues": false,
            "kinds": ["shop.mail", "shop.order"], "more_kinds": false, "slots": 8,
            "running": running, "age_ms": age_ms, "host": texts.name, "pid": 4711,
            "version": "0.1.0", "started_at": "2026-11-26T09:00:00Z",
            "jobs": [{ "id": id_text(1), "kind": "shop.order", "since": "2026-11-26T11:59:30Z" }],
        });
        serde_json::from_value(value).unwrap()
    };
    vec![worker("mailer-1", 3, 4100), worker("mailer-2", 0, 72_000)]
}

fn id_text(number: u8) -> String {
    id(number).to_string()
}

/// A row for each minute of the last hour; each completes one more than the one before.
fn history() -> HistoryBody {
    let row = |minute: i64| {
        let at = crate::wire::Time(seconds_ago((60 - minute) * 60));
        let completed = minute * minute / 2;
        json!({
            "queue": "orders", "at": at, "read_at": at, "enqueued": 0, "completed": completed,
            "failed": 0, "dead": 0, "cancelled": 0,
        })
    };
    let totals: Vec<_> = (0..=60).map(row).collect();
    serde_json::from_value(json!({ "step": "1m", "totals": totals, "runs": [] })).unwrap()
}
