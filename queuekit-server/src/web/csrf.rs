//! Refuses requests that web pages of other sites make a browser send to a server without keys.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};

use super::HttpOptions;
use super::content_type::need_json;
use super::problem::Problem;

/// Allows every name, for servers that something else guards.
pub(crate) const ANY_HOST: &str = "*";

/// The names of this server. Any web page can make a browser send requests to loopback, but it
/// cannot forge the origin of the page, nor the name under which it reached this server.
#[derive(Debug)]
pub(crate) struct AllowedHosts {
    names: Vec<String>,
    any: bool,
    /// Whether browsers reach this server over HTTPS only, as far as the settings say so.
    https: bool,
}

impl AllowedHosts {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let own = [options.listen.ip().to_string(), "localhost".to_owned()];
        let loopback = ["127.0.0.1".to_owned(), "::1".to_owned()];
        let given = options.hosts.iter().map(|host| host.to_ascii_lowercase());
        let any = options.hosts.iter().any(|host| host == ANY_HOST);
        if any && options.keys.is_empty() {
            tracing::warn!(
                "this server has no keys and answers under any name: any web page that is open \
                 in a browser can use it, unless something else guards the port"
            );
        }
        let names = own.into_iter().chain(loopback).chain(given).collect();
        Self { any, names, https: options.is_https() }
    }

    /// # Errors
    /// 403 if a page of another site sent this, or reached this server under another name; 415 if a
    /// form may have sent it.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), Problem> {
        self.check_name(parts)?;
        let headers = &parts.headers;
        let site = text(headers, SITE);
        if site.is_some_and(|site| !["same-origin", "none"].contains(&site)) {
            return Err(Problem::forbidden("a web page of another site sent this request"));
        }
        if text(headers, ORIGIN.as_str()).is_some_and(|origin| !self.is_origin(origin, parts)) {
            return Err(Problem::forbidden("a web page of another origin sent this request"));
        }
        // A form sends only POST, with a content type of its own. For all else a browser sends a
        // preflight request first.
        let reads = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let says = headers.contains_key(CONTENT_TYPE);
        if parts.method == Method::POST || (says && !reads) { need_json(headers) } else { Ok(()) }
    }

    /// Whether this `Origin` is that for which the request is. Without HTTPS of its own, the server
    /// does not know the scheme: a proxy may speak TLS.
    pub(crate) fn is_origin(&self, origin: &str, parts: &Parts) -> bool {
        origin.split_once("://").is_some_and(|(scheme, own)| {
            let is_scheme = scheme == "https" || (scheme == "http" && !self.https);
            is_scheme && own.eq_ignore_ascii_case(host_of(parts))
        })
    }

    /// # Errors
    /// 403 if this server was reached under a name that is not its own.
    pub(crate) fn check_name(&self, parts: &Parts) -> Result<(), Problem> {
        // The host may be in the request line too.
        let of_line = parts.uri.authority().map(|authority| authority.as_str());
        let is_ours = |host: &str| host_name(host).is_some_and(|name| self.names.contains(&name));
        if self.any || (is_ours(host_of(parts)) && of_line.is_none_or(is_ours)) {
            return Ok(());
        }
        let detail = "this server has no keys, and the host in `Host` or in the URL is not one of \
                      its names; use localhost, add the name with --host, or set a key";
        Err(Problem::forbidden(detail))
    }
}

/// The header in which browsers say whose page sent a request; no script can set it.
pub(crate) const SITE: &str = "sec-fetch-site";

fn host_of(parts: &Parts) -> &str {
    let of_line = parts.uri.authority().map(|authority| authority.as_str());
    text(&parts.headers, HOST.as_str()).or(of_line).unwrap_or_default()
}

/// The value of a header; one that is not text counts as present, and matches no name.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

