//! The request that a payload describes.

use std::collections::BTreeMap;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use hyper::http::response::Parts;
use hyper::{Method, StatusCode};
use queuekit::{Bytes, JobError, JobResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::target::Target;

/// A request that can be sent, and sent again.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) target: Target,
    pub(super) method: Method,
    /// Headers for every receiver, redirects included.
    pub(super) headers: HeaderMap,
    /// Headers for the host that the job names only: they may hold credentials.
    pub(super) private: HeaderMap,
    /// Headers whose credential the job names; they are resolved before the request is sent.
    pub(super) named: Vec<(HeaderName, String)>,
    /// Credentials of the configuration that are in `private`.
    pub(super) secrets: Vec<HeaderValue>,
    pub(super) body: Bytes,
}

/// The payload of a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload<'a> {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Stated>,
    /// Sent as JSON, byte for byte.
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    /// Sent as text.
    text: Option<String>,
}

/// The value of a header.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stated {
    Text(String),
    Named(Named),
}

/// The name of a credential of the configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    secret: String,
}

const METHODS: [Method; 6] =
    [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::GET, Method::HEAD];

/// Headers that this program sets, or that would change where a request ends.
const OURS: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

impl Request {
    /// # Errors
    /// Undecodable if the payload does not have the fields of a request, which a newer program may
    /// know; fatal if a value cannot be sent. Neither repeats values.
    pub(super) fn parse(payload: &[u8]) -> JobResult<Self> {
        let payload: Payload<'_> = serde_json::from_slice(payload).map_err(|error| {
            JobError::undecodable(format!("the payload does not describe a request: {error}"))
        })?;
        Self::of(payload).map_err(JobError::fatal)
    }

    fn of(payload: Payload<'_>) -> Result<Self, String> {
        let target = Target::parse(&payload.url)?;
        let method = match &payload.method {
            None => Method::POST,
            Some(name) => METHODS
                .into_iter()
                .find(|method| method.as_str().eq_ignore_ascii_case(name))
                .ok_or("`method` must be POST, PUT, PATCH, DELETE, GET or HEAD")?,
        };
        let (body, kind) = match (payload.body, payload.text) {
            (Some(_), Some(_)) => return Err("give either `body` or `text`".to_owned()),
            (Some(json), None) => {
                (Bytes::copy_from_slice(json.get().as_bytes()), Some("application/json"))
            }
            (None, Some(text)) => (text.into(), Some("text/plain; charset=utf-8")),
            (None, None) => (Bytes::new(), None),
        };
        // Proxies and servers differ in what they do with such a body.
        if !body.is_empty() && is_read_only(&method) {
            return Err(format!("a {method} request must have no body"));
        }
        let (mut private, named) = parse_headers(payload.headers)?;
        let mut headers = HeaderMap::new();
        // It describes the body and is no secret, so it goes along to the target of a redirect.
        let stated = private.remove(CONTENT_TYPE);
        if let Some(kind) = stated.or_else(|| kind.map(HeaderValue::from_static)) {
            headers.insert(CONTENT_TYPE, kind);
        }
        Ok(Self { target, method, headers, private, named, secrets: Vec::new(), body })
    }

    /// The next request, if the receiver answers a redirect.
    ///
    /// # Errors
    /// If the redirect leads to a target that is not allowed, or changes the request.
    pub(super) fn sent_on(&self, answer: &Parts) -> JobResult<Option<Self>> {
        let keeps = match answer.status {
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
                // Clients turn other methods into a GET here, which would drop the body.
                is_read_only(&self.method)
            }
            _ => return Ok(None),
        };
        let Some(location) = answer.headers.get(LOCATION) else { return Ok(None) };
        let refused = |why: String| {
            let (from, status) = (&self.target, answer.status.as_u16());
            JobError::fatal(format!("{from} redirects the request ({status}), but {why}"))
        };
        let location = location.to_str().map_err(|_| refused("its target is not text".into()))?;
        // Before the method is looked at, so that the error can name the target.
        let target = self.target.join(location).map_err(refused)?;
        if !keeps {
            let method = &self.method;
            return Err(refused(format!(
                "it would turn the {method} into a GET: use the URL of {target} in the job"
            )));
        }
        Ok(Some(Self { target, ..self.clone() }))
    }
}

