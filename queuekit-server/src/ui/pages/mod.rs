//! The pages, a file for each.

mod about;
mod attention;
mod audit;
mod bulk;
mod consumer;
mod content;
mod doctor;
mod error_group;
pub(super) mod errors;
pub(super) mod events;
mod filter;
pub(super) mod history;
mod history_read;
mod impossible;
mod job;
mod job_actions;
mod job_copy;
mod job_life;
pub(super) mod job_live;
mod job_row;
pub(super) mod jobs;
mod keys;
mod matched;
pub(super) mod overview;
mod palette;
pub(super) mod problem;
pub(super) mod queue;
mod queue_actions;
mod queue_limits;
mod queue_rows;
pub(super) mod queues;
mod replay;
pub(super) mod run;
mod run_address;
mod schedule_edit;
mod schedules;
mod selected;
pub(super) mod shell;
mod text;
pub(super) mod workers;

use axum::Router;
use axum::routing::{get, post};

use super::accepted_forms::AcceptedForms;
use super::failure::Failure;
use super::login;
use super::shared::Ui;
use crate::web::Scope;

/// All pages behind a login, and the forms of each scope.
pub(super) fn routers() -> [(AcceptedForms, Router<Ui>); 5] {
    [
        (AcceptedForms::None, pages()),
        (AcceptedForms::OfAll, Router::new().route("/logout", post(login::log_out))),
        (AcceptedForms::Of(Scope::Enqueue), enqueue_forms()),
        (AcceptedForms::Of(Scope::Manage), manage_forms()),
        (AcceptedForms::Of(Scope::Admin), admin_forms()),
    ]
}

fn pages() -> Router<Ui> {
    Router::new()
        .route("/", get(overview::show))
        .route("/about", get(about::show))
        .route("/queues", get(queues::show))
        .route("/queues/{name}", get(queue::show))
        .route("/jobs", get(jobs::show))
        .route("/jobs/{id}", get(job::show))
        .route("/jobs/{id}/copy", get(job_actions::ask_copy))
        .route("/jobs/{id}/{action}", get(job_actions::file_of))
        .route("/errors", get(errors::show))
        .route("/errors/{id}", get(error_group::show))
        .route("/schedules", get(schedules::list))
        .route("/schedules/{name}", get(schedules::show))
        .route("/events", get(events::show))
        .route("/consumers/{name}", get(consumer::show))
        .route("/workers", get(workers::show))
        .route("/bulk", get(bulk::ask))
        .route("/runs/{id}", get(run::show))
        .route("/audit", get(audit::show))
        .route("/doctor", get(doctor::show))
        .route("/keys", get(keys::show))
        .route("/palette.json", get(palette::names))
        .fallback(missing)
}

fn enqueue_forms() -> Router<Ui> {
    Router::new().route("/jobs/{id}/copy", post(job_actions::copy))
}

fn manage_forms() -> Router<Ui> {
    Router::new()
        .route("/schedules/{name}/{action}", post(schedules::act))
        .route("/consumers/{name}/{action}", post(consumer::act))
        // Replays are runs too.
        .route("/runs/{id}/stop", post(run::stop))
}

fn admin_forms() -> Router<Ui> {
    Router::new()
        .route("/queues/{name}/pause", post(queue_actions::pause))
        .route("/queues/{name}/resume", post(queue_actions::resume))
        .route("/queues/{name}/settings", post(queue_actions::configure))
        .route("/jobs/selected", post(selected::act))
        .route("/jobs/{id}/{action}", post(job_actions::act))
        .route("/errors/{id}/retry-one", post(error_group::retry_one))
        .route("/errors/{id}/note", post(error_group::note))
        .route("/workers/orders", post(workers::order))
        .route("/bulk", post(bulk::act))
}

async fn missing() -> Failure {
    Failure::not_found("this page")
}
