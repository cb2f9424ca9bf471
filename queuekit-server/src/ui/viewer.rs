//! The viewer of a page.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderValue, StatusCode};
use axum::response::Response;

use super::failure::Failure;
use super::session::Session;
use super::shared::Ui;
use super::visible::visible;
use crate::api::App;
use crate::web::keys::now;
use crate::web::off_the_runtime::slow_off_the_runtime;
use crate::web::response_budget::BudgetedBody;
use crate::web::{Caller, Scope};

/// Longest time between two reads of the clock, which may be set meanwhile.
const LOOK: Duration = Duration::from_secs(600);

/// The viewer of a page, with what the page needs from the server.
#[derive(Clone)]
pub(super) struct Viewer {
    pub(super) ui: Ui,
    caller: Caller,
    /// None on a server without keys.
    session: Option<Arc<Session>>,
    /// The page and its query, without the base path.
    path: String,
    /// Whether a route was called already.
    has_asked: Arc<AtomicBool>,
}

/// What a key may do here, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// It lacks `read`.
    Nothing,
    View,
    /// It changes schedules and consumers, or enqueues.
    Operate,
    Admin,
}

impl Viewer {
    /// The holder of a session.
    pub(super) fn of(ui: &Ui, session: Session, request: &Extensions, path: String) -> Self {
        let peer = request.get().copied();
        let caller = Caller::holder(Arc::clone(&session.key), peer).on(request);
        let session = Some(Arc::new(session));
        Self { ui: ui.clone(), caller, session, path, has_asked: Arc::default() }
    }

    /// Anybody, on a server without keys.
    pub(super) fn anybody(ui: &Ui, request: &Extensions, path: String) -> Self {
        let caller = Caller::anybody(request.get().copied()).on(request);
        Self { ui: ui.clone(), caller, session: None, path, has_asked: Arc::default() }
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The token of the forms.
    pub(super) fn csrf(&self) -> String {
        self.ui.0.sessions.token(self.session_id())
    }

    /// Whether a form with this token is one of the session.
    pub(super) fn is_own_form(&self, token: &str) -> bool {
        self.ui.0.sessions.is_token(self.session_id(), token)
    }

    fn session_id(&self) -> &[u8] {
        self.session.as_ref().map_or(&[], |session| &session.id)
    }

    /// Completes when the time of the session is over.
    pub(super) async fn session_ended(&self) {
        let Some(session) = &self.session else { return std::future::pending().await };
        while let Ok(left) = Duration::try_from(session.end.duration_since(now())) {
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LOOK)).await;
        }
    }

    /// The page and its query, without the base path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn app(&self) -> &App {
        &self.ui.0.app
    }

    pub(super) fn api(&self) -> Router {
        self.ui.0.api.clone()
    }

    pub(super) fn base(&self) -> &str {
        self.ui.0.options.base_path.as_str()
    }

    /// Whether the contents of such a job are hidden.
    pub(super) fn is_redacted(&self, queue: &str, kind: &str) -> bool {
        self.ui.0.options.redact.iter().any(|rule| rule.hides(queue, kind))
    }

    /// Whether the data of events of this type is hidden.
    pub(super) fn is_event_redacted(&self, kind: &str) -> bool {
        self.ui.0.options.redact.iter().any(|rule| rule.hides_event(kind))
    }

    pub(super) fn role(&self) -> Role {
        let has = |scope| self.caller.has(scope);
        if has(Scope::Admin) {
            Role::Admin
        } else if !has(Scope::Read) {
            Role::Nothing
        } else if has(Scope::Manage) || has(Scope::Enqueue) {
            Role::Operate
        } else {
            Role::View
        }
    }

    /// The request itself was counted by the gate, with the first call.
    pub(super) fn count_call(&self) {
        if self.has_asked.swap(true, Ordering::Relaxed) {
            self.caller.owe(1);
        }
    }

    /// The page as an answer, whose memory is counted until it has been sent.
    ///
    /// # Errors
    /// 429 or 503 if there is no memory for it.
    pub(super) async fn show(&self, page: &(impl Template + Sync)) -> Result<Response, Failure> {
        // A long list takes milliseconds, and one key may ask for many pages at once.
        let render = || page.render().map(visible);
        let html = slow_off_the_runtime(&self.caller, render).await.map_err(|error| {
            tracing::error!(%error, "a template failed");
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the page cannot be written")
        })?;
        let budget = self.app().no_budget(&self.caller);
        let mut response = Response::new(Body::new(BudgetedBody::of(budget, html.into()).await?));
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, html);
        Ok(response)
    }
}

impl Role {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::View => "view",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

/// The gate puts it there.
impl<S: Send + Sync> FromRequestParts<S> for Viewer {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let detail = "this page was reached without the check of keys; report this bug";
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
        })
    }
}