fn is_read_only(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether a job must not set this header.
pub(super) fn is_ours(name: &HeaderName) -> bool {
    let starts = ["webhook-", "proxy-"];
    OURS.contains(&name.as_str()) || starts.iter().any(|s| name.as_str().starts_with(s))
}

/// Headers with a value, and headers with the name of a credential.
fn parse_headers(
    stated: BTreeMap<String, Stated>,
) -> Result<(HeaderMap, Vec<(HeaderName, String)>), String> {
    let (mut headers, mut named) = (HeaderMap::new(), Vec::new());
    for (name, value) in stated {
        let name: HeaderName =
            name.parse().map_err(|_| "`headers` has an invalid name".to_owned())?;
        if is_ours(&name) {
            return Err(format!("`headers` must not have {name}: the handler sets it"));
        }
        match value {
            Stated::Named(Named { secret }) => named.push((name, secret)),
            Stated::Text(text) => {
                let value = HeaderValue::try_from(text);
                let none = |_| format!("`headers` has an invalid value for {name}");
                headers.insert(name.clone(), value.map_err(none)?);
            }
        }
    }
    Ok((headers, named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(payload: &str) -> JobResult<Request> {
        Request::parse(payload.as_bytes())
    }

    fn answer(status: u16, location: &str) -> Parts {
        let response = hyper::Response::builder().status(status).header(LOCATION, location);
        response.body(()).unwrap().into_parts().0
    }

    #[test]
    fn json_is_sent_as_it_is_written_and_text_as_it_is() {
        let json =
            parse(r#"{"url": "https://a.example/", "body": {"b": 1.0,  "a":"\u00e9"}}"#).unwrap();
        assert_eq!(json.body, r#"{"b": 1.0,  "a":"\u00e9"}"#);
        assert_eq!(
            (json.method, &json.headers[CONTENT_TYPE]),
            (Method::POST, &HeaderValue::from_static("application/json"))
        );
        let text = r#"{"url": "https://a.example/", "method": "put", "text": "a=1&b=2",
            "headers": {"Content-Type": "application/x-www-form-urlencoded"}}"#;
        let text = parse(text).unwrap();
        assert_eq!((text.method, text.body), (Method::PUT, Bytes::from_static(b"a=1&b=2")));
        assert_eq!(text.headers[CONTENT_TYPE], "application/x-www-form-urlencoded");
        assert!(text.private.is_empty());
    }

    #[test]
    fn a_payload_that_is_no_request_is_refused_by_field_and_not_repeated() {
        for (payload, said) in [
            ("null", "the payload does not describe a request"),
            ("{}", "missing field `url`"),
            (r#"{"url": "https://a.example", "boddy": 1}"#, "unknown field `boddy`"),
            (r#"{"url": "hunter2"}"#, "`url` is invalid"),
            (r#"{"url": "https://a.example", "method": "CONNECT"}"#, "`method` must be POST"),
            (
                r#"{"url": "https://a.example", "method": "GET", "body": 1}"#,
                "GET request must have no body",
            ),
            (r#"{"url": "https://a.example", "text": "", "body": 1}"#, "either `body` or `text`"),
            (r#"{"url": "https://a.example", "headers": {"Host": "b"}}"#, "must not have host"),
            (r#"{"url": "https://a.example", "headers": {"Webhook-Id": "b"}}"#, "webhook-id"),
            (r#"{"url": "https://a.example", "headers": {"a b": "b"}}"#, "an invalid name"),
            (r#"{"url": "https://a.example", "headers": {"a": {"secret": 1}}}"#, "not describe"),
            (r#"{"url": "https://a.example", "headers": {"x-a": "hunter2\r\nX-B: c"}}"#, "for x-a"),
        ] {
            let error = parse(payload).err().expect(payload);
            let text = error.to_string();
            assert!(text.contains(said) && !text.contains("hunter2"), "{payload}: {text}");
            let has_other_form = text.contains("does not describe");
            assert_eq!(
                (error.is_undecodable(), error.is_fatal()),
                (has_other_form, !has_other_form)
            );
        }
    }

    #[test]
    fn a_request_is_sent_on_as_it_is_or_not_at_all() {
        let post = parse(r#"{"url": "https://a.example/x", "body": 1}"#).unwrap();
        let next = post.sent_on(&answer(307, "/y")).unwrap().unwrap();
        assert_eq!(
            (next.method, next.body, next.target.path_and_query()),
            (Method::POST, Bytes::from_static(b"1"), "/y")
        );
        for (status, location) in
            [(302, "/y"), (303, "/y"), (307, "http://a.example"), (308, "ftp://b")]
        {
            assert!(post.sent_on(&answer(status, location)).is_err_and(|error| error.is_fatal()));
        }
        let get = parse(r#"{"url": "https://a.example/x", "method": "GET"}"#).unwrap();
        assert!(get.sent_on(&answer(302, "/y")).unwrap().is_some());
        assert!(get.sent_on(&answer(304, "/y")).unwrap().is_none());
    }
}
