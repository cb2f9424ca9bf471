//! Settings of the HTTP server: where it listens, TLS, keys and limits.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::dashboard::DashboardFlags;
use super::listen::{Host, Listen};
use super::{Sources, weak_key};
use crate::error::Usage;
use crate::loopback::is_this_machine;
use crate::web::keys::{KeyEntry, Keys};
use crate::web::{HttpOptions, TlsFiles};

/// Flags of commands that run a server.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HttpFlags {
    /// Address to listen on; port 0: any free port [env: QUEUEKIT_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<Listen>,
    /// Listen on other interfaces without a key: anybody who can reach the server may do everything
    #[arg(long)]
    insecure_no_auth: bool,
    /// Accept this name in the Host header of a server without keys; `*` accepts any name. Give the
    /// flag once for each name
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<Host>,
    /// Certificate chain for TLS, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Log each request: method, route, status, time, bytes, key and address, but no contents
    #[arg(long)]
    access_log: bool,
    #[command(flatten)]
    dashboard: DashboardFlags,
}

impl HttpFlags {
    /// The options, from these flags, the environment and the file.
    ///
    /// # Errors
    /// A wrong setting, or one that opens the store to everybody who can reach this machine (S1).
    pub(crate) fn resolve(self, sources: &Sources) -> Result<HttpOptions> {
        let Sources { environment, file, directory, .. } = sources;
        let listen = match self.listen {
            Some(listen) => Some(listen),
            None => environment.parse("QUEUEKIT_LISTEN")?.or(file.listen),
        };
        let listen = listen.unwrap_or_default().address();
        let keys = keys(&file.keys, environment.get("QUEUEKIT_API_KEY"))?;
        let insecure_no_auth = self.insecure_no_auth || file.insecure_no_auth;
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            _ => file.tls.as_ref().map(|tls| TlsFiles {
                certificate: directory.join(&tls.certificate),
                key: directory.join(&tls.key),
            }),
        };
        for file in tls.iter().flat_map(|tls| [&tls.certificate, &tls.key]) {
            std::fs::File::open(file).map_err(|error| unreadable(file, &error))?;
        }
        let hosts = if self.hosts.is_empty() { file.hosts.clone() } else { self.hosts };
        let hosts = hosts.into_iter().map(|Host(name)| name).collect();
        let limits = file.limits.limits()?;
        let access_log = self.access_log || file.access_log;
        let proxies = file.proxies.clone();
        let dashboard = self.dashboard.resolve(&file.dashboard, environment, tls.is_some())?;
        let options = HttpOptions {
            listen,
            keys,
            insecure_no_auth,
            hosts,
            proxies,
            tls,
            limits,
            access_log,
            dashboard,
        };
        if options.is_open_to_others() {
            return Err(open_to_all(listen));
        }
        if !is_this_machine(listen.ip()) {
            weak_key::refuse(environment.get("QUEUEKIT_API_KEY"), listen)?;
        }
        Ok(options)
    }
}

/// The API keys.
fn keys(entries: &[KeyEntry], admin: Option<&str>) -> Result<Keys> {
    for (at, KeyEntry { id, sha256, .. }) in entries.iter().enumerate() {
        let before = &entries[..at];
        if before.iter().any(|other| other.id == *id) {
            return Err(Usage::error(format!(
                "two [[keys]] have the id {id:?}: give each its own, so that logs can tell them \
                 apart"
            )));
        }
        if let Some(KeyEntry { id: other, .. }) = before.iter().find(|key| key.sha256 == *sha256) {
            return Err(Usage::error(format!(
                "the [[keys]] {other:?} and {id:?} have the same sha256: a request with that key \
                 could have the scopes of either; remove one of them"
            )));
        }
    }
    // A variable that was read from a file ends in a newline.
    let admin = admin.map(str::trim);
    if admin.is_some_and(|key| key.is_empty() || key.contains(|c: char| !c.is_ascii_graphic())) {
        return Err(Usage::error(
            "QUEUEKIT_API_KEY is blank, or contains white space or characters that a header \
             cannot have: create a key with `queuekit key new`",
        ));
    }
    Ok(Keys::new(entries.to_vec(), admin))
}

fn unreadable(file: &Path, error: &std::io::Error) -> anyhow::Error {
    Usage::error(format!(
        "cannot read {}: {error}; name the PEM files with --tls-cert and --tls-key, or in [tls]",
        file.display()
    ))
}

