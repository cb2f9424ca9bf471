//! Credentials that a job names and does not hold: payloads are kept, and can be read.

use std::collections::BTreeMap;

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use queuekit::{JobError, JobResult};
use serde::Deserialize;

use super::request::{Request, is_ours};
use super::target::Target;

/// By the name that jobs use.
pub(crate) type Credentials = BTreeMap<String, Credential>;

/// The value of one header, for one purpose: whoever may enqueue can have it sent, and must not
/// come to know it. Debug is left out.
pub(crate) struct Credential {
    /// None if its variable is not set.
    pub(crate) value: Option<HeaderValue>,
    /// The variable, for whoever has to set it.
    pub(crate) variable: String,
    pub(crate) header: CredentialHeader,
    /// To which it is sent, and to no other.
    pub(crate) origins: Vec<Origin>,
}

/// A header in which nothing else than a credential is expected: in another one a receiver might
/// take it for something to repeat.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct CredentialHeader(HeaderName);

/// Scheme, host and port.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Origin(Target);

/// Puts the credentials that a request names where they belong.
///
/// # Errors
/// If one is not there, or not for this header or this origin, for good; if its variable is not
/// set, for now.
pub(super) fn fill_in(credentials: &Credentials, request: &mut Request) -> JobResult<()> {
    for (header, name) in std::mem::take(&mut request.named) {
        let table = format!("[handlers.http.credentials.{name}]");
        let Some(credential) = credentials.get(&name) else {
            return Err(JobError::fatal(format!("there is no {table} in the settings")));
        };
        if credential.header.0 != header {
            return Err(JobError::fatal(format!("{table} is for another header than {header}")));
        }
        if !credential.origins.iter().any(|origin| origin.0.has_origin_of(&request.target)) {
            let target = &request.target;
            return Err(JobError::fatal(format!("{table} is not for {target}: see its `origins`")));
        }
        let value = credential.value.clone().ok_or_else(|| {
            let variable = &credential.variable;
            JobError::retry(format!("{table} has no value: set the variable {variable}"))
        })?;
        request.secrets.push(value.clone());
        request.private.insert(header, value);
    }
    Ok(())
}

/// A text without these secrets, so that a receiver that repeats one does not tell it to whoever
/// reads results. Of `Bearer TOKEN` the token alone is one, too.
pub(super) fn hide(secrets: &[HeaderValue], text: &mut String) {
    for secret in secrets.iter().filter_map(|secret| secret.to_str().ok()) {
        for secret in [secret, secret.rsplit(' ').next().unwrap_or(secret)] {
            if !secret.is_empty() && text.contains(secret) {
                *text = text.replace(secret, "***");
            }
        }
    }
}

impl Default for CredentialHeader {
    fn default() -> Self {
        Self(AUTHORIZATION)
    }
}

impl TryFrom<String> for CredentialHeader {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // Content-Type goes along to wherever a receiver sends a request on.
        let is_free = |name: &HeaderName| !is_ours(name) && *name != CONTENT_TYPE;
        let name = text.parse().ok().filter(is_free);
        name.map(Self).ok_or("it must be a header that a job may set, such as Authorization")
    }
}

impl TryFrom<String> for Origin {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const RULE: &str = "it must be a scheme and a host, such as https://hooks.example.org";
        let target = Target::parse(&text).ok().filter(|target| target.path_and_query() == "/");
        target.map(Self).ok_or(RULE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        let credential = |value: Option<&'static str>| Credential {
            value: value.map(HeaderValue::from_static),
            variable: "TOKEN".to_owned(),
            header: CredentialHeader::default(),
            origins: vec![Origin::try_from("https://a.example".to_owned()).unwrap()],
        };
        let named = [("a", credential(Some("Bearer hunter2"))), ("unset", credential(None))];
        named.map(|(name, credential)| (name.to_owned(), credential)).into()
    }

    fn filled(url: &str, header: &str, name: &str) -> Result<Request, JobError> {
        let payload =
            format!(r#"{{"url": "{url}", "headers": {{"{header}": {{"secret": "{name}"}}}}}}"#);
        let mut request = Request::parse(payload.as_bytes()).unwrap();
        fill_in(&credentials(), &mut request)?;
        Ok(request)
    }

    #[test]
    fn s8_a_credential_goes_to_its_origins_in_its_header_and_nowhere_else() {
        for url in ["https://a.example", "https://A.example:443/b?c"] {
            let request = filled(url, "authorization", "a").unwrap();
            assert_eq!(request.private[AUTHORIZATION], "Bearer hunter2", "{url}");
            assert!(!request.headers.contains_key(AUTHORIZATION), "another origin is not told");
        }
        for (url, header, name) in [
            ("http://a.example", "authorization", "a"),
            ("https://a.example:444", "authorization", "a"),
            ("https://a.example.evil.example", "authorization", "a"),
            ("https://b.a.example", "authorization", "a"),
            ("https://a.example", "x-echo", "a"),
            ("https://a.example", "authorization", "TOKEN"),
            ("https://a.example", "authorization", "PATH"),
        ] {
            let error = filled(url, header, name).err().expect(url);
            assert!(error.is_fatal() && !error.to_string().contains("hunter2"), "{error}");
        }
        let error = filled("https://a.example", "authorization", "unset").err().unwrap();
        assert!(!error.is_fatal() && error.to_string().contains("set the variable TOKEN"));
    }

    #[test]
    fn s9_what_a_receiver_repeats_of_a_credential_is_hidden() {
        let secrets = [HeaderValue::from_static("Bearer hunter2")];
        let mut text = "you sent Bearer hunter2, that is hunter2".to_owned();
        hide(&secrets, &mut text);
        assert_eq!(text, "you sent ***, that is ***");
    }

    #[test]
    fn a_header_of_ours_and_an_origin_with_a_path_are_refused() {
        for header in ["host", "Content-Type", "webhook-id", "Proxy-Authorization", "a b", ""] {
            assert!(CredentialHeader::try_from(header.to_owned()).is_err(), "{header}");
        }
        for origin in ["a.example", "https://a.example/b", "https://a.example/?b", "ftp://a"] {
            assert!(Origin::try_from(origin.to_owned()).is_err(), "{origin}");
        }
    }
}