/// The name in `name:port`, in lower case and without the brackets of IPv6; `None` if the text has
/// another form.
pub(crate) fn host_name(host: &str) -> Option<String> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            name.parse::<Ipv6Addr>().ok()?;
            (name, port)
        }
        None if host.parse::<IpAddr>().is_ok() => (host, ""),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.is_empty() || port[1..].parse::<u16>().is_ok();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let is_written = (port.is_empty() || port.starts_with(':')) && is_port(port);
    (is_written && !name.is_empty() && name.bytes().all(is_name)).then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;
    use crate::config::{HttpFlags, Sources};

    /// A server that is reached by this name, over HTTPS only or by any scheme.
    fn host(name: &str, https: bool) -> AllowedHosts {
        AllowedHosts { names: vec![name.to_owned()], any: false, https }
    }

    fn checked(method: &str, headers: &[(&str, &str)]) -> Option<u16> {
        checked_at("/v1/jobs", method, headers)
    }

    fn checked_at(uri: &str, method: &str, headers: &[(&str, impl AsRef<[u8]>)]) -> Option<u16> {
        let mut request = axum::http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, value.as_ref());
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let names = ["localhost", "::1", "127.0.0.1"].map(str::to_owned).into();
        let refused = AllowedHosts { names, any: false, https: false }.check(&parts).err()?;
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
    fn s6_a_page_of_another_scheme_is_of_another_origin_where_the_scheme_is_known() {
        for (https, scheme, passes) in [
            (true, "https", true),
            (true, "http", false),
            (false, "https", true),
            (false, "http", true),
            (false, "ftp", false),
        ] {
            let request = axum::http::Request::builder().uri("/v1/jobs").header("host", "jobs");
            let request = request.header("origin", format!("{scheme}://jobs"));
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(host("jobs", https).check(&parts).is_ok(), passes, "{https} {scheme}");
        }
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
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                let refused = checked(method, &[host, JSON, (name, value)]);
                assert_eq!(refused, Some(403), "{method} {name}: {value}");
            }
        }
        for form in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            assert_eq!(checked("POST", &[host, ("content-type", form)]), Some(415), "{form}");
        }
        assert_eq!(checked("POST", &[host]), Some(415), "a request without a body too");
        for method in ["DELETE", "PUT", "PATCH", "BREW"] {
            assert_eq!(checked(method, &[host]), None, "no form sends {method}");
        }
    }

    #[test]
    fn s6_a_name_that_is_not_ours_is_refused_for_reads_too() {
        for host in [
            "evil.example",
            "localhost.evil.example:8080",
            "",
            "127.0.0.1.nip.io",
            "localhost:x@evil",
            "localhost@evil:80",
            "[::1]evil",
            "[::1",
            "[localhost]",
            "localhost:80:80",
            "localhost:",
            "localhost:99999",
            "localhost/evil",
        ] {
            assert_eq!(checked("GET", &[("host", host)]), Some(403), "{host}");
        }
    }

    #[test]
    fn s6_a_header_that_is_no_text_is_of_another_site() {
        let none: [(&str, &[u8]); 1] = [("host", b"localhost")];
        assert_eq!(checked_at("/v1/jobs", "GET", &none), None);
        for (name, value) in [
            ("origin", &b"http://localhost\xff"[..]),
            ("origin", b"\xff"),
            ("sec-fetch-site", b"same-origin\xff"),
            ("sec-fetch-site", b"\xe4"),
        ] {
            let refused = checked_at("/v1/jobs", "GET", &[none[0], (name, value)]);
            assert_eq!(refused, Some(403), "{name}");
        }
        let host: [(&str, &[u8]); 1] = [("host", b"evil\xff")];
        assert_eq!(checked_at("http://localhost/v1/jobs", "GET", &host), Some(403), "host");
    }

    #[test]
    fn s6_the_name_in_the_request_line_is_checked_as_that_in_the_header_is() {
        let own = [("host", "localhost:8080")];
        for (uri, refused) in [
            ("http://localhost:8080/v1/jobs", None),
            ("http://127.0.0.1:8080/v1/jobs", None),
            ("http://evil/v1/jobs", Some(403)),
            ("http://localhost@evil/v1/jobs", Some(403)),
            ("https://localhost.evil:8080/v1/jobs", Some(403)),
        ] {
            assert_eq!(checked_at(uri, "GET", &own), refused, "{uri}");
            let without: [(&str, &str); 0] = [];
            assert_eq!(checked_at(uri, "GET", &without), refused, "{uri} without `Host`");
        }
        let evil = [("host", "evil")];
        assert_eq!(checked_at("http://localhost/v1/jobs", "GET", &evil), Some(403));
    }

    #[test]
    fn s6_without_keys_the_name_is_checked_until_every_name_is_said_to_be_ours() {
        let options = |flags: &[&str], insecure| {
            let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
            options.hosts = flags.iter().map(|host| (*host).to_owned()).collect();
            options.insecure_no_auth = insecure;
            options
        };
        let passes = |options: &HttpOptions| {
            let request = axum::http::Request::builder().header("host", "Evil.example:1");
            let (parts, ()) = request.body(()).unwrap().into_parts();
            AllowedHosts::new(options).check(&parts).is_ok()
        };
        assert!(!passes(&options(&[], true)), "whoever has no keys is asked for the name");
        assert!(passes(&options(&["evil.example"], true)) && passes(&options(&["*"], true)));
    }
}
