//! Requests, in a few words.

use std::time::Duration;

use serde_json::Value;

use super::description;

/// A request that is being made.
pub struct Ask {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub text: String,
}

impl Ask {
    pub fn new(method: &str, url: String) -> Self {
        let headers = match method {
            "GET" | "HEAD" => Vec::new(),
            _ => vec![("content-type".to_owned(), "application/json".to_owned())],
        };
        Self { method: method.to_owned(), url, headers, body: None }
    }

    /// Replaces a header, or adds it.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    /// With this as it stands.
    pub fn text(mut self, body: impl Into<Vec<u8>>) -> Reply {
        self.body = Some(body.into());
        self.send()
    }

    pub fn json(self, body: &Value) -> Reply {
        self.text(body.to_string())
    }

    /// The same to a server that may be killed meanwhile.
    pub fn try_json(mut self, body: &Value) -> Result<Reply, ureq::Error> {
        self.body = Some(body.to_string().into_bytes());
        self.try_send()
    }

    /// Sends it; the answer has no field that is not described.
    #[track_caller]
    pub fn send(self) -> Reply {
        let (method, url) = (self.method.clone(), self.url.clone());
        let reply = self.try_send().expect("an answer");
        description::check(&method, &url, &reply);
        reply
    }

    /// Sends it to a server that may be killed meanwhile.
    pub fn try_send(self) -> Result<Reply, ureq::Error> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(Duration::from_secs(100)))
            .build()
            .into();
        let mut request =
            ureq::http::Request::builder().method(self.method.as_str()).uri(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = match self.body {
            Some(body) => agent.run(request.body(body).expect("a request"))?,
            None => agent.run(request.body(()).expect("a request"))?,
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.body_mut().with_config().limit(64 << 20).read_to_string()?;
        Ok(Reply { status, headers, text })
    }
}

impl Reply {
    /// The answer, which has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The problem it tells: a stable type, a status that is its own, and a detail.
    #[track_caller]
    pub fn problem(self, status: u16, kind: &str) -> Value {
        let reply = self.expect(status);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        let value = reply.value();
        assert_eq!(value["type"], format!("urn:queuekit:problem:{kind}"), "{value}");
        assert_eq!(value["status"], status);
        assert!(value["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{value}");
        value
    }
}
