//! Which jobs, in words: `state:dead kind:email error:timeout older:1h`.

use std::str::FromStr;

use anyhow::Result;
use queuekit::{Kind, PartitionKey, QueueName, Status, StatusSet, WorkerId};
use serde::Serialize;

use super::quantity::Since;
use crate::cli::Usage;
use crate::config::nearest;

/// How the language is explained in the help of commands.
pub(crate) const FILTERS: &str = "\
Filters are NAME:VALUE, joined by spaces; a job has to match all of them:
  queue:emails         in this queue
  state:dead,failed    of these states or statuses: pending, running, expired, ready, failed,
                       scheduled, blocked, dead, cancelled, completed
  kind:email           of this type
  key:customer-7       of this partition key
  worker:mailer-1      held, or last held, by this worker
  error:timeout        dead or failed with an error that contains this; error:\"timed out\"
  older:1h newer:2d    enqueued longer ago, or less long; or an instant: older:2027-01-31T12:00:00Z
  ended:1h             ended longer ago";

/// The filter as routes take it: instants are absolute, so that all pages are of the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Filter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "type")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_to: Option<String>,
}

const NAMES: [&str; 9] =
    ["queue", "state", "kind", "key", "worker", "error", "older", "newer", "ended"];

/// Looks at one word of a command line, before any store is opened.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn word(word: &str) -> Result<String, String> {
    Filter::read([word]).map(|_| word.to_owned()).map_err(|error| error.to_string())
}

impl Filter {
    /// Reads the words of a command line: each may hold several terms.
    ///
    /// # Errors
    /// A usage error that names the term and what it should have been.
    pub(crate) fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut filter = Self::default();
        for term in words.into_iter().map(terms).collect::<Result<Vec<_>>>()?.concat() {
            filter.add(&term)?;
        }
        Ok(filter)
    }

    /// Only of these statuses, of those it wants.
    ///
    /// # Errors
    /// A usage error if it wants none of them.
    pub(crate) fn keep_statuses(&mut self, those: StatusSet) -> Result<()> {
        let wanted = self.status.as_deref().unwrap_or_default().split(',');
        let wanted = wanted.filter_map(|status| StatusSet::from_str(status).ok());
        let wanted = wanted.reduce(StatusSet::union).unwrap_or_default();
        let kept: Vec<&str> =
            those.iter().filter(|status| wanted.contains(*status)).map(Status::as_str).collect();
        if kept.is_empty() {
            let names: Vec<&str> = those.iter().map(Status::as_str).collect();
            let told = format!("this can be done to jobs that are {} only", names.join(", "));
            return Err(Usage::error(told));
        }
        self.status = Some(kept.join(","));
        Ok(())
    }

    /// Whether it wants all jobs there are.
    pub(crate) fn is_all(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, term: &str) -> Result<()> {
        let Some((name, value)) = term.split_once(':') else {
            let told = format!("{term} is no filter: they are NAME:VALUE, as state:dead");
            return Err(Usage::error(told));
        };
        let value = value.to_owned();
        let (slot, value) = match name {
            "queue" => (&mut self.queue, checked::<QueueName>(term, value)?),
            "state" | "status" => (&mut self.status, statuses(term, value)?),
            "kind" | "type" => (&mut self.kind, checked::<Kind>(term, value)?),
            "key" | "partition_key" => {
                (&mut self.partition_key, checked::<PartitionKey>(term, value)?)
            }
            "worker" => (&mut self.worker, checked::<WorkerId>(term, value)?),
            "error" => (&mut self.error, some_text(term, value)?),
            "older" => (&mut self.created_to, instant(term, &value)?),
            "newer" => (&mut self.created_from, instant(term, &value)?),
            "ended" => (&mut self.finished_to, instant(term, &value)?),
            _ => return Err(unknown(name)),
        };
        if slot.replace(value).is_some() {
            let told = format!("there are two filters `{name}`; state takes several: state:a,b");
            return Err(Usage::error(told));
        }
        Ok(())
    }
}

