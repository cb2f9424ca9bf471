//! What an action did, told on the page to which it leads. The address names it by a word, so that
//! no link can make a page say something else.

use serde::Deserialize;

use super::view::Notice;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    did: String,
}

/// What was done, by its word in addresses.
const DONE: [(&str, &str); 19] = [
    ("selected", "Done, for all of them that allowed it."),
    ("pause", "The queue is paused: nothing is reserved in it until the pause ends."),
    ("resume", "The queue is resumed."),
    ("settings", "The settings are in force."),
    ("retry", "The job is retried, with all its attempts."),
    ("retry-fresh", "The job is retried, and all of its steps run again."),
    ("cancel", "The job is cancelled; if it runs, it is asked to stop."),
    ("delete", "The job is deleted."),
    ("dead-letter", "The job is in the dead-letter queue."),
    ("reschedule", "The job has its new time."),
    ("enqueue", "The copy is enqueued."),
    ("order", "The order is given. A worker obeys it with its next beat."),
    ("remove", "The worker is removed from the list."),
    ("schedule", "The schedule is changed."),
    ("reset", "The next start of a program that declares the schedule restores its definition."),
    ("run", "A job of the schedule is enqueued."),
    ("note", "The note is saved."),
    ("no-note", "The group has no note."),
    ("consumer", "The consumer is changed."),
];

/// The notice that this address asks for.
pub(super) fn of(path: &str) -> Option<Notice> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let asked: Asked = serde_urlencoded::from_str(query).unwrap_or_default();
    let (_, text) = DONE.into_iter().find(|(word, _)| *word == asked.did)?;
    Some(Notice { shape: "ok", text: text.to_owned(), link: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_link_makes_a_page_say_nothing_that_is_not_ours() {
        assert!(of("/ui/queues/a?did=pause").unwrap().text.starts_with("The queue is paused"));
        for other in ["/ui", "/ui?did=", "/ui?did=Call+555", "/ui?done=pause", "/ui?did=%ff"] {
            assert!(of(other).is_none(), "{other}");
        }
    }
}
