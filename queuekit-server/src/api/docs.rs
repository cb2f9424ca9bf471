//! `/openapi.json`, and the same for people at `/docs`: one page that loads nothing else.

mod page;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use utoipa::openapi::OpenApi;

use super::app::App;

/// The page loads nothing and runs no scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; \
                      base-uri 'none'; form-action 'none'";

/// Where both pages are.
pub(super) const PATHS: [&str; 2] = ["/openapi.json", "/docs"];

/// Both pages, rendered once.
pub(super) struct Pages {
    json: Bytes,
    html: Bytes,
}

impl Pages {
    pub(super) fn of(api: &OpenApi) -> Self {
        let value = serde_json::to_value(api).unwrap_or_default();
        Self { json: value.to_string().into(), html: page::render(&value).into() }
    }
}

pub(super) fn router(pages: Pages) -> Router<App> {
    let Pages { json, html } = pages;
    let json = move || {
        let json = json.clone();
        async move { answer("application/json", json) }
    };
    let html = move || {
        let html = html.clone();
        async move { answer("text/html; charset=utf-8", html) }
    };
    let [at_json, at_html] = PATHS;
    Router::new().route(at_json, get(json)).route(at_html, get(html))
}

fn answer(kind: &'static str, body: Bytes) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use crate::api::{Routes, described, problem_responses};

    /// Guard: readers of the API do not know the numbers of the rules in `docs/semantics.md`.
    #[test]
    fn no_text_of_the_description_cites_a_rule_by_its_number() {
        let Routes { router, kinds } = described();
        let (_, mut api) = router.split_for_parts();
        problem_responses::describe(&mut api, &kinds);
        let is_rule = |word: &&str| {
            let number = word.strip_prefix(['R', 'S']);
            number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
        };
        let json = api.to_json().unwrap();
        let words = json.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        assert_eq!(words.filter(is_rule).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