/// Splits at spaces that do not stand in double quotes, which are left out; a backslash makes a
/// quote, a space or another one a letter like others.
fn terms(words: &str) -> Result<Vec<String>> {
    let (mut terms, mut term, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = words.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let is_special = |next: &char| matches!(next, '"' | '\\' | ' ');
                term.push(letters.next_if(is_special).unwrap_or(letter));
            }
            '"' => quoted = !quoted,
            letter if letter.is_whitespace() && !quoted => terms.push(std::mem::take(&mut term)),
            letter => term.push(letter),
        }
    }
    if quoted {
        return Err(Usage::error(format!("a quote of {words} is not closed")));
    }
    terms.push(term);
    terms.retain(|term| !term.is_empty());
    Ok(terms)
}

/// No text at all would be in every error.
fn some_text(term: &str, value: String) -> Result<String> {
    if value.trim().is_empty() {
        return Err(Usage::error(format!("{term} names no text: write error:timeout")));
    }
    Ok(value)
}

fn checked<T>(term: &str, value: String) -> Result<String>
where
    T: TryFrom<String, Error = queuekit::Error>,
{
    match T::try_from(value.clone()) {
        Ok(_) => Ok(value),
        Err(error) => Err(Usage::error(format!("{term}: {error}"))),
    }
}

fn statuses(term: &str, value: String) -> Result<String> {
    for status in value.split(',') {
        if let Err(error) = StatusSet::from_str(status) {
            let states = ["pending", "running", "expired", "ready", "failed", "scheduled"];
            let names = states.into_iter().chain(["blocked", "dead", "cancelled", "completed"]);
            let meant = nearest(status, names);
            let hint = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            return Err(Usage::error(format!("{term}: {error}{hint}")));
        }
    }
    Ok(value)
}

/// So long ago, or an instant as it is.
fn instant(term: &str, value: &str) -> Result<String> {
    let Since(at) = value.parse().map_err(|error| Usage::error(format!("{term}: {error}")))?;
    Ok(format!("{at:.3}"))
}

fn unknown(name: &str) -> anyhow::Error {
    let meant = nearest(name, NAMES);
    let hint = meant.map_or_else(
        || format!("there are {}", NAMES.join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    );
    Usage::error(format!("there is no filter `{name}`; {hint}"))
}

#[cfg(test)]
mod tests {
    use queuekit::{Clock, SystemClock};

    use super::*;

    fn refused(words: &str) -> String {
        Filter::read([words]).unwrap_err().to_string()
    }

    #[test]
    fn terms_are_read_from_one_word_or_several() {
        let one = Filter::read(["state:dead kind:email", "error:\"timed out\""]).unwrap();
        assert_eq!(one.status.as_deref(), Some("dead"));
        assert_eq!(one.kind.as_deref(), Some("email"));
        assert_eq!(one.error.as_deref(), Some("timed out"));
        let other = Filter::read(["status:dead", "type:email", "error:timed\" \"out"]).unwrap();
        assert_eq!(one, other);
        let quoted = Filter::read([r#"error:said\ \"no\"\n"#]).unwrap();
        assert_eq!(quoted.error.as_deref(), Some(r#"said "no"\n"#));
        assert!(Filter::read(["", "  "]).unwrap().is_all());
    }

    #[test]
    fn times_are_absolute_at_once() {
        let filter = Filter::read(["older:2027-01-31T12:00:00+01:00 newer:1h"]).unwrap();
        assert_eq!(filter.created_to.as_deref(), Some("2027-01-31T11:00:00.000Z"));
        let from: jiff::Timestamp = filter.created_from.unwrap().parse().unwrap();
        let now = SystemClock::default().now().as_millis();
        assert!((now - 3_660_000..=now - 3_600_000).contains(&from.as_millisecond()));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_was_meant() {
        for (words, said) in [
            ("sate:dead", "did you mean `state`?"),
            ("colour:red", "there are queue, state,"),
            ("state:daed", "did you mean dead?"),
            ("dead", "they are NAME:VALUE"),
            ("older:yesterday", "write how long ago"),
            ("error:\"a", "not closed"),
            ("state:dead state:failed", "state:a,b"),
            ("queue:a/b", "queue must be"),
            ("error:", "names no text"),
            ("error:\" \"", "names no text"),
        ] {
            let error = refused(words);
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
