//! Which requests of web pages are answered, by the headers that only a browser sets.

use axum::http::header::ORIGIN;
use axum::http::request::Parts;

use crate::web::csrf::{AllowedHosts, SITE, text};

/// Whether a request may read: one from our own pages, or one that follows a link to a page from
/// elsewhere.
pub(super) fn may_read(parts: &Parts) -> bool {
    let says = |name| text(&parts.headers, name);
    match says(SITE) {
        None | Some("same-origin" | "none") => true,
        Some(_) => is_navigation(parts),
    }
}

/// Whether a link of another site has led here, so that the browser has sent no cookie of ours.
pub(super) fn is_link_from_elsewhere(parts: &Parts) -> bool {
    let site = text(&parts.headers, SITE);
    site.is_some_and(|site| !["same-origin", "none"].contains(&site)) && is_navigation(parts)
}

/// Whether one of our own forms has sent this. A browser says so in `Sec-Fetch-Site`, or, over
/// plain HTTP to another machine, in `Origin`, which a proxy must then not make to differ from
/// `Host`.
pub(super) fn may_write(parts: &Parts, server: &AllowedHosts) -> bool {
    match text(&parts.headers, SITE) {
        Some(site) => site == "same-origin",
        None => {
            let origin = text(&parts.headers, ORIGIN.as_str());
            origin.is_some_and(|origin| server.is_origin(origin, parts))
        }
    }
}

fn is_navigation(parts: &Parts) -> bool {
    let says = |name| text(&parts.headers, name);
    says("sec-fetch-mode") == Some("navigate") && says("sec-fetch-dest") == Some("document")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HttpFlags, Sources};
    use crate::web::DashboardOptions;

    /// A server that is reached over HTTPS only, or by any scheme.
    fn server(secure_cookies: bool) -> AllowedHosts {
        let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        options.dashboard = Some(DashboardOptions { secure_cookies, ..Default::default() });
        AllowedHosts::new(&options)
    }

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut request = axum::http::Request::builder().uri("/ui").header("host", "jobs:8080");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn s6_a_form_of_another_site_or_without_an_origin_is_refused() {
        let may_write = |parts: &Parts| may_write(parts, &server(false));
        for own in [("sec-fetch-site", "same-origin"), ("origin", "http://jobs:8080")] {
            assert!(may_write(&parts(&[own])), "{own:?}");
        }
        for foreign in [
            &[][..],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site"), ("origin", "http://jobs:8080")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://jobs:9090")],
            &[("origin", "http://evil.example")],
            &[("origin", "null")],
        ] {
            assert!(!may_write(&parts(foreign)), "{foreign:?}");
        }
    }

    #[test]
    fn s6_a_form_of_a_page_without_tls_is_refused_by_a_server_with_tls() {
        let server = server(true);
        assert!(may_write(&parts(&[("origin", "https://jobs:8080")]), &server));
        assert!(!may_write(&parts(&[("origin", "http://jobs:8080")]), &server));
    }

    #[test]
    fn s6_a_link_from_elsewhere_opens_a_page_and_nothing_else_of_elsewhere_does() {
        let navigates = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        let from = |site, rest: &[(&'static str, &'static str)]| {
            parts(&[&[("sec-fetch-site", site)], rest].concat())
        };
        assert!(may_read(&parts(&[])) && may_read(&from("same-origin", &[])));
        assert!(may_read(&from("none", &navigates)));
        assert!(!is_link_from_elsewhere(&from("none", &navigates)));
        for site in ["cross-site", "same-site"] {
            assert!(may_read(&from(site, &navigates)) && !may_read(&from(site, &[])));
            assert!(is_link_from_elsewhere(&from(site, &navigates)));
            let framed = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
            assert!(!may_read(&from(site, &framed)));
            assert!(!may_read(&from(site, &[("sec-fetch-mode", "no-cors")])));
        }
    }
}
