//! Headers of all answers of the dashboard.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

/// Scripts and styles come from files of this server only, and nothing frames a page.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                                 img-src 'self' data:; connect-src 'self'; form-action 'self'; \
                                 base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    // Not `no-referrer`: with it, browsers send `Origin: null` with our own forms.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The middleware.
pub(super) async fn add(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
