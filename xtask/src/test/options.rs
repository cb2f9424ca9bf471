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
    /// Only what can break by what has changed since this revision.
    pub changed: Option<String>,
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        for arg in args {
            let twice = match arg.split_once('=').map_or((*arg, None), |(a, b)| (a, Some(b))) {
                ("--long", None) => std::mem::replace(&mut options.long, true),
                ("--install", None) => std::mem::replace(&mut options.install, true),
                ("--changed", since) => {
                    options.changed.replace(since.unwrap_or("HEAD").to_owned()).is_some()
                }
                _ => return Err(Error::Usage(format!("test: unexpected `{arg}`"))),
            };
            if twice {
                return Err(Error::Usage(format!("test: `{arg}` is there twice")));
            }
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
}
