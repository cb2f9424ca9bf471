//! Refuses URLs of stores that would send passwords and payloads over a network in plain text,
//! unless the URL asks for that.

use anyhow::{Result, bail};
use queuekit::postgres::tokio_postgres::Config;
use queuekit::postgres::tokio_postgres::config::Host;
use queuekit::store::percent_decoded;

use crate::loopback::{is_this_host, is_this_machine};

/// Checks the URL of a store on another machine: for Postgres it must say how the connection is
/// encrypted, for Redis that it is not.
///
/// # Errors
/// If the URL does not say whether the connection is encrypted.
pub(crate) fn refuse_silent_plain_text(url: &str) -> Result<()> {
    let Some((scheme, rest)) = url.split_once("://") else { return Ok(()) };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let settings = Settings::of(query);
    // If a setting is given twice, the last one counts.
    let says = settings.all("sslmode").last().is_some_and(|mode| mode != "prefer");
    match scheme.to_ascii_lowercase().as_str() {
        _ if says => Ok(()),
        "postgres" | "postgresql" => postgres(&settings.servers(place)),
        "redis" | "valkey" | "redis-cluster" | "redis-sentinel" => redis(place),
        _ => Ok(()),
    }
}

fn postgres(servers: &[Config]) -> Result<()> {
    if servers.iter().all(is_here) {
        return Ok(());
    }
    bail!(
        "the URL of the store does not say whether the connection is encrypted: add \
         sslmode=verify-full, or sslmode=require if the server's certificate is self-signed, or \
         sslmode=disable on a network that you trust"
    )
}

/// The hosts of a URL; a Cluster or sentinels have several.
fn redis(place: &str) -> Result<()> {
    let authority = place.split_once('/').map_or(place, |(authority, _)| authority);
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    if hosts.split(',').all(|host| is_this_host(without_port(host))) {
        return Ok(());
    }
    bail!(
        "the URL of the store would send passwords and payloads to another machine in plain \
         text: use rediss: (docs/redis.md, Encryption), or add sslmode=disable on a network that \
         you trust"
    )
}

fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(address) => address.split_once(']').map_or(address, |(address, _)| address),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    }
}

/// The settings of a URL: names, and values as they are written.
struct Settings<'a>(Vec<(String, &'a str)>);

impl<'a> Settings<'a> {
    fn of(query: &'a str) -> Self {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        Self(pairs.filter_map(|(name, value)| Some((percent_decoded(name)?, value))).collect())
    }

    fn all(&self, wanted: &str) -> impl Iterator<Item = String> {
        let of_name = self.0.iter().filter(move |(name, _)| name == wanted);
        of_name.filter_map(|(_, value)| percent_decoded(value))
    }

    /// The server of the store, and the one that it listens to for new jobs, as the driver parses
    /// them. What the driver cannot parse it refuses when the store is opened.
    fn servers(&self, place: &str) -> Vec<Config> {
        let is_host = |(name, _): &&(String, &str)| ["host", "hostaddr"].contains(&name.as_str());
        let hosts = self.0.iter().filter(is_host).map(|(name, value)| format!("{name}={value}"));
        let hosts: Vec<_> = hosts.collect();
        let own = format!("postgres://{place}?{}", hosts.join("&"));
        [own].into_iter().chain(self.all("listen")).filter_map(|url| url.parse().ok()).collect()
    }
}

/// Whether a server is on this machine: loopback, or a Unix socket.
fn is_here(server: &Config) -> bool {
    let hosts = server.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => name.is_empty() || is_this_host(name),
        #[cfg(unix)]
        Host::Unix(_) => true,
    });
    hosts && server.get_hostaddrs().iter().all(|address| is_this_machine(*address))
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
            "postgres:///app?host=/var/run/postgresql",
            "postgres:///app?host=localhost&hostaddr=127.0.0.1",
            "postgres://localhost/app?listen=off",
            "postgres://localhost/app?listen=postgres%3A%2F%2F127.0.0.1%3A5433%2Fapp",
            "postgres://a@[::ffff:127.0.0.1]/app",
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
            "postgres:///app?host=db",
            "postgres://localhost/app?host=db",
            "postgres://localhost/app?%68ost=10.0.0.7",
            "postgres://localhost/app?hostaddr=10.0.0.7",
            "postgres://localhost/app?listen=postgres%3A%2F%2Fada%3Ahunter2%40db%2Fapp",
            "postgres://localhost/app?listen=host%3Ddb",
            "postgres://db/app?sslmode=require&sslmode=prefer",
        ] {
            let error = refuse_silent_plain_text(url).unwrap_err().to_string();
            assert!(error.contains("sslmode=disable") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn s7_redis_on_another_machine_is_encrypted_or_says_that_it_is_not() {
        for url in [
            "redis://localhost",
            "redis://ada:pw@127.0.0.1:6379/0?prefix=shop",
            "redis://[::1]:6379",
            "redis-cluster://127.0.0.1:7000,localhost:7001",
            "redis-sentinel://localhost:26379/shop/0",
            "redis+unix:///run/redis.sock",
            "unix:///run/redis.sock",
            "rediss://cache",
            "rediss-cluster://one,two",
            "redis://cache?sslmode=disable",
            "redis-sentinel://one,two/shop?sslmode=disable",
        ] {
            assert!(refuse_silent_plain_text(url).is_ok(), "{url}");
        }
        for url in [
            "redis://cache",
            "REDIS://ada:hunter2@cache:6379/0",
            "valkey://10.0.0.7",
            "redis://[2001:db8::1]:6379",
            "redis://a:p@localhost@cache",
            "redis://cache?sslmode=prefer",
            "redis-cluster://127.0.0.1:7000,two:7001",
            "redis-sentinel://:hunter2@localhost,two/shop",
        ] {
            let error = refuse_silent_plain_text(url).unwrap_err().to_string();
            assert!(error.contains("sslmode=disable") && !error.contains("hunter2"), "{error}");
        }
    }
}
