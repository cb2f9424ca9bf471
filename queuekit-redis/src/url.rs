//! Stores by URL.

use std::time::Duration;

use queuekit_core::{Error, Result};

use crate::config::RedisConfig;

/// The store's own settings are taken out of the URL; the rest is the driver's.
const OWN: [&str; 6] = [
    "prefix",
    "root_certificates",
    "op_timeout_ms",
    "wait_replicas",
    "wait_timeout_ms",
    "allow_volatile",
];

pub(crate) fn parse(url: &str) -> Result<RedisConfig> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let mut settings = Vec::new();
    let mut rest = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (OWN.contains(&name), name) {
            (true, _) => settings.push((name, value)),
            (false, "protocol") => rest.push(pair),
            (false, _) => {
                return Err(Error::invalid("url", "a known setting", format!("{name:?}")));
            }
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    let mut config = RedisConfig::new(format!("{address}{query}"))?;
    let mut wait = (0, Duration::from_secs(1));
    for (name, value) in settings {
        match name {
            "prefix" => config = config.prefix(value)?,
            "root_certificates" => config = config.root_certificates(value),
            "op_timeout_ms" => config = config.op_timeout(millis("op_timeout_ms", value)?),
            "wait_replicas" => wait.0 = number("wait_replicas", value)?,
            "wait_timeout_ms" => wait.1 = millis("wait_timeout_ms", value)?,
            _ => config = config.allow_volatile(on_off("allow_volatile", value)?),
        }
    }
    Ok(config.wait_replicas(wait.0, wait.1))
}

fn on_off(field: &'static str, value: &str) -> Result<bool> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Error::invalid(field, "on or off", format!("{value:?}"))),
    }
}

fn millis(field: &'static str, value: &str) -> Result<Duration> {
    let millis = number(field, value)?;
    if millis == 0 {
        return Err(Error::invalid(field, "a number above 0", "0"));
    }
    Ok(Duration::from_millis(u64::from(millis)))
}

fn number(field: &'static str, value: &str) -> Result<u32> {
    value.parse().map_err(|_| Error::invalid(field, "a number", format!("{value:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_out_and_the_rest_is_the_drivers() {
        let url = "redis://ada:secret@db.example:6390/3?prefix=shop&op_timeout_ms=500\
                   &wait_replicas=1&allow_volatile=on&protocol=resp3";
        let config = parse(url).unwrap();
        assert_eq!(config.server.addr().to_string(), "db.example:6390");
        assert_eq!(config.server.redis_settings().db(), 3);
        assert_eq!((config.prefix.as_str(), config.allow_volatile), ("shop", true));
        assert_eq!(config.wait_replicas, Some((1, Duration::from_secs(1))));
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        let config = parse("redis://ada:secret@db/0").unwrap();
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        let error = parse("redis://ada:secret@db:port/x").unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, named) in [
            ("redis://db/0?prefix={a}", "prefix"),
            ("redis://db/0?op_timeout_ms=0", "op_timeout_ms"),
            ("redis://db/0?allow_volatile=maybe", "on or off"),
            ("redis://db/0?retention=1", "a known setting"),
            ("http://db/0", "redis://"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(named), "{url}: {error}");
        }
    }
}
