//! Logging in with a key, and out.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;

use super::failure::Failure;
use super::next;
use super::redirect::redirect;
use super::shared::Ui;
use super::view::Login;
use super::viewer::Viewer;
use crate::web::Caller;
use crate::web::auth::Peer;
use crate::web::content_type::need_form;
use crate::web::keys::now;

/// Longer than any key and any address.
const FORM_BYTES: usize = 8 * 1024;
/// Enough for so few bytes, even over a slow network.
const FORM_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct To {
    #[serde(default)]
    next: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sent {
    key: String,
    next: String,
}

/// The form, which everybody may see.
pub(super) fn router() -> Router<Ui> {
    Router::new().route("/login", get(ask).post(log_in))
}

async fn ask(State(ui): State<Ui>, Query(To { next }): Query<To>) -> Response {
    if ui.0.middleware.keys().is_empty() {
        return ui.to(&next);
    }
    ui.form(&next, None)
}

async fn log_in(State(ui): State<Ui>, request: Request) -> Result<Response, Failure> {
    let peer: Option<Peer> = request.extensions().get().copied();
    let place = ui.0.logins.take(peer)?;
    let sent = read(&ui, request).await?;
    // The delay of a wrong key has places of its own: guesses must not use up those of logins.
    drop(place);
    let keys = ui.0.middleware.keys();
    if keys.is_empty() {
        return Ok(ui.to(&sent.next));
    }
    let Some(key) = keys.find(sent.key.trim(), now()) else {
        ui.0.middleware.wait_after_wrong_key(peer).await;
        let mut form =
            ui.form(&sent.next, Some("This is no key of this server, or it has expired."));
        *form.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(form);
    };
    let cookie = ui.0.sessions.begin(&key, now()).map_err(|error| {
        tracing::error!(%error, "cannot draw a session");
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the system has no randomness")
    })?;
    let caller = Caller::holder(key, peer);
    tracing::info!(target: "queuekit::audit", key = caller.id(), peer = caller.peer(), "logged in");
    Ok(with_cookie(ui.to(&sent.next), &cookie))
}

/// Ends the session in the browser. The gate has checked the token.
pub(super) async fn log_out(viewer: Viewer) -> Response {
    let (ui, base) = (&viewer.ui, viewer.base());
    with_cookie(redirect(&format!("{base}/ui/login")), &ui.0.sessions.end())
}

/// Reads a form before its sender is authenticated, so it is small and has a time limit.
async fn read(ui: &Ui, request: Request) -> Result<Sent, Failure> {
    need_form(request.headers())?;
    let wrong = || Failure::new(StatusCode::BAD_REQUEST, "the form cannot be read");
    let timeout = ui.0.app.body_timeout().min(FORM_TIMEOUT);
    let reading = Limited::new(Body::new(request.into_body()), FORM_BYTES).collect();
    let body = tokio::time::timeout(timeout, reading).await.map_err(|_| wrong())?;
    let body = body.map_err(|_| wrong())?.to_bytes();
    serde_urlencoded::from_bytes(&body).map_err(|_| wrong())
}

impl Ui {
    fn form(&self, next: &str, error: Option<&str>) -> Response {
        let options = &self.0.options;
        let page = Login {
            base: options.base_path.as_str().to_owned(),
            csrf: String::new(),
            environment: options.environment.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            next: next::checked(next).unwrap_or_default().to_owned(),
            error: error.map(str::to_owned),
        };
        match page.render() {
            Ok(html) => Html(html).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    /// Leads to a page of the dashboard.
    fn to(&self, next: &str) -> Response {
        let base = self.0.options.base_path.as_str();
        redirect(&format!("{base}{}", next::checked(next).unwrap_or("/ui")))
    }
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}