fn open_to_all(listen: SocketAddr) -> anyhow::Error {
    Usage::error(format!(
        "other machines can reach {listen}, and no key is set: anybody could enqueue, read and \
         delete jobs. Set QUEUEKIT_API_KEY, or add the lines that `queuekit key new` prints to \
         queuekit.toml; or listen on 127.0.0.1; or, if something else guards this port, pass \
         --insecure-no-auth"
    ))
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
        let environment = Environment::of([("QUEUEKIT_API_KEY", "hunter2-of-the-fleet")]);
        let sources = Sources { environment, ..Sources::default() };
        let options = at("0.0.0.0:80").resolve(&sources).unwrap();
        assert!(!format!("{options:?}").contains("hunter2"), "S9");
    }

    #[test]
    fn s1_beyond_loopback_a_key_that_can_be_guessed_is_refused() {
        let found = |listen: &str, key: &str| {
            let environment = Environment::of([("QUEUEKIT_API_KEY", key)]);
            at(listen).resolve(&Sources { environment, ..Sources::default() })
        };
        let placeholders = ["CHANGE-ME", "please-change-me-now-thanks", "changeme_changeme"];
        let guessed =
            ["a", "1234", "fifteen-letters", "aaaaaaaaaaaaaaaaaaaaaa", "0101010101010101"];
        for key in placeholders.into_iter().chain(guessed) {
            let error = found("0.0.0.0:80", key).unwrap_err();
            let text = error.to_string();
            assert!(error.is::<Usage>() && text.contains("queuekit key new"), "{text}");
            assert!(!text.contains(&format!("{key:?}")), "{text}");
            found("127.0.0.1:80", key).unwrap();
        }
        found("0.0.0.0:80", "f3Qp-9zL1-sixteen").unwrap();
    }

    #[test]
    fn s6_a_host_is_a_name_without_scheme_and_port() {
        for (text, name) in [
            ("Jobs.example", "jobs.example"),
            ("[::1]", "::1"),
            ("10.0.0.1", "10.0.0.1"),
            ("*", "*"),
        ] {
            assert_eq!(text.parse(), Ok(Host(name.to_owned())));
        }
        for wrong in ["http://x/", "x:80", "", "x/y", "a b", "**", "[::1]:80"] {
            assert!(wrong.parse::<Host>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_taken_without_white_space_around_it_and_refused_with_some_in_it() {
        let found = |key: &str| {
            let environment = Environment::of([("QUEUEKIT_API_KEY", key)]);
            let sources = Sources { environment, ..Sources::default() };
            HttpFlags::default().resolve(&sources).map(|options| options.keys)
        };
        let now = jiff::Timestamp::UNIX_EPOCH;
        assert!(found("hunter2\r\n").unwrap().find("hunter2", now).is_some());
        for wrong in [" ", "hunter 2", "hunter2\nx", "h\u{fc}nter"] {
            let error = found(wrong).unwrap_err();
            assert!(error.is::<Usage>() && !error.to_string().contains("hunter"), "{error}");
        }
    }

    #[test]
    fn settings_that_cannot_be_meant_are_refused_with_the_remedy() {
        let key = "[[keys]]\nid = 'a'\nscopes = ['read']\nsha256 = '".to_owned() + &"0".repeat(64);
        let twice = format!("{key}'\n{key}'");
        let same = format!("{key}'\n{}'", key.replace("'a'", "'b'"));
        for (text, said) in [
            (twice.as_str(), "two [[keys]] have the id \"a\""),
            (same.as_str(), "\"a\" and \"b\" have the same sha256"),
            ("[limits]\nmax_buffered_bytes = 1024", "raise the one or lower the other"),
            ("[limits]\nmax_body_bytes = 1073741824", "raise the one or lower the other"),
        ] {
            let file = super::super::file::FileSettings::parse("f".as_ref(), text).unwrap();
            let sources = Sources { file, ..Sources::default() };
            let error = HttpFlags::default().resolve(&sources).unwrap_err();
            assert!(error.is::<Usage>() && error.to_string().contains(said), "{error}");
        }
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
        let (beside, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (certificate, key) = (beside.path().join("a"), elsewhere.path().join("b"));
        let mut sources = Sources { directory: beside.path().into(), ..Sources::default() };
        let text = format!("tls = {{certificate='a',key='{}'}}", key.display());
        sources.file = super::super::file::FileSettings::parse("f".as_ref(), &text).unwrap();
        std::fs::write(&certificate, "").unwrap();
        let error = HttpFlags::default().resolve(&sources).unwrap_err();
        assert!(
            error.is::<Usage>() && error.to_string().contains(key.to_str().unwrap()),
            "{error}"
        );
        std::fs::write(&key, "").unwrap();
        let tls = HttpFlags::default().resolve(&sources).unwrap().tls.unwrap();
        assert_eq!((tls.certificate, tls.key), (certificate, key));
    }
}
