use super::Result;
use super::environment::{variable, words};

const VARIABLE: &str = "QUEUEKIT_TEST_SERVERS";

/// Where a server comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It ran before, and its URL was given.
    Url,
    /// It is a program of this machine, started for this process.
    Local,
    /// It runs in a container that was started for this process.
    Docker,
}

impl Source {
    /// What is given comes first. Programs come before containers, because they start in half the
    /// time and need neither a daemon nor an image.
    const DEFAULT: [Self; 3] = [Self::Url, Self::Local, Self::Docker];

    /// As it is called in the variable.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Local => "local",
            Self::Docker => "docker",
        }
    }

    /// Where to look, and in which order.
    pub(super) fn order() -> Result<Vec<Self>> {
        variable(VARIABLE).map_or_else(|| Ok(Self::DEFAULT.to_vec()), |list| parse(&list))
    }
}

fn parse(list: &str) -> Result<Vec<Source>> {
    let source = |word: &str| {
        let found = Source::DEFAULT.into_iter().find(|source| source.name() == word);
        found.ok_or_else(|| format!("{VARIABLE}: `{word}` is none of `url`, `local`, `docker`"))
    };
    words(list).map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_an_order_and_may_leave_some_out() {
        assert_eq!(parse("docker, url"), Ok(vec![Source::Docker, Source::Url]));
        assert_eq!(parse("local"), Ok(vec![Source::Local]));
    }

    #[test]
    fn a_word_that_is_no_source_is_refused_with_those_that_are() {
        let error = parse("local,podman").unwrap_err();
        assert_eq!(error, "QUEUEKIT_TEST_SERVERS: `podman` is none of `url`, `local`, `docker`");
    }
}
