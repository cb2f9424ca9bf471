//! `/ui/workers`: the workers, and the orders that they can be given.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use queuekit::Timestamp;
use queuekit::workers::WorkerInfo;
use serde_json::json;

use crate::ui::attention::is_silent;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::live::Snapshot;
use crate::ui::redirect::redirect;
use crate::ui::view::{
    Action, InputKind, Ms, Page, Tone, When, WorkerJob, WorkerRow, WorkerTable, Workers,
};
use crate::ui::viewer::Viewer;
use crate::web::{Caller, Scope};
use crate::wire::{OrdersBody, WorkerBody};

/// The most workers of a page.
const ROWS: usize = 500;

pub(in crate::ui) async fn show(viewer: Viewer) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let now = viewer.ui.0.board.now().await;
    let page = Workers {
        shell: viewer.shell(Page::Workers, "Workers", &now),
        table: table(&viewer, &now, None),
        actions: Vec::new(),
    };
    viewer.show(&page).await
}

/// Gives an order to a worker.
pub(super) async fn order(viewer: Viewer, form: Form) -> Result<Response, Failure> {
    let workers = [form.get("worker")];
    let order = match form.get("slots") {
        "" => json!({ "workers": workers, "order": form.get("order") }),
        slots => {
            let slots: u32 = slots.parse().map_err(|_| not_slots())?;
            json!({ "workers": workers, "slots": slots })
        }
    };
    viewer.call(Method::POST, "/v1/workers/control", &order).await?;
    Ok(redirect(&format!("{}/ui/workers?did=order", viewer.base())))
}

fn not_slots() -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "slots must be a number from 1 on")
}

/// Quiet, resume, slots and stop.
fn orders(viewer: &Viewer, worker: &WorkerRow) -> Vec<Action> {
    let url = format!("{}/ui/workers/orders", viewer.base());
    let why = super::queue::why_not_admin(viewer);
    let id = worker.id.as_str();
    let action = |order: &'static str, label: &str| {
        let mut action = Action::new(&format!("{order}-{id}"), url.clone(), &viewer.csrf(), label)
            .field("worker", id)
            .field("order", order);
        action.impossible = why.clone();
        action.cli(format!("queuekit worker {order} {id}"))
    };
    let mut slots = Action::new(&format!("slots-{id}"), url.clone(), &viewer.csrf(), "Set slots");
    slots = slots.field("worker", id).cli(format!("queuekit worker slots {} {id}", worker.slots));
    slots.impossible.clone_from(&why);
    vec![
        action("quiet", "Quiet"),
        action("resume", "Resume"),
        slots.input("slots", "Slots", InputKind::Number(worker.slots.max(1))).confirm(
            "How many jobs may this worker run at once?",
            "It never runs more than it was started with.",
        ),
        action("stop", "Stop").tone(Tone::Danger).confirm(
            "Stop this worker?",
            "It finishes what it runs, and ends. Something else has to start it again.",
        ),
    ]
}

/// What the caller may see of a worker, as the API shows it.
pub(in crate::ui) fn seen(caller: &Caller, worker: &WorkerInfo) -> Option<WorkerBody> {
    WorkerBody::of(worker.clone(), caller)
}

/// The workers, or those that serve a queue.
pub(in crate::ui) fn table(viewer: &Viewer, now: &Snapshot, queue: Option<&str>) -> WorkerTable {
    let at = viewer.app().now();
    let workers = now.figures.iter().flat_map(|figures| &figures.workers);
    let serves = |worker: &&WorkerInfo| {
        let queues = &worker.beat.queues;
        let names = |queue| queues.names().iter().any(|own| own.as_str() == queue);
        queue.is_none_or(|queue| queues.has_more() || names(queue))
    };
    let row = |worker: &WorkerInfo| {
        let is_late = is_silent(worker.age, worker.beat.quiet_for);
        let mut row = row(seen(viewer.caller(), worker)?, is_late, at);
        // Only the page of workers gives orders.
        row.actions = if queue.is_none() { orders(viewer, &row) } else { Vec::new() };
        Some(row)
    };
    let rows = workers.filter(serves).filter_map(row).take(ROWS).collect();
    WorkerTable { base: viewer.base().to_owned(), is_whole: queue.is_none(), rows }
}

fn row(worker: WorkerBody, is_late: bool, now: Timestamp) -> WorkerRow {
    let jobs = worker.jobs.into_iter().map(|job| WorkerJob {
        ran: Ms::from(now.since(job.since.0)),
        id: job.id,
        kind: job.kind,
    });
    WorkerRow {
        id: worker.id,
        name: worker.name,
        host: worker.host,
        pid: worker.pid,
        version: worker.version,
        started: worker.started_at.map(|at| When::of(at.0, now)),
        seen: Ms(worker.age_ms),
        is_late,
        queues: worker.queues,
        more_queues: worker.more_queues,
        kinds: worker.kinds,
        more_kinds: worker.more_kinds,
        slots: worker.slots,
        running: worker.running,
        ordered: worker.orders.map(|orders| ordered(&orders)),
        jobs: jobs.collect(),
        actions: Vec::new(),
    }
}

/// `quiet, 3 slots`
fn ordered(orders: &OrdersBody) -> String {
    let slots = orders.slots.map(|slots| format!("{slots} slots"));
    let words: Vec<String> = orders.mode.clone().into_iter().chain(slots).collect();
    words.join(", ")
}
