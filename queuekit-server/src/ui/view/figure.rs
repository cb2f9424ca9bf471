//! Numbers and statuses, as they are written on every page.

use std::fmt;

use askama::Template;

use super::parts;

/// How many there are: `12,345`, or `~12,345` if the store estimates it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) value: u64,
    /// Whether it is not exact.
    pub(crate) about: bool,
}

/// The status of a job, or a state of something else, as a word with its shape.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "parts/mark.html")]
pub(crate) struct Mark {
    /// A status of jobs, or one of `ok`, `warning`, `error`, `info`, `paused`.
    pub(crate) shape: &'static str,
    pub(crate) word: String,
}

/// Health of a queue: 0 to 100, with a sentence for each cause of lost points.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/health.html")]
pub(crate) struct Health {
    pub(crate) score: u8,
    /// Without the points: `2 of the last 20 ended jobs died`.
    pub(crate) reasons: Vec<String>,
}

parts!(Count, Mark, Health);

impl Count {
    pub(crate) const fn exact(value: u64) -> Self {
        Self { value, about: false }
    }

    pub(crate) const fn about(value: u64) -> Self {
        Self { value, about: true }
    }

    pub(crate) const fn is_zero(&self) -> bool {
        self.value == 0
    }

    /// The same, from a million on in millions: `1.77M`.
    pub(crate) fn brief(&self) -> String {
        let about = if self.about { "~" } else { "" };
        match self.value {
            0..1_000_000 => self.to_string(),
            1_000_000..1_000_000_000 => format!("{about}{:.2}M", self.value as f64 / 1e6),
            _ => format!("{about}{:.2}G", self.value as f64 / 1e9),
        }
    }

    /// `1 job`, `12 jobs`
    pub(crate) fn jobs(&self) -> String {
        self.of("job")
    }

    /// `1 failure`, `12 failures`
    pub(crate) fn of(&self, what: &str) -> String {
        format!("{self} {what}{}", if self.value == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.value.to_string();
        if self.about {
            f.write_str("~")?;
        }
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl Mark {
    /// The status of a job; the shape has its name.
    pub(crate) fn status(status: &'static str) -> Self {
        Self { shape: status, word: status.to_owned() }
    }

    pub(crate) fn new(shape: &'static str, word: impl Into<String>) -> Self {
        Self { shape, word: word.into() }
    }
}

impl Health {
    /// The class of the score, and the word for those who do not see its colour.
    pub(crate) const fn level(&self) -> &'static str {
        match self.score {
            80.. => "good",
            50..80 => "fair",
            _ => "poor",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_groups_of_three_digits() {
        assert_eq!(Count::exact(0).to_string(), "0");
        assert_eq!(Count::exact(999).to_string(), "999");
        assert_eq!(Count::exact(1_204).to_string(), "1,204");
        assert_eq!(Count::about(1_204_441).to_string(), "~1,204,441");
        assert_eq!(Count::about(1_766_278).brief(), "~1.77M");
        assert_eq!((Count::exact(1).jobs(), Count::exact(2).jobs()), jobs("1 job", "2 jobs"));
    }

    fn jobs(one: &str, two: &str) -> (String, String) {
        (one.to_owned(), two.to_owned())
    }
}
