//! Stores by URL.

use std::time::Duration;

use queuekit_core::{Error, Result, percent_decoded};

use crate::address::Address;
use crate::config::{Found, RedisConfig};

/// The settings that are taken out of the URL. The driver's own are not among them: one would
/// select another protocol, which the store does not know.
const SETTINGS: [&str; 10] = [
    "prefix",
    "sslmode",
    "root_certificates",
    "op_timeout_ms",
    "wait_replicas",
    "wait_timeout_ms",
    "migrate",
    "allow_volatile",
    "sentinel_user",
    "sentinel_password",
];

/// The default port of sentinels.
const SENTINEL_PORT: u16 = 26_379;

impl RedisConfig {
    /// The store of a URL: see [`RedisStore::connect_url`] for its settings.
    ///
    /// [`RedisStore::connect_url`]: crate::RedisStore::connect_url
    ///
    /// # Errors
    /// `Invalid`, naming what is wrong with it.
    pub fn from_url(url: &str) -> Result<Self> {
        parse(url)
    }
}

fn parse(url: &str) -> Result<RedisConfig> {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    if query.contains('@') {
        // The text before it may be the rest of a password, so it is not shown.
        let limit = "%3F for a ? in user or password, and %40 for an @ in a setting";
        return Err(Error::invalid("url", limit, "an @ behind the ?"));
    }
    if url.contains('#') {
        let limit = "with %23 for a #; there is no #insecure: certificates are always checked";
        return Err(Error::invalid("url", limit, "a #"));
    }
    let mut settings = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !SETTINGS.contains(&name) {
            return Err(Error::invalid("url", "a known setting", format!("{name:?}")));
        }
        settings.push((name, value));
    }
    let mut config = servers(address, &settings)?;
    let mut wait = (0, Duration::from_secs(1));
    // The settings of sentinels have become part of a URL, which the driver decodes.
    for (name, value) in settings.into_iter().filter(|(name, _)| !name.starts_with("sentinel_")) {
        let refuse = || Error::invalid("url", "UTF-8 text, with % written as %25", name);
        let value = &*percent_decoded(value).ok_or_else(refuse)?;
        match name {
            "prefix" => config = config.prefix(value)?,
            "sslmode" => check_encryption(address, value)?,
            "root_certificates" => config = config.root_certificates(value),
            "op_timeout_ms" => config = config.op_timeout(millis("op_timeout_ms", value)?),
            "wait_replicas" => wait.0 = number("wait_replicas", value)?,
            "wait_timeout_ms" => wait.1 = millis("wait_timeout_ms", value)?,
            "migrate" => config = config.migrate(on_off("migrate", value)?),
            "allow_volatile" => config = config.allow_volatile(on_off("allow_volatile", value)?),
            _ => {}
        }
    }
    Ok(config.wait_replicas(wait.0, wait.1))
}

/// The scheme decides whether connections are encrypted. A setting may repeat it, for programs that
/// always set one.
fn check_encryption(address: &str, mode: &str) -> Result<()> {
    let scheme = address.split_once("://").map_or(address, |(scheme, _)| scheme);
    let plain = !["rediss", "valkeys"].iter().any(|encrypted| scheme.starts_with(encrypted));
    match (mode, plain) {
        ("disable", true) | ("verify-full", false) => Ok(()),
        _ => {
            let limit = "sslmode=disable with redis:, sslmode=verify-full with rediss:";
            Err(Error::invalid("sslmode", limit, format!("{mode:?}")))
        }
    }
}

/// The driver knows URLs of one server, so several servers are given to it one by one.
fn servers(address: &str, settings: &[(&str, &str)]) -> Result<RedisConfig> {
    let (scheme, rest) = address.split_once("://").unwrap_or((address, ""));
    let (driver, kind) = match scheme.split_once('-') {
        Some((driver @ ("redis" | "rediss"), kind @ ("cluster" | "sentinel"))) => (driver, kind),
        _ => return RedisConfig::new(address),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let one = |user: &str, host: &str, database: &str| {
        let at = if user.is_empty() { "" } else { "@" };
        RedisConfig::new(format!("{driver}://{user}{at}{host}/{database}"))
    };
    let hosts: Vec<&str> = hosts.split(',').collect();
    if kind == "cluster" {
        let mut all = hosts.iter().map(|host| one(user, host, path)).collect::<Result<Vec<_>>>()?;
        let mut config = all.remove(0);
        let more = all.iter().filter_map(|config| Address::of(&config.server));
        config.found = Found::Cluster(more.collect());
        return Ok(config);
    }
    let (master, database) = path.split_once('/').unwrap_or((path, ""));
    if master.is_empty() {
        let limit = "redis-sentinel://HOST:PORT,HOST:PORT/NAME_OF_THE_MASTER";
        return Err(Error::invalid("url", limit, "no name of a master"));
    }
    let secret = sentinel_user(settings);
    let with_port = |host: &&str| match host.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => (*host).to_owned(),
        _ => format!("{host}:{SENTINEL_PORT}"),
    };
    let hosts: Vec<String> = hosts.iter().map(with_port).collect();
    let sentinel = |host: &String| Ok(one(&secret, host, "")?.server);
    let sentinels = hosts.iter().map(sentinel).collect::<Result<Vec<_>>>()?;
    let mut config = one(user, &hosts[0], database)?;
    config.found = Found::Sentinels { sentinels, master: master.to_owned() };
    Ok(config)
}

