//! What all pages share.

use std::sync::Arc;

use axum::Router;

use super::live::Board;
use super::login_places::LoginPlaces;
use super::runs::Runs;
use super::session::Sessions;
use crate::api::App;
use crate::web::DashboardOptions;
use crate::web::middleware::Middleware;

/// What all pages share; clones share it too.
#[derive(Clone)]
pub(super) struct Ui(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) app: App,
    /// The routes of the API, without the middleware.
    pub(super) api: Router,
    pub(super) middleware: Arc<Middleware>,
    pub(super) options: DashboardOptions,
    /// Which store it is, such as `postgres`.
    pub(super) store: String,
    pub(super) sessions: Sessions,
    pub(super) logins: LoginPlaces,
    pub(super) board: Board,
    pub(super) runs: Runs,
}
