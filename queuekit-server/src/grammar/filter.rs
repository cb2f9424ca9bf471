//! Filters of jobs on the command line: `status:dead kind:email error:timeout older:1h`.

use std::str::FromStr;

use anyhow::Result;
use queuekit::error_groups::GroupId;
use queuekit::jobs::{IdPrefix, Kind, MetadataTerm, PartitionKey, PayloadTerm, StatusSet};
use queuekit::workers::WorkerId;
use queuekit::{QueueName, Status};

use super::Since;
use crate::config::nearest;
use crate::error::Usage;
use crate::wire::{FilterBody, Time};

/// Explains filters in the help of `job list`.
pub(crate) const FILTERS: &str = "\
A filter is NAME:VALUE. Several are separated by spaces, and a job must match all of them:
  queue:emails         in this queue
  status:dead,failed   in these statuses: ready, scheduled, failed, blocked (together: pending),
                       running, expired, dead, cancelled, completed
  kind:email           of this kind
  key:customer-7       with this partition key
  worker:mailer-1      held, or last held, by this worker
  error:timeout        dead or failed with an error that contains this text; error:\"timed out\"
  group:3f1c9a2b77d0e415  dead with an error of this group; `errors list` shows the groups
  id:0199c3            with an id that begins with these digits
  meta.tenant:acme     with this value in its metadata
  payload.user.id:7    with this text at this path of its JSON payload; to.0 is the first of a list
  older:1h             enqueued more than 1 h ago, or before a time: older:2027-01-31T12:00:00Z
  newer:2d             enqueued less than 2 days ago, or since a time
  ended:1h             ended more than 1 h ago, or before a time";

/// Names the explanation in the help of the other commands.
pub(crate) const SEE_FILTERS: &str = "\
See `queuekit job list --help` for filters. Try one with --dry-run first.";

const NAMES: [&str; 13] = [
    "queue",
    "status",
    "kind",
    "key",
    "worker",
    "error",
    "group",
    "id",
    "meta.NAME",
    "payload.PATH",
    "older",
    "newer",
    "ended",
];

/// Checks one word of a command line, before any store is opened.
///
/// # Errors
/// Why the word is not a filter.
pub(crate) fn word(word: &str) -> Result<String, String> {
    FilterBody::read([word]).map(|_| word.to_owned()).map_err(|error| error.to_string())
}

impl FilterBody {
    /// Parses the words of a command line; each may hold several terms.
    ///
    /// # Errors
    /// A usage error that names the term and the expected form.
    pub(crate) fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut filter = Self::default();
        for term in words.into_iter().map(terms).collect::<Result<Vec<_>>>()?.concat() {
            filter.add(&term)?;
        }
        Ok(filter)
    }

    /// Keeps only these statuses.
    ///
    /// # Errors
    /// A usage error if the filter names none of them.
    pub(crate) fn keep_statuses(&mut self, those: StatusSet) -> Result<()> {
        let wanted = self.status.as_deref().unwrap_or_default().split(',');
        let wanted = wanted.filter_map(|status| StatusSet::from_str(status).ok());
        let wanted = wanted.reduce(StatusSet::union).unwrap_or_default();
        let kept: Vec<&str> =
            those.iter().filter(|status| wanted.contains(*status)).map(Status::as_str).collect();
        if kept.is_empty() {
            let names: Vec<&str> = those.iter().map(Status::as_str).collect();
            let told = format!("this action is only for jobs that are {}", names.join(", "));
            return Err(Usage::error(told));
        }
        self.status = Some(kept.join(","));
        Ok(())
    }

    /// Whether the filter matches all jobs.
    pub(crate) fn is_all(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, term: &str) -> Result<()> {
        let Some((name, value)) = term.split_once(':') else {
            let told = format!("{term} is not a filter: write NAME:VALUE, such as status:dead");
            return Err(Usage::error(told));
        };
        let value = value.to_owned();
        let is_new = match name {
            "queue" => set(&mut self.queue, checked::<QueueName>(term, value)?),
            "status" => set(&mut self.status, statuses(term, value)?),
            "kind" => set(&mut self.kind, checked::<Kind>(term, value)?),
            "key" | "partition_key" => {
                set(&mut self.partition_key, checked::<PartitionKey>(term, value)?)
            }
            "worker" => set(&mut self.worker, checked::<WorkerId>(term, value)?),
            "error" => set(&mut self.error, some_text(term, value)?),
            "group" => set(&mut self.group, group(term, value)?),
            "id" => set(&mut self.id, checked::<IdPrefix>(term, value)?),
            "older" => set(&mut self.created_to, instant(term, &value)?),
            "newer" => set(&mut self.created_from, instant(term, &value)?),
            "ended" => set(&mut self.finished_to, instant(term, &value)?),
            _ => match name.split_once('.') {
                Some(("meta", name)) => {
                    let term_of = format!("{name}:{value}");
                    set(&mut self.metadata, checked::<MetadataTerm>(term, term_of)?)
                }
                Some(("payload", path)) => {
                    let term_of = format!("{path}:{value}");
                    set(&mut self.payload, checked::<PayloadTerm>(term, term_of)?)
                }
                _ => return Err(unknown(name)),
            },
        };
        if !is_new {
            let told =
                format!("the filter `{name}` is given twice; for several statuses: status:a,b");
            return Err(Usage::error(told));
        }
        Ok(())
    }
}

