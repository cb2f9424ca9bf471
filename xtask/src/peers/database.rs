use std::path::Path;

use crate::error::{Error, Result};
use crate::peers::output::output;
use crate::peers::postgres::Postgres;

/// An empty database of a server, dropped when it is no longer needed.
#[derive(Debug)]
pub(crate) struct Database<'a> {
    programs: &'a Postgres,
    /// The URL of an existing database, from which others are created and dropped.
    server: &'a str,
    name: String,
    url: String,
}

impl<'a> Database<'a> {
    pub(crate) fn create(programs: &'a Postgres, server: &'a str) -> Result<Self> {
        let name = format!("queuekit_peers_{}", std::process::id());
        let url = with_database(server, &name)?;
        run(programs, server, &format!("CREATE DATABASE {name}"))?;
        Ok(Self { programs, server, name, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// The server makes a checkpoint of it, so that each measurement begins right after one.
impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A program that failed may have left connections.
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        if let Err(error) = run(self.programs, self.server, &drop) {
            eprintln!("WARNING: the database {} is left behind: {error}", self.name);
        }
    }
}

fn run(programs: &Postgres, server: &str, sql: &str) -> Result<()> {
    output(Path::new("."), &programs.statement(server, sql)).map(|_| ())
}

/// The URL of another database of the same server.
fn with_database(url: &str, name: &str) -> Result<String> {
    let wrong = || Error::Usage(format!("peers: --url: `{url}` is not like postgres://host/name"));
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    if !["postgres", "postgresql"].contains(&scheme) {
        return Err(wrong());
    }
    let (place, parameters) = match rest.split_once('?') {
        Some((place, parameters)) => (place, format!("?{parameters}")),
        None => (rest, String::new()),
    };
    let host = place.split_once('/').map_or(place, |(host, _)| host);
    Ok(format!("{scheme}://{host}/{name}{parameters}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_database_changes() {
        for (url, expected) in [
            ("postgres://a:b@h:5432/old", "postgres://a:b@h:5432/new"),
            ("postgres://h", "postgres://h/new"),
            ("postgresql:///old?host=/run", "postgresql:///new?host=/run"),
            ("postgres://h?sslmode=require", "postgres://h/new?sslmode=require"),
        ] {
            assert_eq!(with_database(url, "new"), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn what_is_no_url_of_a_server_is_wrong_usage() {
        for url in ["h/old", "mysql://h/old", ""] {
            let answer = with_database(url, "new");
            assert!(matches!(answer, Err(Error::Usage(_))), "{url}: {answer:?}");
        }
    }
}
