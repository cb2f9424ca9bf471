//! Stores by URL.

use std::time::Duration;

use queuekit_core::{Error, Result, percent_decoded};
use tokio_postgres::config::SslMode;

use crate::config::{Listen, PostgresConfig, Prepared, Schema, SettleDurability, Tls};

impl PostgresConfig {
    /// The store of a URL: see [`PostgresStore::connect_url`] for its settings.
    ///
    /// [`PostgresStore::connect_url`]: crate::PostgresStore::connect_url
    ///
    /// # Errors
    /// `Invalid`, naming what is wrong with it.
    pub fn from_url(url: &str) -> Result<Self> {
        parse(url)
    }
}

/// Takes the store's settings out of the URL; the driver parses the rest.
fn parse(url: &str) -> Result<PostgresConfig> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let mut settings = Vec::new();
    let mut rest = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match OWN.contains(&name) {
            true => settings.push((name, decode(value)?)),
            false => rest.push(pair),
        }
    }
    let mut config = PostgresConfig::new(server(address, &rest)?);
    if config.server.get_ssl_mode() == SslMode::Disable {
        config.tls = Tls::Disable;
    }
    for (name, value) in settings {
        config = set(config, name, &value)?;
    }
    Ok(config)
}

const OWN: [&str; 12] = [
    "schema",
    "prepared",
    "listen",
    "settle",
    "pool_size",
    "op_timeout_ms",
    "statement_timeout_ms",
    "lock_timeout_ms",
    "migrate",
    "allow_volatile",
    "sslmode",
    "sslrootcert",
];

fn server(address: &str, rest: &[&str]) -> Result<tokio_postgres::Config> {
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    // No error contains the text of the URL: it may have a password.
    format!("{address}{query}").parse().map_err(|error: tokio_postgres::Error| {
        let limit = "postgres://USER:PASSWORD@HOST:PORT/DATABASE?setting=value";
        Error::invalid("url", limit, "something else").caused_by(error)
    })
}

fn set(config: PostgresConfig, name: &str, value: &str) -> Result<PostgresConfig> {
    Ok(match name {
        "schema" => PostgresConfig { schema: Schema::new(value)?, ..config },
        "prepared" => config.prepared(one_of(
            "prepared",
            value,
            &[("auto", Prepared::Auto), ("off", Prepared::Off)],
        )?),
        "listen" if value == "off" => config.listen(Listen::Off),
        "listen" => config.listen(Listen::At(Box::new(server(value, &[])?))),
        "settle" => config.settle(one_of(
            "settle",
            value,
            &[("database", SettleDurability::Database), ("relaxed", SettleDurability::Relaxed)],
        )?),
        "pool_size" => config.pool_size(number("pool_size", value)? as usize),
        "op_timeout_ms" => config.op_timeout(millis("op_timeout_ms", value)?),
        "statement_timeout_ms" => config.statement_timeout(millis("statement_timeout_ms", value)?),
        "lock_timeout_ms" => config.lock_timeout(millis("lock_timeout_ms", value)?),
        "migrate" => config.migrate(on_off("migrate", value)?),
        "allow_volatile" => config.allow_volatile(on_off("allow_volatile", value)?),
        "sslmode" => config.tls(one_of(
            "sslmode",
            value,
            &[
                ("disable", Tls::Disable),
                ("prefer", Tls::Prefer),
                ("require", Tls::Require),
                ("verify-full", Tls::VerifyFull),
            ],
        )?),
        "sslrootcert" => config.root_certificates(value),
        _ => return Err(Error::invalid("url", "a known setting", format!("{name:?}"))),
    })
}

fn one_of<T: Copy>(field: &'static str, value: &str, choices: &[(&str, T)]) -> Result<T> {
    let chosen = choices.iter().find(|(name, _)| *name == value);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        Error::invalid(field, names.join(" or "), format!("{value:?}"))
    })
}

fn on_off(field: &'static str, value: &str) -> Result<bool> {
    one_of(field, value, &[("on", true), ("off", false)])
}

fn millis(field: &'static str, value: &str) -> Result<Duration> {
    number(field, value).map(|millis| Duration::from_millis(u64::from(millis)))
}

fn number(field: &'static str, value: &str) -> Result<u32> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Error::invalid(field, "a number above 0", format!("{value:?}")))
}

fn decode(text: &str) -> Result<String> {
    let limit = "UTF-8 text, with % written as %25";
    percent_decoded(text).ok_or_else(|| Error::invalid("url", limit, "something else"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_out_and_the_rest_is_the_drivers() {
        let url = "postgres://ada:secret@db.example:6432/app?schema=jobs&prepared=off\
                   &application_name=shop&sslmode=verify-full&listen=postgres%3A%2F%2Fdb%2Fapp";
        let config = parse(url).unwrap();
        assert_eq!(config.schema.as_str(), "jobs");
        assert_eq!(config.prepared, Prepared::Off);
        assert_eq!(config.tls, Tls::VerifyFull);
        assert_eq!(config.server.get_application_name(), Some("shop"));
        assert_eq!(config.server.get_ports(), [6432]);
        assert!(matches!(config.listen, Listen::At(_)));
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        let config = parse("postgres://ada:secret@db/app").unwrap();
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        let error = parse("postgres://ada:secret@db:port/app").unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, named) in [
            ("postgres://db/app?schema=Jobs", "schema"),
            ("postgres://db/app?prepared=maybe", "auto or off"),
            ("postgres://db/app?pool_size=0", "pool_size"),
            ("postgres://db/app?sslmode=allow", "verify-full"),
            ("http://db/app", "postgres://"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(named), "{url}: {error}");
        }
    }
}
