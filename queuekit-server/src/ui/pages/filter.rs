//! The filter of a list of jobs: the words of the command line, in the address of the page.

use queuekit::jobs::{BulkActionName, StatusSet};
use queuekit::queues::Totals;

use super::impossible::reason;
use super::queue_rows::queues_of;
use super::text::jobs_url;
use crate::grammar::filter::{terms, written};
use crate::ui::live::Snapshot;
use crate::ui::view::{Count, FilterBar, Pill, Tab};
use crate::ui::viewer::Viewer;
use crate::unseen::{escaped, is_unseen};
use crate::wire::FilterBody;

/// Statuses with a tab, and all.
const TABS: [&str; 9] =
    ["all", "ready", "running", "failed", "scheduled", "blocked", "dead", "cancelled", "completed"];
/// How long a page looks for jobs that match. It then shows what it has found, and a link to look
/// further.
pub(super) const READ_FOR_MS: u64 = 25;
/// Filters to begin with.
const COMMON: [(&str, &str); 4] = [
    ("status:dead", "dead jobs"),
    ("status:failed", "jobs that wait for a retry"),
    ("status:expired", "jobs that lost their worker"),
    ("newer:1h", "enqueued in the last hour"),
];

/// A filter, and the words it was read from.
#[derive(Clone)]
pub(in crate::ui) struct Filter {
    /// Its words, as they are in the address.
    pub(in crate::ui) text: String,
    pub(in crate::ui) body: FilterBody,
    terms: Vec<String>,
    /// Why the words are no filter.
    pub(in crate::ui) error: Option<String>,
}

impl Filter {
    pub(in crate::ui) fn read(text: &str) -> Self {
        let read = FilterBody::read([text]).and_then(|body| Ok((body, terms(text)?)));
        match read {
            Ok((body, terms)) => Self { text: joined(&terms), body, terms, error: None },
            Err(error) => Self {
                text: text.to_owned(),
                body: FilterBody::default(),
                terms: Vec::new(),
                error: Some(error.to_string()),
            },
        }
    }

    /// Whether all jobs that match have ended, so that they are listed by the time of their end.
    pub(in crate::ui) fn is_of_ended(&self) -> bool {
        let ended = ["dead", "cancelled", "completed"];
        let statuses = self.body.status.as_deref();
        statuses.is_some_and(|all| all.split(',').all(|status| ended.contains(&status)))
    }

    /// The bar above the list. `typed` is what was added and is no filter.
    pub(in crate::ui) fn bar(
        &self,
        viewer: &Viewer,
        now: &Snapshot,
        typed: &str,
        error: Option<String>,
    ) -> FilterBar {
        let base = viewer.base();
        let pill = |(at, term): (usize, &String)| {
            let (name, value) = term.split_once(':').unwrap_or((term, ""));
            let others = self.terms.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<String> = others.map(|(_, term)| term.clone()).collect();
            let without = jobs_url(base, &joined(&others));
            Pill { name: name.to_owned(), value: value.to_owned(), without }
        };
        let command = if self.is_of_ended() { "job list --recent" } else { "job list" };
        FilterBar {
            url: format!("{base}/ui/jobs"),
            text: if self.error.is_some() { String::new() } else { self.text.clone() },
            pills: self.terms.iter().enumerate().map(pill).collect(),
            typed: typed.to_owned(),
            error: error.or_else(|| self.error.clone()),
            tabs: TABS.map(|status| self.tab(viewer, now, status)).into(),
            cli: cli(&format!("queuekit {command}"), &self.terms),
            common: COMMON.map(|(filter, name)| (jobs_url(base, filter), name)).into(),
        }
    }

    fn tab(&self, viewer: &Viewer, now: &Snapshot, status: &'static str) -> Tab {
        let others = self.terms.iter().filter(|term| !term.starts_with("status:"));
        let mut terms: Vec<String> = others.cloned().collect();
        let is_all = status == "all";
        if !is_all {
            terms.insert(0, format!("status:{status}"));
        }
        let present = self.body.status.as_deref().unwrap_or("all");
        Tab {
            status,
            url: jobs_url(viewer.base(), &joined(&terms)),
            count: status.parse().ok().and_then(|statuses| self.count(viewer, now, statuses)),
            is_current: present == status,
        }
    }

    /// How many jobs have these statuses, if the figures of queues say so.
    fn count(&self, viewer: &Viewer, now: &Snapshot, statuses: StatusSet) -> Option<Count> {
        let of = |term: &String| term.starts_with("status:") || term.starts_with("queue:");
        let is_told = self.terms.iter().all(of) && now.figures.is_some();
        if !is_told || viewer.caller().is_bound_to_kinds() {
            return None;
        }
        let wanted = self.body.queue.as_deref();
        let queues = queues_of(viewer, now);
        let queues = queues.filter(|queue| wanted.is_none_or(|name| name == queue.name.as_str()));
        let counts = queues
            .flat_map(|queue| statuses.iter().map(|status| Count::from(queue.counts.get(status))));
        Some(counts.sum())
    }