/// The user and password of sentinels, in the form of a URL before the host.
fn sentinel_user(settings: &[(&str, &str)]) -> String {
    let value = |name| settings.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    match (value("sentinel_user"), value("sentinel_password")) {
        (None, None) => String::new(),
        (user, password) => {
            format!("{}:{}", user.unwrap_or_default(), password.unwrap_or_default())
        }
    }
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
    fn settings_stand_behind_the_address() {
        let url = "redis://ada:secret@db.example:6390/3?prefix=shop&op_timeout_ms=500\
                   &wait_replicas=1&allow_volatile=on";
        let config = parse(url).unwrap();
        assert_eq!(config.server.addr().to_string(), "db.example:6390");
        assert_eq!(config.server.redis_settings().db(), 3);
        assert_eq!((config.prefix.as_str(), config.allow_volatile), ("shop", true));
        assert_eq!(config.wait_replicas, Some((1, Duration::from_secs(1))));
    }

    #[test]
    fn nodes_of_a_cluster_are_separated_by_commas() {
        let config = parse("rediss-cluster://ada:secret@one:7000,two:7001?prefix=shop").unwrap();
        assert_eq!(config.server.addr().to_string(), "one:7000");
        let Found::Cluster(more) = &config.found else { panic!("no Cluster") };
        assert_eq!(*more, [Address::new("two", 7001)]);
        assert_eq!(config.server.redis_settings().password(), Some("secret"));
        assert_eq!(config.prefix, "shop");
    }

    #[test]
    fn sentinels_are_told_apart_from_the_master_they_know() {
        let url = "redis-sentinel://:secret@one:5000,two/shop/3?sentinel_password=other";
        let config = parse(url).unwrap();
        let Found::Sentinels { sentinels, master } = &config.found else { panic!("none") };
        assert_eq!(master, "shop");
        let shown: Vec<String> = sentinels.iter().map(|one| one.addr().to_string()).collect();
        assert_eq!(shown, ["one:5000", "two:26379"]);
        let password = |server: &redis::ConnectionInfo| {
            server.redis_settings().password().map(ToOwned::to_owned)
        };
        assert_eq!(password(&sentinels[1]).as_deref(), Some("other"));
        assert_eq!(password(&config.server).as_deref(), Some("secret"));
        assert_eq!(config.server.redis_settings().db(), 3);
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        let config = parse("redis://ada:secret@db/0").unwrap();
        assert!(!format!("{config:?}").contains("secret"), "{config:?}");
        let error = parse("redis://ada:secret@db:port/x").unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
        let error = parse("redis://ada:a?secret&secret=secret@db/0").unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
        assert!(error.to_string().contains("%3F"), "{error}");
    }

    #[test]
    fn a_percent_sign_in_a_setting_stands_for_a_byte() {
        let config = parse("rediss://db/0?root_certificates=/etc/a%20b%23%40.pem").unwrap();
        let file = config.root_certificates.unwrap();
        assert_eq!(file, std::path::Path::new("/etc/a b#@.pem"));
    }

    #[test]
    fn no_url_turns_the_check_of_certificates_off() {
        for url in [
            "rediss://ada:secret@db/#insecure",
            "rediss://ada:secret@db/0#insecure?prefix=shop",
            "rediss://ada:secret@db/0?prefix=shop#insecure",
            "rediss://ada:secret@db/0?root_certificates=/etc/a.pem#insecure",
            "rediss-cluster://ada:secret@one,two/#insecure",
            "rediss-sentinel://ada:secret@one,two/shop/0#insecure",
            "rediss-sentinel://ada:secret@one,two/shop#insecure",
            "valkeys://ada:secret@db/#insecure",
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.to_string().contains("no #insecure"), "{url}: {error}");
            assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
        }
        let error = RedisConfig::new("rediss://db/#insecure").unwrap_err();
        assert!(error.to_string().contains("without #insecure"), "{error}");
    }

    #[test]
    fn that_nothing_is_encrypted_can_be_said() {
        assert!(parse("redis-cluster://one,two?sslmode=disable").is_ok());
        assert!(parse("rediss://db/0?sslmode=verify-full").is_ok());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, named) in [
            ("redis://db/0?prefix={a}", "prefix"),
            ("redis://db/0?op_timeout_ms=0", "op_timeout_ms"),
            ("redis://db/0?allow_volatile=maybe", "on or off"),
            ("redis://db/0?retention=1", "a known setting"),
            ("redis://db/0?protocol=resp3", "a known setting"),
            ("http://db/0", "redis://"),
            ("redis-sentinel://db", "NAME_OF_THE_MASTER"),
            ("redis-cluster://", "redis://"),
            ("redis://db/0?prefix=%", "written as %25"),
            ("redis://db/0?sslmode=require", "sslmode=disable with redis:"),
            ("redis://db/0?sslmode=verify-full", "verify-full with rediss:"),
            ("rediss://db/0?sslmode=disable", "verify-full with rediss:"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(named), "{url}: {error}");
        }
    }
}
