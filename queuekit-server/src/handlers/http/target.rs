//! The target of a request.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use url::{Host, Position, Url};

/// A URL of `http:` or `https:` with a host and without a user. It is shown without path and query,
/// which many receivers use as a secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Target(Url);

impl Target {
    /// # Errors
    /// What is wrong with it, without repeating it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("`url` is invalid: {error}"))?;
        Self::of(url)
    }

    /// The target of a redirect.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse); and if it leads from https to http.
    pub(super) fn join(&self, location: &str) -> Result<Self, String> {
        let url =
            self.0.join(location).map_err(|error| format!("its target is invalid: {error}"))?;
        let next = Self::of(url)?;
        if self.is_encrypted() && !next.is_encrypted() {
            return Err(format!("{next} is not encrypted, while {self} is"));
        }
        Ok(next)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Same scheme, host and port.
    pub(super) fn has_origin_of(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// The host: a name in lower case, an address, or an IPv6 address in brackets. A dot at the end
    /// of a name is left out: it is the same host.
    pub(super) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default().trim_end_matches('.')
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// The address, if the host is one.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        let ip = match self.0.host()? {
            Host::Ipv4(ip) => IpAddr::V4(ip),
            Host::Ipv6(ip) => IpAddr::V6(ip),
            Host::Domain(_) => return None,
        };
        Some(SocketAddr::new(ip, self.port()))
    }

    /// The value of `Host`.
    pub(super) fn authority(&self) -> &str {
        &self.0[Position::BeforeHost..Position::AfterPort]
    }

    pub(super) fn path_and_query(&self) -> &str {
        &self.0[Position::BeforePath..Position::AfterQuery]
    }

    fn of(url: Url) -> Result<Self, String> {
        if !["http", "https"].contains(&url.scheme()) {
            return Err("`url` must begin with https:// or http://".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            // Errors show the target up to its path, and so would show them.
            let instead = "use the header Authorization in `headers`";
            return Err(format!("`url` must not contain a user or a password: {instead}"));
        }
        if url.host_str().is_none_or(|host| host.trim_end_matches('.').is_empty()) {
            return Err("`url` must have a host".to_owned());
        }
        Ok(Self(url))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..Position::BeforePath])
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_and_no_user() {
        for url in ["ftp://a.example/", "file:///etc/passwd", "gopher://a", "data:,a", "a.example"]
        {
            assert!(Target::parse(url).is_err(), "{url}");
        }
        for url in ["https://ada@a.example/", "https://ada:hunter2@a.example", "https://:pw@a"] {
            let error = Target::parse(url).unwrap_err();
            assert!(error.contains("Authorization") && !error.contains("hunter2"), "{error}");
        }
        assert!(Target::parse("https:///path").is_ok_and(|target| target.host() == "path"));
        assert!(Target::parse("https://").is_err());
    }

    #[test]
    fn s6_a_dot_at_the_end_of_a_host_makes_no_other_host() {
        assert_eq!(Target::parse("https://Hooks.example./x").unwrap().host(), "hooks.example");
        assert!(Target::parse("https://./x").is_err());
    }

    #[test]
    fn s9_a_target_is_shown_without_its_path() {
        let target = Target::parse("https://hooks.example:8443/services/T0/hunter2?k=1").unwrap();
        assert_eq!(format!("{target} {target:?}"), "https://hooks.example:8443 ".repeat(2).trim());
        assert_eq!(target.authority(), "hooks.example:8443");
        assert_eq!(target.path_and_query(), "/services/T0/hunter2?k=1");
        assert_eq!(Target::parse("http://a.example#f").unwrap().path_and_query(), "/");
    }

    #[test]
    fn a_redirect_does_not_lead_away_from_encryption() {
        let target = Target::parse("https://a.example/x/y").unwrap();
        assert_eq!(target.join("../z").unwrap().path_and_query(), "/z");
        assert!(target.join("https://a.example/").unwrap().has_origin_of(&target));
        assert!(!target.join("https://b.example/").unwrap().has_origin_of(&target));
        assert!(!target.join("https://a.example:444/").unwrap().has_origin_of(&target));
        for location in ["http://a.example/", "ftp://a.example/", "https://u@a.example", "//"] {
            assert!(target.join(location).is_err(), "{location}");
        }
    }
}
