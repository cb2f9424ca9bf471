//! The routes: what each asks of the store, and how it answers. `docs/http.md` documents them, and
//! the descriptions here make `/openapi.json`.

#![allow(unused_qualifications, reason = "the macros that describe routes qualify names")]

mod answer_memory;
mod app;
mod audit;
mod docs;
mod errors;
mod event_retention;
mod events;
mod figures;
mod findings;
mod health;
mod history;
mod jobs;
mod keys;
mod metrics;
mod page_length;
mod params;
mod problem_responses;
mod queues;
mod quota_charge;
mod scale;
mod schedules;
mod store_call;
mod stream;
mod subscriptions;
#[cfg(test)]
pub(crate) mod test_app;
mod trace_context;
mod unknown_params;
mod work;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::middleware;
use axum::{Extension, Router};
use queuekit::Client;
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use unknown_params::KnownParams;

pub(crate) use app::App;
pub(crate) use events::newest::newest_events;
pub(crate) use figures::Figures;
pub(crate) use metrics::observe;

use crate::monitor::exporter;
use crate::web::keys::Keys;
use crate::web::limits::LiveLimits;
use crate::web::middleware::{Middleware, handle};
use crate::web::{Caller, HttpLimits, HttpOptions, Problem, ProblemBody, RouteKind, RouteKinds};

/// The routes behind the middleware, and what the dashboard shares with them.
pub(crate) struct Served {
    pub(crate) routes: Router,
    pub(crate) app: App,
    pub(crate) middleware: Arc<Middleware>,
}

/// All routes of the API, behind the middleware.
pub(crate) fn routes(
    client: Client,
    options: &HttpOptions,
    limits: Arc<LiveLimits>,
    stopping: CancellationToken,
) -> Served {
    let app = App::new(client, options.keys.clone(), Arc::clone(&limits), stopping);
    exporter::install();
    let Routes { router, mut kinds } = described();
    let (router, mut api) = router.split_for_parts();
    problem_responses::describe(&mut api, &kinds);
    for path in docs::PATHS {
        kinds.set(path, RouteKind::Published);
    }
    let gate = Arc::new(Middleware::new(options, limits, kinds));
    let queries = Arc::new(KnownParams::of(&api));
    let pages = docs::Pages::of(&api);
    let routes = router
        .merge(docs::router(pages))
        .fallback(async || {
            let detail = "this route does not exist; /docs lists all routes";
            Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
        })
        .method_not_allowed_fallback(async || {
            let detail = "this route does not have this method; /docs lists its methods";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
        })
        .layer(middleware::from_fn_with_state(queries, unknown_params::check))
        .layer(middleware::from_fn_with_state(Arc::clone(&gate), handle))
        .layer(middleware::from_fn(metrics::observe))
        .with_state(app.clone());
    Served { routes, app, middleware: gate }
}

/// The same routes for the process itself, which may do everything: its calls pass no middleware.
pub(crate) fn own_routes(client: Client) -> Router {
    let limits = LiveLimits::new(&HttpLimits::default());
    let app = App::new(client, Keys::default(), limits, CancellationToken::new());
    inner_routes(app).layer(Extension(Caller::operator()))
}

/// The routes without the middleware. The caller must add a [`Caller`] to each request.
pub(crate) fn inner_routes(app: App) -> Router {
    let (router, _) = described().router.split_for_parts();
    router.with_state(app)
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

/// The routes with their descriptions, and what the middleware asks of each.
struct Routes {
    router: OpenApiRouter<App>,
    kinds: RouteKinds,
}

impl Routes {
    fn routes(mut self, routes: UtoipaMethodRouter<App>) -> Self {
        self.router = self.router.routes(routes);
        self
    }

    /// Routes that need something else of the middleware than others do.
    fn routes_of(mut self, kind: RouteKind, routes: UtoipaMethodRouter<App>) -> Self {
        for path in routes.1.paths.keys() {
            self.kinds.set(path, kind);
        }
        self.routes(routes)
    }
}

fn described() -> Routes {
    let mut api = Api::openapi();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = api.components.get_or_insert_default();
    components.add_security_scheme("key", SecurityScheme::Http(bearer));
    Routes { router: OpenApiRouter::with_openapi(api), kinds: RouteKinds::default() }
        .routes(routes!(jobs::enqueue::enqueue, jobs::list::list_jobs))
        .routes(routes!(jobs::create_job::create_job))
        .routes(routes!(jobs::list::get_job, jobs::actions::delete_job))
        .routes(routes!(jobs::list::why))
        .routes(routes!(jobs::checkpoints::list_checkpoints))
        .routes(routes!(jobs::actions::retry))
        .routes(routes!(jobs::actions::cancel))
        .routes(routes!(jobs::actions::reschedule))
        .routes(routes!(jobs::actions::dead_letter))
        .routes(routes!(jobs::bulk::bulk_jobs))
        .routes(routes!(errors::list_errors))
        .routes(routes!(errors::get_error))
        .routes(routes!(errors::put_note))
        .routes(routes!(history::history))
        .routes(routes!(queues::list::list_queues))
        .routes(routes!(queues::get_queue, queues::configure, queues::remove_queue))
        .routes(routes!(queues::jobs_of_queue))
        .routes(routes!(queues::pause))
        .routes(routes!(queues::resume))
        .routes(routes!(work::workers::list_workers))
        .routes(routes!(work::workers::get_worker, work::workers::remove_worker))
        .routes(routes!(work::control::control))
        .routes_of(RouteKind::Waiting, routes!(work::reserve::reserve))
        .routes(routes!(work::settle::ack))
        .routes(routes!(work::settle::nack))
        .routes(routes!(work::leases::extend))
        .routes(routes!(work::leases::report))
        .routes(routes!(work::checkpoints::put_checkpoint))
        .routes(routes!(work::checkpoints::read_checkpoints))
        .routes(routes!(work::beat::beat))
        .routes(routes!(events::emit, events::log::list_events))
        .routes(routes!(event_retention::get_retention, event_retention::put_retention))
        .routes(routes!(subscriptions::list_subscriptions))
        .routes(routes!(
            subscriptions::get_subscription,
            subscriptions::put_subscription,
            subscriptions::delete_subscription
        ))
        .routes(routes!(subscriptions::replay::replay))
        .routes(routes!(schedules::list_schedules))
        .routes(routes!(
            schedules::get_schedule,
            schedules::put_schedule,
            schedules::delete_schedule
        ))
        .routes(routes!(schedules::pause_schedule))
        .routes(routes!(schedules::resume_schedule))
        .routes(routes!(schedules::reset_schedule))
        .routes(routes!(schedules::run::run_schedule))
        .routes(routes!(schedules::next_runs))
        .routes(routes!(audit::list_acts))
        .routes(routes!(findings::list_findings))
        .routes(routes!(keys::list_keys))
        .routes_of(RouteKind::Waiting, routes!(stream::stream))
        .routes(routes!(scale::scale))
        .routes(routes!(metrics::metrics))
        .routes_of(RouteKind::Open, routes!(health::healthz))
        .routes_of(RouteKind::Open, routes!(health::readyz))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::BasePath;

    #[test]
    fn no_base_path_begins_with_a_path_of_the_api() {
        let described = described();
        for path in described.router.get_openapi().paths.paths.keys() {
            let first = path.split('/').nth(1).unwrap();
            assert!(format!("/{first}").parse::<BasePath>().is_err(), "{path}");
        }
    }
}
