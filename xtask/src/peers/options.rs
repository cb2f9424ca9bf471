use crate::error::{Error, Result};
use crate::peers::MEASURED;

/// How often what is measured, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub rounds: usize,
    /// The stores' files come into it; without it, into the target directory.
    pub directory: Option<String>,
    pub only: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self { rounds: 3, directory: None, only: None }
    }
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        for pair in args.chunks(2) {
            match *pair {
                ["--rounds", number] => options.rounds = rounds(number)?,
                ["--dir", directory] => options.directory = Some(absolute(directory)?),
                ["--only", what] => options.only = Some(measured(what)?),
                _ => return Err(Error::Usage(format!("peers: unexpected `{}`", pair.join(" ")))),
            }
        }
        Ok(options)
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &'static str> {
        MEASURED.iter().copied().filter(|what| self.only.is_none_or(|only| only == *what))
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

fn measured(what: &str) -> Result<&'static str> {
    MEASURED.iter().copied().find(|known| *known == what).ok_or_else(|| {
        let known = MEASURED.join(", ");
        Error::Usage(format!("peers: `{what}` is not measured; what is: {known}"))
    })
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
    }

    #[test]
    fn everything_is_measured_unless_one_is_asked_for() {
        assert_eq!(parse("").unwrap().measured().count(), MEASURED.len());
        assert_eq!(parse("--only bulk").unwrap().measured().collect::<Vec<_>>(), ["bulk"]);
    }

    #[test]
    fn what_makes_no_sense_is_wrong_usage() {
        for line in ["--rounds", "--rounds 0", "--rounds x", "--only all", "--fast yes", "5"] {
            let answer = parse(line);
            assert!(matches!(answer, Err(Error::Usage(_))), "{line}: {answer:?}");
        }
    }
}
