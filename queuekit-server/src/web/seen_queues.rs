//! Which queues a key sees, and where a listing of queues by name continues for it.

use std::collections::BTreeSet;

use queuekit::QueueName;

use super::glob::Glob;
use super::keys::KeyEntry;

/// The longest name.
const LONGEST: usize = 128;
/// The characters of names, in order; the first of a name is a letter or a digit.
const CHARACTERS: &str = "-.0123456789:ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

impl KeyEntry {
    /// The name behind which the next queue is that the key may see, among those behind `after`, so
    /// that the queues of others need not be read. None if there is no such queue.
    pub(crate) fn next_seen(&self, after: Option<QueueName>) -> Option<Option<QueueName>> {
        if self.queues.is_empty() {
            return Some(after);
        }
        let last = after.as_ref().map_or("", QueueName::as_str);
        let next = self.queues.iter().filter_map(|glob| next_matching(glob, last)).min()?;
        Some(QueueName::new(next).ok())
    }

    /// The queues that the key is for, once each, if it names them without patterns.
    pub(crate) fn named_queues(&self) -> Option<Vec<QueueName>> {
        let are_names = !self.queues.is_empty() && self.queues.iter().all(Glob::is_name);
        let names = self.queues.iter().map(|glob| glob.prefix()).collect::<BTreeSet<_>>();
        // Text that is no name is no queue.
        are_names.then(|| names.into_iter().flat_map(QueueName::new).collect())
    }
}

/// The text behind which the next name is that a pattern may match; none if there is no such name.
fn next_matching(glob: &Glob, last: &str) -> Option<String> {
    let prefix = glob.prefix();
    if prefix.starts_with(|first: char| !first.is_ascii_alphanumeric()) {
        return None;
    }
    if last < prefix {
        return Some(before(prefix));
    }
    let may_follow = !glob.is_name() && last.starts_with(prefix);
    may_follow.then(|| last.to_owned())
}

/// The last name before all names that begin with this prefix; empty if there is none.
fn before(prefix: &str) -> String {
    let Some((at, last)) = prefix.char_indices().last() else { return String::new() };
    let begin = &prefix[..at];
    let may_stand = |other: &char| !begin.is_empty() || other.is_ascii_alphanumeric();
    let smaller = CHARACTERS.chars().take_while(|other| *other < last).filter(may_stand).last();
    let Some(smaller) = smaller else { return begin.to_owned() };
    format!("{begin}{smaller:z<width$}", width = LONGEST - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(queues: &[&str]) -> KeyEntry {
        let mut json = serde_json::json!({
            "id": "k", "sha256": "0".repeat(64), "scopes": ["read"],
        });
        if !queues.is_empty() {
            json["queues"] = queues.into();
        }
        serde_json::from_value(json).unwrap()
    }

    /// Guard: a name is passed over only if the key does not see it.
    #[test]
    fn what_is_passed_over_is_not_seen_and_the_rest_is_soon_reached() {
        let mut names: Vec<String> = Vec::new();
        for begin in
            ["0", "9", "A", "a", "acme", "acme-", "acme.", "acme.x", "acmf", "b", "z", "zz"]
        {
            names.push(begin.to_owned());
            names.extend(CHARACTERS.chars().map(|end| format!("{begin}{end}")));
        }
        names.push("z".repeat(LONGEST));
        names.sort();
        names.dedup();
        for queues in [
            &["acme.*"][..],
            &["acme"],
            &["acme", "b*"],
            &["*x"],
            &["0*"],
            &["00"],
            &["zz"],
            &["a*", "acme.x", "z"],
            &["acme-*", "acme.*"],
            &["nothing"],
            &["_x*", ":b", "b"],
            &[],
        ] {
            let entry = entry(queues);
            let seen = names.iter().filter(|name| entry.sees_queue(name)).collect::<Vec<_>>();
            let (mut listed, mut looked_at, mut last) = (Vec::new(), 0, None);
            while let Some(from) = entry.next_seen(last) {
                let from = from.map_or(String::new(), String::from);
                let Some(name) = names.iter().find(|name| **name > from) else { break };
                looked_at += 1;
                if entry.sees_queue(name) {
                    listed.push(name);
                }
                last = QueueName::new(name.as_str()).ok();
            }
            assert_eq!(listed, seen, "{queues:?}");
            let may_match = |name: &&String| {
                let begins = |queue: &&&str| name.starts_with(queue.split('*').next().unwrap());
                queues.is_empty() || queues.iter().find(begins).is_some()
            };
            let begin_so = names.iter().filter(may_match).count();
            assert!(looked_at <= begin_so + queues.len(), "{queues:?} looked at {looked_at}");
        }
    }
}
