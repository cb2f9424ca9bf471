use super::Hunt;
use crate::error::{Error, Result};

/// How tests are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The long harnesses at their full numbers.
    pub long: bool,
    /// What is missing is installed by way of sudo.
    pub install: bool,
    /// What tests need and is not here fails the run, and is not skipped.
    pub complete: bool,
    /// Lints what is built.
    pub lint: bool,
    /// Only what can break by what has changed since this revision.
    pub changed: Option<String>,
    /// The test programs again and again, and nothing else.
    pub hunt: Option<Hunt>,
    /// Only these test programs, if any are named.
    pub only: Vec<String>,
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let (mut rounds, mut beside) = (None, None);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().copied().unwrap_or_default();
            let number = |value: &str| {
                let needs = |_| Error::Usage(format!("test: `{arg}` needs a number"));
                value.parse::<usize>().map_err(needs)
            };
            let twice = match arg.split_once('=').map_or((*arg, None), |(a, b)| (a, Some(b))) {
                ("--long", None) => std::mem::replace(&mut options.long, true),
                ("--install", None) => std::mem::replace(&mut options.install, true),
                ("--repeat", None) => rounds.replace(number(value())?).is_some(),
                ("--beside", None) => beside.replace(number(value())?).is_some(),
                ("--only", None) => {
                    options.only.push(value().to_owned());
                    false
                }
                ("--changed", since) => {
                    options.changed.replace(since.unwrap_or("HEAD").to_owned()).is_some()
                }
                _ => return Err(Error::Usage(format!("test: unexpected `{arg}`"))),
            };
            if twice {
                return Err(Error::Usage(format!("test: `{arg}` is there twice")));
            }
        }
        options.hunt = match (rounds, beside) {
            (Some(1..), _) if options.changed.is_some() => {
                return Err(Error::Usage("test: `--repeat` runs all, not `--changed`".to_owned()));
            }
            (Some(rounds @ 1..), beside) => {
                Some(Hunt { rounds, beside: beside.unwrap_or_default() })
            }
            (None, None) => None,
            _ => return Err(Error::Usage("test: `--repeat` is how often, 1 or more".to_owned())),
        };
        if options.hunt.is_none() && !options.only.is_empty() {
            return Err(Error::Usage("test: `--only` needs `--repeat`".to_owned()));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_since_the_last_commit_or_since_what_is_named() {
        let changed = |args: &[&str]| Options::parse(args).unwrap().changed;
        assert_eq!(changed(&[]), None);
        assert_eq!(changed(&["--changed"]).as_deref(), Some("HEAD"));
        assert_eq!(changed(&["--changed=main"]).as_deref(), Some("main"));
        assert!(Options::parse(&["--changed", "--changed=main"]).is_err());
        assert!(Options::parse(&["--long=HEAD~1"]).is_err());
    }

    #[test]
    fn a_hunt_has_rounds_and_perhaps_a_load_beside() {
        let hunt = |line: &str| {
            let args: Vec<&str> = line.split(' ').collect();
            Options::parse(&args).map(|options| options.hunt)
        };
        let rounds = |rounds, beside| Ok(Some(Hunt { rounds, beside }));
        assert_eq!(hunt("--repeat 10 --beside 2"), rounds(10, 2));
        assert_eq!(hunt("--repeat 3"), rounds(3, 0));
        for line in ["--repeat 0", "--repeat", "--beside 2", "--repeat x", "--repeat 2 --changed"] {
            assert!(hunt(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_hunt_can_be_of_some_programs() {
        let only = |line: &str| {
            let args: Vec<&str> = line.split(' ').collect();
            Options::parse(&args).map(|options| options.only)
        };
        let two = Ok(vec!["sqlite".to_owned(), "redis".to_owned()]);
        assert_eq!(only("--only sqlite --repeat 1 --only redis"), two);
        assert!(only("--only sqlite").is_err());
    }
}
