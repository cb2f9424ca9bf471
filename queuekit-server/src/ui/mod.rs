//! The dashboard: pages for people at `/ui`. A page asks the routes of the API, in this process and
//! for the key of its viewer, so that nobody sees or changes more here than through the API.

mod accepted_forms;
mod ask;
mod assets;
pub(crate) mod attention;
mod failure;
mod form;
mod gate;
mod headers;
mod live;
mod login;
mod login_places;
mod next;
mod notice;
mod pages;
mod redirect;
mod run;
mod run_steps;
mod runs;
mod same_origin;
mod session;
mod shared;
mod view;
mod viewer;
mod visible;

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::get;
use ipnet::IpNet;

use accepted_forms::AcceptedForms;
use live::Board;
use login_places::LoginPlaces;
use runs::Runs;
use session::Sessions;
use shared::{Shared, Ui};

use crate::api::{Served, inner_routes, observe};
use crate::web::DashboardOptions;

/// `/ui`, and all below it. `/` leads there.
///
/// # Errors
/// If the system has no randomness for the secret of sessions.
pub(crate) fn routes(
    served: &Served,
    store: &str,
    options: &DashboardOptions,
    proxies: &[IpNet],
) -> anyhow::Result<Router> {
    let Served { app, middleware, .. } = served;
    let sessions = Sessions::new(options).context("cannot draw a secret for sessions")?;
    let ui = Ui(Arc::new(Shared {
        app: app.clone(),
        api: inner_routes(app.clone()),
        middleware: Arc::clone(middleware),
        options: options.clone(),
        store: store.to_owned(),
        sessions,
        logins: LoginPlaces::new(proxies),
        board: Board::new(app.clone()),
        runs: Runs::default(),
    }));
    let guarded = |(forms, router): (AcceptedForms, Router<Ui>)| {
        router.layer(from_fn_with_state((ui.clone(), forms), gate::page))
    };
    let pages = pages::routers().map(guarded).into_iter().fold(Router::new(), Router::merge);
    let live = live::router().layer(from_fn_with_state(ui.clone(), gate::live));
    let open = login::router().merge(assets::router());
    let open = open.layer(from_fn_with_state(ui.clone(), gate::open));
    let all = open.merge(live).merge(pages).with_state(ui).layer(from_fn(headers::add));
    Ok(mounted(all, options.base_path.as_str()).layer(from_fn(observe)))
}

/// Below the base path and without it, because some proxies remove it and others do not.
fn mounted(all: Router, base: &str) -> Router {
    let to = format!("{base}/ui");
    let lead = move || async move { Redirect::to(&to) };
    let plain = Router::new().nest("/ui", all.clone()).route("/", get(lead.clone()));
    if base.is_empty() {
        return plain;
    }
    let slash = format!("{base}/");
    let below = Router::new().nest(&format!("{base}/ui"), all);
    plain.merge(below).route(base, get(lead.clone())).route(&slash, get(lead))
}
