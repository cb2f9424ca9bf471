//! What every request passes: how many at once, who is asking, and whether a web page of another
//! site made them ask.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

use super::HttpOptions;
use super::caller::Caller;
use super::keys::Keys;
use super::problem::Problem;

/// Routes that tell nothing but a word, and are open to everybody.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];
/// What no form and no simple request of a web page can have.
const JSON_TYPES: [&str; 3] =
    ["application/json", "application/cloudevents+json", "application/cloudevents-batch+json"];

/// Guards all routes.
#[derive(Debug)]
pub(crate) struct Door {
    keys: Keys,
    /// Names of this server, where no key tells a friend from a page of another site.
    hosts: Vec<String>,
    insecure: bool,
    requests: Semaphore,
}

impl Door {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let own = [options.listen.ip().to_string(), "localhost".to_owned()];
        let loopback = ["127.0.0.1".to_owned(), "::1".to_owned()];
        let given = options.hosts.iter().map(|host| host.to_ascii_lowercase());
        Self {
            keys: options.keys.clone(),
            hosts: own.into_iter().chain(loopback).chain(given).collect(),
            insecure: options.insecure_no_auth,
            requests: Semaphore::new(options.limits.requests),
        }
    }

    /// Who may pass without a key, and is therefore looked at more closely.
    fn is_open(&self) -> bool {
        self.keys.is_empty()
    }

    fn admit(&self, parts: &Parts) -> Result<Caller, Problem> {
        check_single(&parts.headers)?;
        if self.is_open() {
            check_headers(&self.hosts, self.insecure, parts)?;
        }
        let caller = Caller::of(&self.keys, self.is_open(), parts)?;
        caller.spend(1)?;
        Ok(caller)
    }
}

/// The middleware.
pub(crate) async fn pass(
    State(door): State<std::sync::Arc<Door>>,
    request: Request,
    next: Next,
) -> Response {
    if OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    match door.admit(&parts) {
        Ok(caller) => drop(parts.extensions.insert(caller)),
        Err(problem) => return problem.into_response(),
    }
    let request = Request::from_parts(parts, body);
    if is_waiting(request.uri().path()) {
        return next.run(request).await;
    }
    let Ok(_permit) = door.requests.try_acquire() else {
        return Problem::overloaded("requests").into_response();
    };
    next.run(request).await
}

/// Long polls and streams have a bound of their own: they must not use up that of the others.
fn is_waiting(path: &str) -> bool {
    path == "/v1/reserve" || path == "/v1/stream"
}

/// Whoever stands between a client and this server may look at the other one.
fn check_single(headers: &HeaderMap) -> Result<(), Problem> {
    let mut single = [HOST.as_str(), "idempotency-key"].into_iter();
    match single.find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        Some(name) => {
            Err(Problem::bad_request(format!("the header {name} is there twice; send it once")))
        }
        None => Ok(()),
    }
}

/// Any web page can make a browser send requests to loopback. It cannot make it lie about where the
/// page came from, nor about the name under which it found this server.
fn check_headers(hosts: &[String], insecure: bool, parts: &Parts) -> Result<(), Problem> {
    let headers = &parts.headers;
    let uri_host = parts.uri.authority().map(|authority| authority.as_str());
    let host = text(headers, HOST.as_str()).or(uri_host).unwrap_or_default();
    if !insecure && !hosts.contains(&name_of(host)) {
        let detail = "this server has no keys and is not known under the name in `Host`; ask it as \
                      localhost, name its host with --host, or give it a key";
        return Err(Problem::forbidden(detail));
    }
    if matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS) {
        return Ok(());
    }
    if let Some(site) = text(headers, "sec-fetch-site")
        && !["same-origin", "none"].contains(&site)
    {
        return Err(Problem::forbidden("a page of another site made the browser send this"));
    }
    if let Some(origin) = text(headers, ORIGIN.as_str()) {
        let own = origin.split_once("://").is_some_and(|(_, own)| own.eq_ignore_ascii_case(host));
        if !own {
            return Err(Problem::forbidden("a page of another origin made the browser send this"));
        }
    }
    need_json(headers)
}

/// # Errors
/// 415 if what is sent does not say that it is JSON.
pub(crate) fn need_json(headers: &HeaderMap) -> Result<(), Problem> {
    let given = text(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if JSON_TYPES.iter().any(|json| json.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let detail = "send the header `Content-Type: application/json`";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The name in `name:port`, in lower case and without the brackets of IPv6.
fn name_of(host: &str) -> String {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None if host.parse::<IpAddr>().is_ok() => host,
        None => host.split(':').next().unwrap_or_default(),
    };
    name.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(method: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let mut request = axum::http::Request::builder().method(method).uri("/v1/jobs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let hosts = ["localhost".to_owned(), "::1".to_owned(), "127.0.0.1".to_owned()];
        let refused = check_headers(&hosts, false, &parts).err()?;
        Some(refused.into_response().status().as_u16())
    }

    const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");

    #[test]
    fn s6_what_curl_sends_passes() {
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST"] {
            assert_eq!(checked("POST", &[("host", host), JSON]), None, "{host}");
            assert_eq!(checked("GET", &[("host", host)]), None, "{host}");
        }
        let own = [("host", "localhost:8080"), ("origin", "http://localhost:8080"), JSON];
        assert_eq!(checked("POST", &own), None);
    }

    #[test]
    fn s6_what_a_page_of_another_site_sends_is_refused() {
        let host = ("host", "localhost:8080");
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "http://localhost:9090"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            for method in ["POST", "PUT", "PATCH", "DELETE"] {
                let refused = checked(method, &[host, JSON, (name, value)]);
                assert_eq!(refused, Some(403), "{method} {name}: {value}");
            }
        }
        for form in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            assert_eq!(checked("POST", &[host, ("content-type", form)]), Some(415), "{form}");
        }
        assert_eq!(checked("DELETE", &[host]), Some(415), "a request without a body too");
    }

    #[test]
    fn s6_who_names_the_host_twice_is_refused() {
        let request = axum::http::Request::builder().header("host", "localhost");
        let (parts, ()) = request.header("host", "evil").body(()).unwrap().into_parts();
        let refused = check_single(&parts.headers).unwrap_err().into_response();
        assert_eq!(refused.status(), 400);
    }

    #[test]
    fn s6_a_name_that_is_not_ours_is_refused_for_reads_too() {
        for host in ["evil.example", "localhost.evil.example:8080", "", "127.0.0.1.nip.io"] {
            assert_eq!(checked("GET", &[("host", host)]), Some(403), "{host}");
        }
    }
}
