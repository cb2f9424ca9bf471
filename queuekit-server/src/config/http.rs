//! How the server listens, and to whom.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use clap::Args;
use serde::Deserialize;

use super::Sources;
use crate::cli::Usage;
use crate::http::keys::Keys;
use crate::http::{HttpOptions, TlsFiles};

/// Flags of whatever listens.
#[derive(Args, Debug, Default)]
pub(crate) struct HttpFlags {
    /// Where to listen; port 0 is any that is free [env: QUEUEKIT_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<Listen>,
    /// Listen beyond this machine though no key is set: whoever can reach it may do everything
    #[arg(long)]
    insecure_no_auth: bool,
    /// Another name under which a server without keys may be addressed; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Encrypt connections: the certificate and those that lead to its authority, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// An address to listen at; `localhost` is 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Listen(SocketAddr);

impl HttpFlags {
    /// With what the environment and the file say.
    ///
    /// # Errors
    /// A wrong setting; or one that opens the store to everybody who can reach this machine (S1).
    pub(crate) fn resolve(self, sources: &Sources) -> Result<HttpOptions> {
        let Sources { environment, file, directory } = sources;
        let listen = match self.listen {
            Some(listen) => Some(listen),
            None => environment.parse("QUEUEKIT_LISTEN")?.or(file.listen),
        };
        let listen = listen.unwrap_or_default().0;
        let keys = Keys::new(file.keys.clone(), environment.get("QUEUEKIT_API_KEY"));
        let insecure_no_auth = self.insecure_no_auth || file.insecure_no_auth;
        if keys.is_empty() && !insecure_no_auth && !listen.ip().to_canonical().is_loopback() {
            return Err(open_to_all(listen));
        }
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            _ => file.tls.as_ref().map(|tls| TlsFiles {
                certificate: directory.join(&tls.certificate),
                key: directory.join(&tls.key),
            }),
        };
        let hosts = if self.hosts.is_empty() { file.hosts.clone() } else { self.hosts };
        let limits = file.limits.limits();
        Ok(HttpOptions { listen, keys, insecure_no_auth, hosts, tls, limits })
    }
}

fn open_to_all(listen: SocketAddr) -> anyhow::Error {
    Usage::error(format!(
        "{listen} can be reached from other machines, and no key is set: anybody could enqueue, \
         read and delete jobs. Set QUEUEKIT_API_KEY, or add to queuekit.toml what `queuekit key \
         new` prints; or listen at 127.0.0.1; or, if something else guards this port, say \
         --insecure-no-auth"
    ))
}

impl Default for Listen {
    fn default() -> Self {
        Self((Ipv4Addr::LOCALHOST, 8080).into())
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address = numeric.as_deref().unwrap_or(text).parse().map_err(|_| {
            "it must be ADDRESS:PORT, such as 127.0.0.1:8080, 0.0.0.0:8080 (all of IPv4) or \
             [::]:8080 (all)"
        })?;
        Ok(Self(address))
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    fn at(listen: &str) -> HttpFlags {
        HttpFlags { listen: Some(listen.parse().unwrap()), ..HttpFlags::default() }
    }

    #[test]
    fn s1_beyond_loopback_a_key_is_needed_or_a_word_that_none_is() {
        let sources = Sources::default();
        for open in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80", "[::ffff:192.0.2.1]:80"] {
            let error = at(open).resolve(&sources).unwrap_err().to_string();
            for remedy in ["QUEUEKIT_API_KEY", "queuekit key new", "--insecure-no-auth"] {
                assert!(error.contains(remedy), "{error}");
            }
            let insecure = HttpFlags { insecure_no_auth: true, ..at(open) };
            assert!(insecure.resolve(&sources).unwrap().insecure_no_auth);
        }
        for closed in ["127.0.0.1:80", "localhost:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            at(closed).resolve(&sources).unwrap();
        }
        let environment = Environment::of([("QUEUEKIT_API_KEY", "hunter2")]);
        let sources = Sources { environment, ..Sources::default() };
        let options = at("0.0.0.0:80").resolve(&sources).unwrap();
        assert!(!format!("{options:?}").contains("hunter2"), "S9");
    }

    #[test]
    fn listen_is_the_flag_s_else_the_variable_s_else_the_file_s() {
        let listen = |flags: HttpFlags, sources: &Sources| flags.resolve(sources).unwrap().listen;
        let mut sources = Sources::default();
        assert_eq!(listen(HttpFlags::default(), &sources).to_string(), "127.0.0.1:8080");
        sources.file.listen = Some("127.0.0.1:1".parse().unwrap());
        assert_eq!(listen(HttpFlags::default(), &sources).port(), 1);
        sources.environment = Environment::of([("QUEUEKIT_LISTEN", "127.0.0.1:2")]);
        assert_eq!(listen(HttpFlags::default(), &sources).port(), 2);
        assert_eq!(listen(at("127.0.0.1:3"), &sources).port(), 3);
        assert!("8080".parse::<Listen>().is_err() && "host:80".parse::<Listen>().is_err());
    }

    #[test]
    fn certificates_of_the_file_are_beside_it() {
        let mut sources = Sources { directory: "/etc/queuekit".into(), ..Sources::default() };
        sources.file = super::super::file::FileSettings::parse(
            "f".as_ref(),
            "tls = {certificate='a',key='/b'}",
        )
        .unwrap();
        let tls = HttpFlags::default().resolve(&sources).unwrap().tls.unwrap();
        assert_eq!(tls.certificate, PathBuf::from("/etc/queuekit/a"));
        assert_eq!(tls.key, PathBuf::from("/b"));
    }
}
