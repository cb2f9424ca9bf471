//! The routes: what each asks of the store, and how it answers. `docs/http.md` says what they
//! mean; the descriptions here make `/openapi.json`.

#![allow(unused_qualifications, reason = "the macros that describe routes qualify names")]

mod app;
mod audit;
mod creating;
mod docs;
mod event_retention;
mod events;
mod health;
mod jobs;
mod keys;
mod metrics;
mod params;
mod portion;
mod problems;
mod queries;
mod queues;
mod schedules;
mod stream;
mod subscriptions;
mod trace;
mod wire;
mod work;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::middleware;
use axum::{Extension, Router};
use queuekit::Client;
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use app::App;
use queries::Queries;

use crate::http::door::{Door, pass};
use crate::http::keys::Keys;
use crate::http::limits::LiveLimits;
use crate::http::{Caller, HttpLimits, HttpOptions, Problem, ProblemBody};

/// Everything that is answered, behind the door.
pub(crate) fn routes(
    client: Client,
    options: &HttpOptions,
    limits: Arc<LiveLimits>,
    stopping: CancellationToken,
) -> Router {
    let app = App::new(client, options.keys.clone(), Arc::clone(&limits), stopping);
    tokio::spawn(metrics::keep_tidy(app.clone()));
    let (router, mut api) = described().split_for_parts();
    problems::describe(&mut api);
    let door = Arc::new(Door::new(options, limits));
    let queries = Arc::new(Queries::of(&api));
    let pages = docs::Pages::of(&api);
    router
        .merge(docs::router(pages))
        .fallback(async || {
            let detail = "there is no such route; /docs lists them";
            Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
        })
        .method_not_allowed_fallback(async || {
            let detail = "this route has no such method; /docs lists those it has";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .layer(middleware::from_fn_with_state(queries, queries::check))
        .layer(middleware::from_fn_with_state(door, pass))
        .layer(middleware::from_fn(metrics::observe))
        .with_state(app)
}

/// The same for the process itself, which may do everything: what it asks comes through no door,
/// and nobody else hears the answers.
pub(crate) fn own_routes(client: Client) -> Router {
    let limits = LiveLimits::new(&HttpLimits::default());
    let app = App::new(client, Keys::default(), limits, CancellationToken::new());
    let (router, _) = described().split_for_parts();
    router.layer(Extension(Caller::operator())).with_state(app)
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "queuekit",
        description = "Durable background jobs over SQLite, Postgres and Redis.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ProblemBody))
)]
struct Api;

fn described() -> OpenApiRouter<App> {
    let mut api = Api::openapi();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = api.components.get_or_insert_default();
    components.add_security_scheme("key", SecurityScheme::Http(bearer));
    OpenApiRouter::with_openapi(api)
        .routes(routes!(jobs::enqueue::enqueue, jobs::list::list_jobs))
        .routes(routes!(jobs::create_job::create_job))
        .routes(routes!(jobs::list::get_job, jobs::act::delete_job))
        .routes(routes!(jobs::list::why))
        .routes(routes!(jobs::act::retry))
        .routes(routes!(jobs::act::cancel))
        .routes(routes!(jobs::act::reschedule))
        .routes(routes!(jobs::act::bury))
        .routes(routes!(jobs::bulk::bulk_jobs))
        .routes(routes!(queues::list_queues))
        .routes(routes!(queues::get_queue, queues::configure, queues::remove_queue))
        .routes(routes!(queues::jobs_of_queue))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(work::workers::list_workers))
        .routes(routes!(work::workers::remove_worker))
        .routes(routes!(work::reserve::reserve))
        .routes(routes!(work::settle::ack))
        .routes(routes!(work::settle::nack))
        .routes(routes!(work::leases::extend))
        .routes(routes!(work::leases::report))
        .routes(routes!(work::workers::beat))
        .routes(routes!(events::emit, events::log::list_events))
        .routes(routes!(event_retention::get_retention, event_retention::put_retention))
        .routes(routes!(subscriptions::list_subscriptions))
        .routes(routes!(
            subscriptions::get_subscription,
            subscriptions::put_subscription,
            subscriptions::delete_subscription
        ))
        .routes(routes!(subscriptions::replay))
        .routes(routes!(schedules::list_schedules))
        .routes(routes!(
            schedules::get_schedule,
            schedules::put_schedule,
            schedules::delete_schedule
        ))
        .routes(routes!(schedules::pause_schedule))
        .routes(routes!(schedules::resume_schedule))
        .routes(routes!(schedules::run_schedule))
        .routes(routes!(schedules::next_runs))
        .routes(routes!(keys::list_keys))
        .routes(routes!(stream::stream))
        .routes(routes!(metrics::metrics))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}
