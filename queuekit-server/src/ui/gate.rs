//! What happens to a request before its page: where it comes from, whose it is, and whether a form
//! is one of ours.

use std::pin::Pin;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use url::form_urlencoded;

use super::accepted_forms::AcceptedForms;
use super::failure::Failure;
use super::form::Form;
use super::pages::problem::Asked;
use super::redirect::redirect;
use super::shared::Ui;
use super::viewer::Viewer;
use super::{next, pages, same_origin};
use crate::web::RouteKind;
use crate::web::access_log::AccessLogEntry;
use crate::web::keys::now;

/// Pages: they need a session, unless the server has no keys. Forms also need its token.
pub(super) async fn page(
    State((ui, forms)): State<(Ui, AcceptedForms)>,
    request: Request,
    next: Next,
) -> Response {
    guarded(ui, RouteKind::Page, forms, request, next).await
}

/// Streams: the same, but they may last, and have a limit of their own.
pub(super) async fn live(State(ui): State<Ui>, request: Request, next: Next) -> Response {
    guarded(ui, RouteKind::Waiting, AcceptedForms::None, request, next).await
}

/// What everybody may see: the form of the login, and files that are the same on all servers.
pub(super) async fn open(State(ui): State<Ui>, request: Request, next: Next) -> Response {
    let entry = AccessLogEntry::of(&request);
    let answer = answer_to_all(&ui, request, next).await;
    ui.0.middleware.finish(&entry, None, answer.unwrap_or_else(Failure::plain))
}

async fn answer_to_all(ui: &Ui, request: Request, next: Next) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    ui.check_origin(&parts)?;
    let is_quick = reads(&parts.method);
    let request = Request::from_parts(parts, body);
    if !is_quick {
        // A login has a place of its own: its sender may take long over the form.
        return Ok(next.run(request).await);
    }
    Ok(ui.0.middleware.run_published(request, next).await?)
}

async fn guarded(
    ui: Ui,
    kind: RouteKind,
    forms: AcceptedForms,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::of(&request);
    let (parts, body) = request.into_parts();
    let viewer = match ui.admit(&parts) {
        Ok(viewer) => viewer,
        Err(refused) => {
            let answer = refused.answer(&ui, kind, &parts);
            return ui.0.middleware.finish(&entry, None, answer);
        }
    };
    let sort = match kind {
        RouteKind::Waiting => None,
        _ => Some(if reads(&parts.method) { Asked::Page } else { Asked::Form }),
    };
    let request = Request::from_parts(parts, body);
    let answer = run(&viewer, kind, forms, request, next).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => failure.into_response(),
    };
    let answer = with_page(&viewer, sort, answer).await;
    ui.0.middleware.finish(&entry, Some(viewer.caller()), answer)
}

async fn run(
    viewer: &Viewer,
    kind: RouteKind,
    forms: AcceptedForms,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let (mut parts, body) = request.into_parts();
    let caller = viewer.caller();
    caller.spend(1)?;
    let mut rest = body;
    if !reads(&parts.method) {
        // Guard: nothing is read of a form whose sender may not send it.
        forms.check(caller)?;
        let form = Form::read(viewer.app(), caller, &parts.headers, rest).await?;
        if !viewer.is_own_form(form.get("csrf")) {
            let detail = "the form is not of your session: it may have ended. Go back, load the \
                          page again, and send the form again";
            return Err(Failure::new(StatusCode::FORBIDDEN, detail));
        }
        parts.extensions.insert(form);
        rest = axum::body::Body::empty();
    }
    parts.extensions.insert(viewer.clone());
    let request = Request::from_parts(parts, rest);
    Ok(viewer.ui.0.middleware.run(caller, kind, request, next).await?)
}

/// Shows why a page is not shown. A stream gets it as plain text.
fn with_page<'a>(
    viewer: &'a Viewer,
    asked: Option<Asked>,
    mut answer: Response,
) -> Pin<Box<dyn Future<Output = Response> + Send + 'a>> {
    Box::pin(async move {
        let Some(failure) = answer.extensions_mut().remove::<Failure>() else { return answer };
        // A key that has done all it may does not get a page for each further request.
        let has_room = failure.status != StatusCode::TOO_MANY_REQUESTS;
        let Some(asked) = asked.filter(|_| has_room) else { return failure.plain() };
        match pages::problem::show(viewer, asked, &failure).await {
            Ok(mut page) => {
                *page.status_mut() = failure.status;
                page
            }
            Err(_) => failure.plain(),
        }
    })
}

/// Why a request has no viewer.
enum Refused {
    Failure(Failure),
    /// It has no session.
    Stranger,
}

impl Refused {
    fn answer(self, ui: &Ui, kind: RouteKind, parts: &Parts) -> Response {
        match self {
            Self::Failure(failure) => failure.plain(),
            Self::Stranger if kind == RouteKind::Waiting || !reads(&parts.method) => {
                let detail = "there is no session, or it has ended: log in";
                Failure::new(StatusCode::UNAUTHORIZED, detail).plain()
            }
            Self::Stranger if same_origin::is_link_from_elsewhere(parts) => once_more(),
            Self::Stranger => ui.to_login(parts),
        }
    }
}

impl Ui {
    /// # Errors
    /// If the request is not to be answered: as far as can be said before its sender is known.
    fn check_origin(&self, parts: &Parts) -> Result<(), Failure> {
        let middleware = &self.0.middleware;
        middleware.check_head(parts)?;
        if middleware.keys().is_empty() {
            middleware.names().check_name(parts)?;
        }
        let is_own = match reads(&parts.method) {
            true => same_origin::may_read(parts),
            false => same_origin::may_write(parts, middleware.names()),
        };
        if is_own {
            return Ok(());
        }
        let detail = "a web page of another site sent this request, or a proxy has changed its \
                      `Host`, so that it differs from `Origin`";
        Err(Failure::new(StatusCode::FORBIDDEN, detail))
    }

    fn admit(&self, parts: &Parts) -> Result<Viewer, Refused> {
        self.check_origin(parts).map_err(Refused::Failure)?;
        let request = &parts.extensions;
        let keys = self.0.middleware.keys();
        let path = self.path_of(parts);
        if keys.is_empty() {
            return Ok(Viewer::anybody(self, request, path));
        }
        let session = self.0.sessions.find(&parts.headers, keys, now()).ok_or(Refused::Stranger)?;
        Ok(Viewer::of(self, session, request, path))
    }

    /// The page and its query, without the base path.
    fn path_of(&self, parts: &Parts) -> String {
        // Below a nested router the address lacks its beginning.
        let original = parts.extensions.get::<axum::extract::OriginalUri>();
        let uri = original.map_or(&parts.uri, |original| &original.0);
        let whole = uri.path_and_query().map_or("/ui", |whole| whole.as_str());
        let base = self.0.options.base_path.as_str();
        let path = whole.strip_prefix(base).filter(|rest| rest.starts_with("/ui"));
        path.unwrap_or(whole).to_owned()
    }

    fn to_login(&self, parts: &Parts) -> Response {
        let base = self.0.options.base_path.as_str();
        let path = self.path_of(parts);
        let next = next::checked(&path).filter(|next| *next != "/ui").unwrap_or_default();
        let query: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let query = if query.is_empty() { query } else { format!("?next={query}") };
        redirect(&format!("{base}/ui/login{query}"))
    }
}

/// Makes the browser ask again from a page of ours: it sends a strict cookie only then.
fn once_more() -> Response {
    let page = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
                <meta http-equiv=\"refresh\" content=\"0\"><title>queuekit</title>";
    Html(page).into_response()
}

fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