    /// How many jobs match, if the figures of queues say so.
    pub(super) fn counted(&self, viewer: &Viewer, now: &Snapshot) -> Option<Count> {
        let statuses = self.body.clone().filter(None, None).ok()?.statuses;
        self.count(viewer, now, statuses)
    }

    /// The same filter, of the jobs alone that allow the action.
    ///
    /// # Errors
    /// Why none of its jobs allows it.
    pub(super) fn allowing(&self, action: BulkActionName) -> Result<Self, &'static str> {
        let mut allowing = self.clone();
        let kept = allowing.body.keep_statuses(action.possible());
        kept.map(|()| allowing).map_err(|_| reason(action))
    }

    /// How many jobs have ever come into the list, if the totals of queues say so.
    pub(in crate::ui) fn total(&self, viewer: &Viewer, now: &Snapshot) -> Option<u64> {
        let of = |term: &String| term.starts_with("status:") || term.starts_with("queue:");
        let is_told = self.error.is_none() && self.terms.iter().all(of) && now.figures.is_some();
        if !is_told || viewer.caller().is_bound_to_kinds() {
            return None;
        }
        let of_queue = |totals: &Totals| {
            let Some(statuses) = self.body.status.as_deref() else { return Some(totals.enqueued) };
            let ended = |status| match status {
                "dead" => Some(totals.dead),
                "cancelled" => Some(totals.cancelled),
                "completed" => Some(totals.completed),
                _ => None,
            };
            statuses.split(',').map(ended).sum()
        };
        let wanted = self.body.queue.as_deref();
        let queues = queues_of(viewer, now);
        let queues = queues.filter(|queue| wanted.is_none_or(|name| name == queue.name.as_str()));
        queues.map(|queue| of_queue(&queue.totals)).sum()
    }

    /// The command that does this to the jobs of the filter.
    pub(in crate::ui) fn cli(&self, command: &str) -> String {
        cli(command, &self.terms)
    }

    pub(in crate::ui) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

fn joined(terms: &[String]) -> String {
    terms.iter().map(|term| written(term)).collect::<Vec<_>>().join(" ")
}

/// A command with these terms as arguments of a shell.
fn cli(command: &str, terms: &[String]) -> String {
    let arguments: Vec<String> = terms.iter().map(|term| argument(&written(term))).collect();
    format!("{command} {}", arguments.join(" ")).trim_end().to_owned()
}

/// A text as one argument of a shell.
pub(super) fn argument(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ":._-,/+@=".contains(letter);
    if text.chars().all(plain) {
        text.to_owned()
    } else if text.chars().any(is_unseen) {
        format!("$'{}'", text.chars().map(quoted).collect::<String>())
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A letter between `$'` and `'`, so that what a link brings cannot end a line or drive a terminal.
/// Guard: it is neither `'` nor `\'`. A shell without `$'..'`, such as dash, takes the text as it
/// stands, and would end it there.
fn quoted(letter: char) -> String {
    match letter {
        '\'' | '\\' => escaped(letter),
        _ if is_unseen(letter) => escaped(letter),
        _ => letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_command_to_copy_has_no_letter_that_a_terminal_obeys() {
        let command = |term: &str| cli("queuekit job list", &[term.to_owned()]);
        assert_eq!(command("queue:a"), "queuekit job list queue:a");
        assert_eq!(command("error:it's"), r"queuekit job list 'error:it'\''s'");
        let evil = command("error:a'\n\u{1b}]0;x\u{7}rm -rf");
        assert_eq!(evil, r#"queuekit job list $'error:"a\u0027\u000a\u001b]0;x\u0007rm -rf"'"#);
        assert_eq!(argument("a\u{202e}b"), r"$'a\u202eb'");
    }

    /// dash has no `$'..'`: what it runs may be wrong, but nothing of the text is run.
    #[test]
    fn s6_a_command_to_copy_runs_nothing_in_a_shell_without_dollar_quotes() {
        let text = argument("\u{3}';echo run;#\\';echo run;#");
        let script = format!("printf %s {text}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output();
        let printed = String::from_utf8(output.expect("a shell").stdout).expect("UTF-8");
        assert_eq!(printed.matches("run").count(), 2, "{printed}");
        assert!(!printed.contains('\n'), "it ran a part: {printed}");
    }

    #[test]
    fn a_letter_that_is_seen_is_left_as_it_is() {
        assert_eq!(argument("é ü"), "'é ü'");
    }
}
