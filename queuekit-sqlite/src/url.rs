//! Reads a URL into the settings of a store.

use std::time::Duration;

use queuekit_core::{Error, Result, percent_decoded};

use crate::config::{Create, SqliteConfig, Synchronous};

const SETTINGS: &str = "synchronous=full|normal, create=file|tables|nothing, migrate=on|off, \
                        journal=keep|wal, op_timeout_ms=N";

impl SqliteConfig {
    /// The store of a URL, `sqlite://PATH?setting=value&..`: see [`SqliteStore::connect_url`] for
    /// the settings. In the path, `%XX` is a byte.
    ///
    /// [`SqliteStore::connect_url`]: crate::SqliteStore::connect_url
    ///
    /// # Errors
    /// `Invalid`, naming what is wrong with it.
    pub fn from_url(url: &str) -> Result<Self> {
        parse(url)
    }
}

fn parse(url: &str) -> Result<SqliteConfig> {
    let refuse = |got: &str| {
        let limit = "sqlite://PATH, as in sqlite://jobs.db or sqlite:///var/lib/app/jobs.db";
        Error::invalid("url", limit, got)
    };
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(refuse("a text without a scheme"));
    };
    if !scheme.eq_ignore_ascii_case("sqlite") {
        return Err(refuse("another scheme"));
    }
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let no_byte = || refuse("a path with % and no byte in hex after it");
    let path = percent_decoded(path).ok_or_else(no_byte)?;
    match path.as_str() {
        "" => return Err(refuse("no path")),
        ":memory:" => return Err(refuse("a database in memory; use memory: for that")),
        _ => {}
    }
    let mut settings = query.split('&').filter(|setting| !setting.is_empty());
    settings.try_fold(SqliteConfig::new(path), apply)
}

fn apply(config: SqliteConfig, setting: &str) -> Result<SqliteConfig> {
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let one_of = |yes: &str, no: &str| match value {
        value if value == yes => Ok(true),
        value if value == no => Ok(false),
        _ => Err(Error::invalid("url", format!("{name}={yes} or {name}={no}"), setting)),
    };
    Ok(match name {
        "synchronous" => config.synchronous(Synchronous::parse(value)?),
        "create" => config.create(Create::parse(value)?),
        "migrate" => config.migrate(one_of("on", "off")?),
        "journal" => config.switch_to_wal(one_of("wal", "keep")?),
        "op_timeout_ms" => {
            let millis: u64 = value.parse().map_err(|error| {
                Error::invalid("op_timeout_ms", "whole milliseconds", value).caused_by(error)
            })?;
            config.op_timeout(Duration::from_millis(millis))
        }
        _ => {
            return Err(Error::invalid(
                "url",
                format!("without other settings than {SETTINGS}"),
                name,
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_url_names_a_file_and_its_settings() {
        let config = parse("sqlite://jobs.db").unwrap();
        assert_eq!(config.path, Path::new("jobs.db"));
        assert_eq!(config.synchronous, Synchronous::Full);
        let config =
            parse("sqlite:///var/a%20b%3f.db?synchronous=normal&create=tables&migrate=off");
        let config = config.unwrap();
        assert_eq!(config.path, Path::new("/var/a b?.db"));
        assert_eq!(config.synchronous, Synchronous::Normal);
        assert_eq!((config.create, config.migrate), (Create::Tables, false));
        assert_eq!(parse("SQLITE:jobs.db").unwrap().path, Path::new("jobs.db"));
    }

    #[test]
    fn what_is_wrong_with_a_url_is_named() {
        for (url, wanted) in [
            ("sqlite://", "no path"),
            ("sqlite://:memory:", "use memory:"),
            ("sqlite://a%2", "no byte in hex"),
            ("sqlite://a?sync=full", "synchronous=full|normal"),
            ("sqlite://a?synchronous=off", "full or normal"),
            ("sqlite://a?migrate=no", "migrate=on or migrate=off"),
            ("sqlite://a?op_timeout_ms=1s", "whole milliseconds"),
            ("redis://a", "another scheme"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(wanted), "{url}: {error}");
        }
    }
}