/// Sets a value; whether there was none before.
fn set<T>(slot: &mut Option<T>, value: T) -> bool {
    slot.replace(value).is_none()
}

/// Splits at spaces outside double quotes, and removes the quotes. A backslash escapes a quote, a
/// space or a backslash.
pub(crate) fn terms(words: &str) -> Result<Vec<String>> {
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
        return Err(Usage::error(format!("a quote in {words} is not closed")));
    }
    terms.push(term);
    terms.retain(|term| !term.is_empty());
    Ok(terms)
}

/// A term as it has to be written among others.
pub(crate) fn written(term: &str) -> String {
    if !term.contains(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\\')) {
        return term.to_owned();
    }
    let escaped = term.replace('\\', "\\\\").replace('"', "\\\"");
    match escaped.split_once(':') {
        Some((name, value)) => format!("{name}:\"{value}\""),
        None => format!("\"{escaped}\""),
    }
}

/// Refuses an empty text, which every error would contain.
fn some_text(term: &str, value: String) -> Result<String> {
    if value.trim().is_empty() {
        return Err(Usage::error(format!("{term} has no text: write error:timeout")));
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

fn group(term: &str, value: String) -> Result<String> {
    match value.parse::<GroupId>() {
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

/// A time, written as a duration ago or in RFC 3339.
fn instant(term: &str, value: &str) -> Result<Time> {
    let Since(at) = value.parse().map_err(|error| Usage::error(format!("{term}: {error}")))?;
    Ok(at.into())
}

fn unknown(name: &str) -> anyhow::Error {
    let meant = nearest(name, NAMES);
    let hint = meant.map_or_else(
        || format!("the filters are {}", NAMES.join(", ")),
        |meant| format!("did you mean `{meant}`?"),
    );
    Usage::error(format!("the filter `{name}` is unknown; {hint}"))
}

#[cfg(test)]
mod tests {
    use queuekit::store::{Clock, SystemClock};

    use super::*;

    fn refused(words: &str) -> String {
        FilterBody::read([words]).unwrap_err().to_string()
    }

    #[test]
    fn terms_are_read_from_one_word_or_several() {
        let one = FilterBody::read(["status:dead kind:email", "error:\"timed out\""]).unwrap();
        assert_eq!(one.status.as_deref(), Some("dead"));
        assert_eq!(one.kind.as_deref(), Some("email"));
        assert_eq!(one.error.as_deref(), Some("timed out"));
        let other = FilterBody::read(["status:dead", "kind:email", "error:timed\" \"out"]).unwrap();
        assert_eq!(one, other);
        for term in ["kind:a", "error:timed out", r#"error:said "no"\n"#, "key:a\u{2003}b"] {
            assert_eq!(terms(&written(term)).unwrap(), [term], "it is written as read");
        }
        let quoted = FilterBody::read([r#"error:said\ \"no\"\n"#]).unwrap();
        assert_eq!(quoted.error.as_deref(), Some(r#"said "no"\n"#));
        assert!(FilterBody::read(["", "  "]).unwrap().is_all());
    }

    #[test]
    fn r8_8_terms_on_content_name_what_they_compare() {
        let filter = FilterBody::read(["id:0199c3 meta.a.b:c:d payload.user.id:7"]).unwrap();
        assert_eq!(filter.id.as_deref(), Some("0199c3"));
        assert_eq!(filter.metadata.as_deref(), Some("a.b:c:d"));
        assert_eq!(filter.payload.as_deref(), Some("user.id:7"));
    }

    #[test]
    fn times_are_absolute_at_once() {
        let filter = FilterBody::read(["older:2027-01-31T12:00:00+01:00 newer:1h"]).unwrap();
        let to: jiff::Timestamp = "2027-01-31T11:00:00Z".parse().unwrap();
        assert_eq!(filter.created_to, Some(to.into()));
        let from = filter.created_from.unwrap().0.as_millis();
        let now = SystemClock::default().now().as_millis();
        assert!((now - 3_660_000..=now - 3_600_000).contains(&from));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_was_meant() {
        for (words, said) in [
            ("staus:dead", "did you mean `status`?"),
            ("colour:red", "the filters are queue, status,"),
            ("status:daed", "did you mean dead?"),
            ("dead", "write NAME:VALUE"),
            ("older:yesterday", "write a duration ago"),
            ("error:\"a", "not closed"),
            ("status:dead status:failed", "status:a,b"),
            ("queue:a/b", "queue must be"),
            ("error:", "has no text"),
            ("id:xyz", "id must be"),
            ("payload.a..b:1", "payload must be"),
            ("payload:1", "payload.PATH"),
            ("meta.a:1 meta.b:2", "given twice"),
            ("error:\" \"", "has no text"),
        ] {
            let error = refused(words);
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
