//! Credentials that a job names but does not contain, because payloads are stored and readable.

use std::collections::BTreeMap;

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use queuekit::{JobError, JobResult};
use serde::Deserialize;

use super::request::{Request, is_ours};
use super::target::Target;

/// Credentials by the name that jobs use.
pub(crate) type Credentials = BTreeMap<String, Credential>;

/// The value of a header. A caller can have it sent, but must not learn it, so it has no `Debug`.
pub(crate) struct Credential {
    /// `None` if its variable is not set.
    pub(crate) value: Option<HeaderValue>,
    /// Name of the variable, for error messages.
    pub(crate) variable: String,
    pub(crate) header: CredentialHeader,
    /// The only origins that it is sent to.
    pub(crate) origins: Vec<Origin>,
}

/// A header that holds nothing but a credential: receivers may echo the values of other headers.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct CredentialHeader(HeaderName);

/// Scheme, host and port.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Origin(Target);

/// Adds the credentials that a request names.
///
/// # Errors
/// Fatal if one does not exist, or is not for this header or origin; retried if its variable is not
/// set.
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

/// Removes these secrets from a text, also where JSON has them escaped, so that a receiver that
/// echoes one does not reveal it to readers of results. In `Bearer TOKEN`, the token alone is a
/// secret too.
pub(super) fn hide(secrets: &[HeaderValue], text: &mut String) {
    for secret in secrets.iter().filter_map(|secret| secret.to_str().ok()) {
        // Of `Bearer TOKEN`, an answer may repeat the token alone.
        for secret in [secret, secret.rsplit(' ').next().unwrap_or(secret)] {
            if secret.is_empty() {
                continue;
            }
            *text = text.replace(secret, "***");
            hide_escaped(secret, text);
        }
    }
}

/// How many bytes these secrets take at most in a text, escaped as `\u002f` where one can be.
pub(super) fn longest(secrets: &[HeaderValue]) -> usize {
    let length = |byte: &u8| if byte.is_ascii_alphanumeric() { 1 } else { 6 };
    let lengths = secrets.iter().map(|secret| secret.as_bytes().iter().map(length).sum());
    lengths.max().unwrap_or(0)
}

fn hide_escaped(secret: &str, text: &mut String) {
    if !text.contains('\\') {
        return;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = after_escaped(secret, rest) {
            shown.push_str("***");
            rest = after;
        } else {
            shown.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    *text = shown;
}

/// What follows on this secret in a text of JSON that begins with it.
fn after_escaped<'a>(secret: &str, text: &'a str) -> Option<&'a str> {
    secret.chars().try_fold(text, |text, letter| {
        let Some(escaped) = text.strip_prefix('\\') else { return text.strip_prefix(letter) };
        let code = escaped.strip_prefix('u').and_then(|code| code.split_at_checked(4));
        match code {
            Some((code, rest)) if u32::from_str_radix(code, 16) == Ok(letter.into()) => Some(rest),
            _ => escaped.strip_prefix(letter),
        }
    })
}

impl Default for CredentialHeader {
    fn default() -> Self {
        Self(AUTHORIZATION)
    }
}

impl TryFrom<String> for CredentialHeader {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // Content-Type is also sent to the target of a redirect.
        let is_free = |name: &HeaderName| !is_ours(name) && *name != CONTENT_TYPE;
        let name = text.parse().ok().filter(is_free);
        name.map(Self).ok_or("write a header that a job may set, such as Authorization")
    }
}

impl TryFrom<String> for Origin {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const RULE: &str = "write a scheme and a host, such as https://hooks.example.org";
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
    fn s9_a_credential_that_a_receiver_repeats_in_json_is_hidden() {
        let secrets = [HeaderValue::from_static(r#"Bearer a+/b"c\d="#)];
        for echo in [
            r#"{"got":"Bearer a+/b\"c\\d=!"}"#,
            r#"{"got":"Bearer a+\/b\"c\\d=!"}"#,
            r#"{"got":"Bearer a\u002B\u002fb\u0022c\u005Cd\u003d!"}"#,
        ] {
            for echo in [echo.to_owned(), echo.replace("Bearer ", "")] {
                let mut text = echo;
                hide(&secrets, &mut text);
                assert_eq!(text, r#"{"got":"***!"}"#);
                assert!(longest(&secrets) >= r"a\u002B\u002fb\u0022c\u005Cd\u003d".len());
            }
        }
        let mut other = r#"{"got":"a\n\u00e9\u"}"#.to_owned();
        hide(&secrets, &mut other);
        assert_eq!(other, r#"{"got":"a\n\u00e9\u"}"#);
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
