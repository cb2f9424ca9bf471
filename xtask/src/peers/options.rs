use crate::error::{Error, Result};
use crate::peers::store::{Alone, Store};

/// How often what is measured, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub store: Store,
    pub rounds: usize,
    /// The stores' files come into it; without it, into the target directory. Not with a server.
    pub directory: Option<String>,
    /// A server that runs already; without it, one is started.
    pub url: Option<String>,
    pub only: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self { store: Store::Sqlite, rounds: 3, directory: None, url: None, only: None }
    }
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut only = None;
        for pair in args.chunks(2) {
            match *pair {
                ["--store", name] => options.store = Store::parse(name)?,
                ["--rounds", number] => options.rounds = rounds(number)?,
                ["--dir", directory] => options.directory = Some(absolute(directory)?),
                ["--url", url] => options.url = Some(url.to_owned()),
                ["--only", what] => only = Some(what),
                _ => return Err(Error::Usage(format!("peers: unexpected `{}`", pair.join(" ")))),
            }
        }
        // After the loop: what makes sense depends on the store, which may come last.
        match options.store {
            Store::Sqlite | Store::Memory if options.url.is_some() => {
                Err(belongs("--url", "postgres or redis"))
            }
            Store::Postgres | Store::Redis if options.directory.is_some() => {
                Err(belongs("--dir", "sqlite"))
            }
            store => {
                options.only = only.map(|what| measured(store, what)).transpose()?;
                Ok(options)
            }
        }
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &'static str> {
        self.store.measured().iter().copied().filter(|what| self.asks_for(what))
    }

    pub(crate) fn alone(&self) -> impl Iterator<Item = &'static Alone> {
        self.store.alone().iter().filter(|alone| self.asks_for(alone.name))
    }

    fn asks_for(&self, what: &str) -> bool {
        self.only.is_none_or(|only| only == what)
    }
}

fn rounds(number: &str) -> Result<usize> {
    let rounds = number.parse().ok().filter(|rounds| *rounds > 0);
    rounds.ok_or_else(|| Error::Usage(format!("peers: `{number}` is no number of rounds")))
}

/// The programs run in the root of the workspace, which need not be where this was typed.
fn absolute(directory: &str) -> Result<String> {
    let absolute = std::path::absolute(directory);
    let absolute = absolute.map_err(|error| Error::Usage(format!("peers: --dir: {error}")))?;
    Ok(absolute.to_string_lossy().into_owned())
}

fn measured(store: Store, what: &str) -> Result<&'static str> {
    let alone = store.alone().iter().map(|alone| alone.name);
    let known: Vec<&str> = store.measured().iter().copied().chain(alone).collect();
    known.iter().copied().find(|known| *known == what).ok_or_else(|| {
        let known = known.join(", ");
        Error::Usage(format!("peers: `{what}` is not measured; what is: {known}"))
    })
}

fn belongs(option: &str, store: &str) -> Error {
    Error::Usage(format!("peers: {option} is for --store {store}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn options_come_in_any_order_and_have_defaults() {
        assert_eq!(parse(""), Ok(Options::default()));
        let options = parse("--only bulk --dir /mnt/disk --rounds 5").unwrap();
        assert_eq!((options.rounds, options.only), (5, Some("bulk")));
        assert!(options.directory.is_some_and(|directory| directory.ends_with("disk")));
        let options = parse("--only idle --url postgres://host/db --store postgres").unwrap();
        assert_eq!((options.store, options.only), (Store::Postgres, Some("idle")));
        assert_eq!(options.url.as_deref(), Some("postgres://host/db"));
    }

    #[test]
    fn everything_is_measured_unless_one_is_asked_for() {
        for (line, store) in [
            ("", Store::Sqlite),
            ("--store postgres", Store::Postgres),
            ("--store redis", Store::Redis),
        ] {
            assert_eq!(parse(line).unwrap().measured().collect::<Vec<_>>(), store.measured());
        }
        assert_eq!(parse("--only bulk").unwrap().measured().collect::<Vec<_>>(), ["bulk"]);
    }

    #[test]
    fn what_only_ours_measures_is_asked_for_like_the_rest() {
        let names = |line: &str| parse(line).unwrap().alone().map(|alone| alone.name).collect();
        let (all, one): (Vec<_>, Vec<_>) =
            (names("--store redis"), names("--store redis --only drain-fair"));
        assert_eq!((all, one), (vec!["drain-keyed", "drain-fair"], vec!["drain-fair"]));
        assert_eq!(parse("--store redis --only drain-fair").unwrap().measured().count(), 0);
    }

    #[test]
    fn what_makes_no_sense_is_wrong_usage() {
        for line in [
            "--rounds",
            "--rounds 0",
            "--rounds x",
            "--only all",
            "--fast yes",
            "5",
            "--store files",
            "--store redis --dir d",
            "--only drain-fair",
            "--url postgres://host",
            "--store postgres --dir d",
            "--store postgres --only enqueue64",
            "--only idle --store sqlite",
        ] {
            let answer = parse(line);
            assert!(matches!(answer, Err(Error::Usage(_))), "{line}: {answer:?}");
        }
    }
}
