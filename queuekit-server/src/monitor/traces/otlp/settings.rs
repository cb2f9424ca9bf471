//! Where spans are sent: the variables of OpenTelemetry, and a flag.

use anyhow::Result;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use queuekit::store::percent_decoded;
use url::Url;

use crate::config::Environment;
use crate::error::Usage;
use crate::loopback::is_this_host;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const SERVICE: &str = "OTEL_SERVICE_NAME";
/// The path of OTLP over HTTP.
const PATH: &str = "/v1/traces";

/// The collector, and the headers of each request, which may be secret.
pub(super) struct Settings {
    pub(super) endpoint: Uri,
    pub(super) headers: HeaderMap,
    pub(super) service: String,
}

impl Settings {
    /// None if no collector is named.
    ///
    /// # Errors
    /// A usage error if a setting is wrong.
    pub(super) fn resolve(flag: Option<&str>, environment: &Environment) -> Result<Option<Self>> {
        let (name, url) = match (flag, environment.get(ENDPOINT)) {
            (Some(url), _) => ("--otlp-endpoint", url),
            (None, Some(url)) => (ENDPOINT, url),
            (None, None) => return Ok(None),
        };
        let wrong = || {
            Usage::error(format!(
                "{name} must be a URL such as http://localhost:4318 or https://.."
            ))
        };
        let base = Url::parse(url).map_err(|_| wrong())?;
        let host = base.host_str().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        let is_plain = base.query().is_none() && base.fragment().is_none();
        let has_secret = !base.username().is_empty() || base.password().is_some();
        if !matches!(base.scheme(), "http" | "https") || !is_plain || has_secret {
            return Err(wrong());
        }
        // `.env` may be someone else's: a collector that it names gets no secret of others.
        let headers = match flag {
            Some(_) => environment.get(HEADERS),
            None => environment.secret_for(ENDPOINT, HEADERS),
        };
        let headers = headers.map(read_headers).transpose()?.unwrap_or_default();
        if base.scheme() == "http" && !headers.is_empty() && !is_this_host(&host) {
            return Err(Usage::error(format!(
                "{name} would send the headers of {HEADERS} to another machine in plain text: use \
                 https"
            )));
        }
        let endpoint = format!("{}{PATH}", base.as_str().trim_end_matches('/'));
        let endpoint = endpoint.parse().map_err(|_| wrong())?;
        let service = environment.get(SERVICE).unwrap_or("queuekit").to_owned();
        Ok(Some(Self { endpoint, headers, service }))
    }
}

/// `name=value,..`, with escapes as in URLs. The text may be secret, so errors do not repeat it.
fn read_headers(text: &str) -> Result<HeaderMap> {
    let read = |pair: &str| -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = pair.split_once('=')?;
        let mut value = HeaderValue::try_from(percent_decoded(value.trim())?).ok()?;
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    };
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let headers: Option<HeaderMap> = pairs.map(read).collect();
    headers.ok_or_else(|| Usage::error(format!("the variable {HEADERS}: write name=value,..")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(
        flag: Option<&str>,
        environment: &Environment,
    ) -> Result<Option<(String, HeaderMap, String)>> {
        let read = |settings: Settings| {
            (settings.endpoint.to_string(), settings.headers, settings.service)
        };
        Settings::resolve(flag, environment).map(|settings| settings.map(read))
    }

    #[test]
    fn the_flag_goes_before_the_variable_and_neither_means_no_traces() {
        assert!(resolved(None, &Environment::of([])).unwrap().is_none());
        let environment =
            Environment::of([(ENDPOINT, "http://collector:4318/otlp/"), (SERVICE, "mails")]);
        let (endpoint, headers, service) = resolved(None, &environment).unwrap().unwrap();
        assert_eq!(endpoint, "http://collector:4318/otlp/v1/traces");
        assert_eq!((headers.len(), service.as_str()), (0, "mails"));
        let flag = resolved(Some("https://other"), &environment).unwrap().unwrap();
        assert_eq!(flag.0, "https://other/v1/traces");
    }

    #[test]
    fn what_is_no_collector_is_refused_without_its_text() {
        for wrong in ["collector:4318", "ftp://a", "http://a?b", "https://ada:hunter2@a", ""] {
            let refused = resolved(Some(wrong), &Environment::of([])).unwrap_err().to_string();
            assert!(refused.starts_with("--otlp-endpoint must be"), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn s7_headers_cross_a_network_only_encrypted() {
        let keyed = |url| Environment::of([(ENDPOINT, url), (HEADERS, "api-key=hunter2%20x, a=b")]);
        for url in ["https://collector", "http://localhost:4318", "http://[::1]:4318"] {
            let (_, headers, _) = resolved(None, &keyed(url)).unwrap().unwrap();
            assert_eq!(headers["api-key"], "hunter2 x");
            assert!(headers["api-key"].is_sensitive());
            assert_eq!(headers["a"], "b");
        }
        let refused = resolved(None, &keyed("http://collector")).unwrap_err().to_string();
        assert!(refused.contains("use https") && !refused.contains("hunter2"), "{refused}");
        for wrong in ["hunter2", "a b=hunter2", "a=hunter2%0A"] {
            let environment = Environment::of([(ENDPOINT, "https://a"), (HEADERS, wrong)]);
            let refused = resolved(None, &environment).unwrap_err().to_string();
            assert!(refused.contains(HEADERS) && !refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn s8_a_collector_of_the_file_gets_no_headers_that_were_exported() {
        let environment = Environment::of([(HEADERS, "api-key=hunter2")]);
        let environment = environment.with_file([(ENDPOINT, "https://evil")]);
        assert!(resolved(None, &environment).unwrap().unwrap().1.is_empty());
    }
}
