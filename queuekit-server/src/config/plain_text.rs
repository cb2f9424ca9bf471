//! Passwords and payloads cross a network in plain text only where that was asked for.

use std::net::IpAddr;

use anyhow::{Result, bail};

/// Checks the URL of a store: Postgres on another machine is to say how it encrypts. In the URLs of
/// Redis the scheme says it.
///
/// # Errors
/// If it leaves open whether the connection is encrypted.
pub(crate) fn refuse_silent_plain_text(url: &str) -> Result<()> {
    let Some((scheme, rest)) = url.split_once("://") else { return Ok(()) };
    if !["postgres", "postgresql"].iter().any(|name| name.eq_ignore_ascii_case(scheme)) {
        return Ok(());
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut settings = query.split('&').filter_map(|setting| setting.split_once('='));
    let says = settings.any(|(name, value)| name == "sslmode" && value != "prefer");
    if says || hosts(place).all(is_here) {
        return Ok(());
    }
    bail!(
        "the URL of the store does not say whether the connection is encrypted: add \
         sslmode=verify-full, or sslmode=require if the server's certificate is its own, or \
         sslmode=disable where nobody else is on the network"
    )
}

/// In `user:password@host:port,host:port/database`; a password may hold anything but `/`.
fn hosts(place: &str) -> impl Iterator<Item = &str> {
    let authority = place.split_once('/').map_or(place, |(authority, _)| authority);
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    hosts.split(',').map(|host| match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    })
}

/// This machine: loopback, or a socket in its file system.
fn is_here(host: &str) -> bool {
    host.is_empty()
        || host.eq_ignore_ascii_case("localhost")
        || host.starts_with('/')
        || host.starts_with("%2F")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s7_postgres_on_another_machine_says_how_it_encrypts() {
        for url in [
            "postgres://ada:pw@localhost/app",
            "postgres://127.0.0.1:5432/app",
            "postgres://[::1]/app",
            "postgres:///app",
            "postgres://%2Fvar%2Frun%2Fpostgresql/app",
            "postgres://db/app?sslmode=disable",
            "postgres://db/app?schema=jobs&sslmode=verify-full",
            "redis://cache",
            "sqlite://jobs.db",
            "memory:",
        ] {
            assert!(refuse_silent_plain_text(url).is_ok(), "{url}");
        }
        for url in [
            "postgres://ada:hunter2@db/app",
            "PostgreSQL://10.0.0.7/app",
            "postgres://localhost,db/app",
            "postgres://db/app?sslmode=prefer",
            "postgres://[2001:db8::1]:5432/app",
            "postgres://a:p@localhost@db/app",
        ] {
            let error = refuse_silent_plain_text(url).unwrap_err().to_string();
            assert!(error.contains("sslmode=disable") && !error.contains("hunter2"), "{error}");
        }
    }
}
