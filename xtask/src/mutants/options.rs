use std::time::Duration;

use crate::error::{Error, Result};

const CHANGED_SINCE: &str = "--changed=";

/// What `cargo xtask mutants` is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Every store when there is none.
    pub store: Option<Store>,
    /// Only mutants of files that have changed since then.
    pub changed: Option<Since>,
    /// Only mutants whose name or file contains one of these, if there are any.
    pub only: Vec<String>,
    /// Only the cases of the guard's own rule are run: quicker, and stricter.
    pub own_rule: bool,
    /// No mutant is begun after this time.
    pub within: Option<Duration>,
    /// cargo-mutants over core and worker, and no store.
    pub units: bool,
}

/// What the tree is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// Where this branch left the one it is to land on.
    Branch,
    Revision(String),
}

/// A store whose guards are taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
    Redis,
}

impl Store {
    pub(crate) const ALL: [Self; 3] = [Self::Sqlite, Self::Redis, Self::Postgres];

    /// Its test program, its list, and the word by which tests require its server.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
        }
    }
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || {
                let missing = || Error::Usage(format!("mutants: `{arg}` needs a value"));
                args.next().ok_or_else(missing)
            };
            let is_twice = match *arg {
                "--changed" => options.changed.replace(Since::Branch).is_some(),
                _ if arg.starts_with(CHANGED_SINCE) => {
                    let revision = arg[CHANGED_SINCE.len()..].to_owned();
                    options.changed.replace(Since::Revision(revision)).is_some()
                }
                "--store" => options.store.replace(store(value()?)?).is_some(),
                "--only" => {
                    options.only.push((*value()?).to_owned());
                    false
                }
                "--within" => options.within.replace(minutes(value()?)?).is_some(),
                "--own-rule" => std::mem::replace(&mut options.own_rule, true),
                "--units" => std::mem::replace(&mut options.units, true),
                _ => return Err(Error::Usage(format!("mutants: unexpected `{arg}`"))),
            };
            if is_twice {
                return Err(Error::Usage(format!("mutants: `{arg}` is there twice")));
            }
        }
        Ok(options)
    }
}

fn minutes(text: &str) -> Result<Duration> {
    let minutes: u64 = text
        .parse()
        .map_err(|_| Error::Usage(format!("mutants: `{text}` is no number of minutes")))?;
    Ok(Duration::from_secs(minutes * 60))
}

fn store(name: &str) -> Result<Store> {
    let found = Store::ALL.into_iter().find(|store| store.name() == name);
    found.ok_or_else(|| Error::Usage(format!("mutants: there is no store `{name}` with a list")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_read_once() {
        let line = "--changed --store redis --only ack --own-rule --only key --within 3";
        let args: Vec<&str> = line.split(' ').collect();
        let options = Options {
            store: Some(Store::Redis),
            changed: Some(Since::Branch),
            only: vec!["ack".to_owned(), "key".to_owned()],
            own_rule: true,
            within: Some(Duration::from_secs(180)),
            units: false,
        };
        assert_eq!(Options::parse(&args), Ok(options));
        assert_eq!(Options::parse(&[]), Ok(Options::default()));
        let since = Options::parse(&["--changed=v1.0"]).unwrap().changed;
        assert_eq!(since, Some(Since::Revision("v1.0".to_owned())));
        let wrong: [&[&str]; 7] = [
            &["--within", "soon"],
            &["--store"],
            &["--store", "memory"],
            &["--changed", "--changed"],
            &["--changed", "--changed=v1.0"],
            &["--only"],
            &["--all"],
        ];
        for args in wrong {
            assert!(matches!(Options::parse(args), Err(Error::Usage(_))), "{args:?}");
        }
    }
}
