//! Answers that hold memory until they are sent, and which of them is cut off if another key waits
//! for memory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::auth::Caller;
use super::connection_end::ConnectionEnd;

/// How long a request waits for memory before answers of others are cut off, and for how long an
/// answer is sent undisturbed.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// All answers that hold memory of one share.
#[derive(Debug, Default)]
pub(super) struct UnsentAnswers(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    answers: HashMap<u64, Answer>,
}

#[derive(Debug)]
struct Answer {
    /// None if callers cannot be distinguished.
    key: Option<String>,
    held: usize,
    /// None until it is written.
    sending: Option<Sending>,
}

#[derive(Debug)]
struct Sending {
    since: Instant,
    sent: Arc<AtomicUsize>,
    connection: ConnectionEnd,
}

/// An answer's entry, until it is dropped.
#[derive(Debug)]
pub(super) struct UnsentAnswer {
    all: Arc<UnsentAnswers>,
    id: u64,
}

impl UnsentAnswers {
    pub(super) fn begin(self: &Arc<Self>, caller: &Caller) -> UnsentAnswer {
        let mut table = self.table();
        let id = table.next;
        table.next += 1;
        let key = caller.key().map(str::to_owned);
        table.answers.insert(id, Answer { key, held: 0, sending: None });
        UnsentAnswer { all: Arc::clone(self), id }
    }

    /// Cuts off an answer to another key, if this caller has waited for its memory.
    pub(super) fn cut_for(&self, caller: &Caller) {
        let table = self.table();
        let Some(id) = to_cut(&table.answers, caller.key(), Instant::now()) else { return };
        let Some(Answer { key, sending: Some(sending), .. }) = table.answers.get(&id) else {
            return;
        };
        let (key, waiting) = (key.as_deref().unwrap_or("-"), caller.id());
        tracing::info!(
            key,
            waiting,
            "closed a connection that reads a large answer slowly, because the other key waits \
             for memory"
        );
        sending.connection.end();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnsentAnswer {
    pub(super) fn set_held(&self, held: usize) {
        if let Some(answer) = self.all.table().answers.get_mut(&self.id) {
            answer.held = held;
        }
    }

    /// From now on only its client keeps its memory. What has been sent is to be added to the
    /// number that is returned.
    pub(super) fn send_to(&self, caller: &Caller) -> Arc<AtomicUsize> {
        let sent = Arc::<AtomicUsize>::default();
        if let Some(answer) = self.all.table().answers.get_mut(&self.id) {
            let (since, sent) = (Instant::now(), Arc::clone(&sent));
            let connection = caller.connection().cloned();
            answer.sending = connection.map(|connection| Sending { since, sent, connection });
        }
        sent
    }
}

impl Drop for UnsentAnswer {
    fn drop(&mut self) {
        self.all.table().answers.remove(&self.id);
    }
}

/// Which answer to cut off: the one that is read most slowly, among those that belong to the key
/// with most memory. If the key that waits holds some memory itself, the other key must still hold
/// more afterwards. Otherwise two keys would cut off each other's answers in turn, and neither
/// would get one.
fn to_cut(answers: &HashMap<u64, Answer>, waiting: Option<&str>, now: Instant) -> Option<u64> {
    let mut held_by = HashMap::<Option<&str>, usize>::new();
    for answer in answers.values().filter(|answer| !answer.is_cut()) {
        *held_by.entry(answer.key.as_deref()).or_default() += answer.held;
    }
    let held_by = |key: Option<&str>| held_by.get(&key).copied().unwrap_or(0);
    let own = held_by(waiting);
    let may_cut = |answer: &Answer| {
        let left = held_by(answer.key.as_deref()).saturating_sub(answer.held);
        answer.key.as_deref() != waiting && (own == 0 || left > own) && !answer.is_cut()
    };
    let candidates = answers.iter().filter(|(_, answer)| may_cut(answer));
    let slow = candidates.filter_map(|(id, answer)| {
        let sending = answer.sending.as_ref()?;
        let taken = now.saturating_duration_since(sending.since);
        let speed = sending.sent.load(Ordering::Relaxed) as u128 / taken.as_millis().max(1);
        let held = held_by(answer.key.as_deref());
        (taken >= PATIENCE).then_some((held, Reverse((speed, *id))))
    });
    slow.max().map(|(_, Reverse((_, id)))| id)
}

impl Answer {
    fn is_cut(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.connection.has_ended())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers by their ids: of which key, how much they hold, and how much was sent.
    fn sent_since(since: Instant, each: &[(u64, &str, usize, usize)]) -> HashMap<u64, Answer> {
        let answer = |(id, key, held, sent): &(u64, &str, usize, usize)| {
            let connection = ConnectionEnd::new();
            let sent = Arc::new(AtomicUsize::new(*sent));
            let sending = Some(Sending { since, sent, connection });
            (*id, Answer { key: Some((*key).to_owned()), held: *held, sending })
        };
        each.iter().map(answer).collect()
    }

    #[test]
    fn s6_the_key_that_holds_most_loses_the_answer_that_it_reads_most_slowly() {
        let since = Instant::now();
        let later = since + PATIENCE;
        let each = [(1, "a", 9, 0), (2, "b", 8, 7), (3, "b", 8, 5), (4, "b", 8, 6)];
        let mut answers =
            sent_since(since, &each.map(|(id, key, held, mib)| (id, key, held, mib << 20)));
        let next = |answers: &_| to_cut(answers, Some("c"), later);
        assert_eq!(next(&answers), Some(3));
        assert_eq!(
            to_cut(&answers, Some("c"), later - Duration::from_millis(1)),
            None,
            "too early"
        );
        for (cut, then) in [(3, 4), (4, 1), (1, 2)] {
            answers[&cut].sending.as_ref().unwrap().connection.end();
            assert_eq!(next(&answers), Some(then), "after {cut}");
        }
        answers.get_mut(&2).unwrap().sending = None;
        assert_eq!(next(&answers), None, "it is not written yet");
    }

    #[test]
    fn s6_keys_that_hold_as_much_as_each_other_leave_their_answers_alone() {
        let since = Instant::now();
        let later = since + PATIENCE;
        let of = |each: &[(u64, &str, usize, usize)], waiting| {
            to_cut(&sent_since(since, each), waiting, later)
        };
        assert_eq!(of(&[(1, "a", 8, 0), (2, "a", 8, 0)], Some("a")), None, "it is its own");
        assert_eq!(of(&[(1, "a", 8, 0), (2, "b", 8, 0)], Some("b")), None);
        assert_eq!(of(&[(1, "a", 8, 0), (3, "a", 8, 0), (2, "b", 8, 0)], Some("b")), None);
        let more = [(1, "a", 8, 0), (3, "a", 8, 0), (4, "a", 8, 0), (2, "b", 8, 0)];
        assert_eq!(of(&more, Some("b")), Some(1));
        assert_eq!(of(&[(1, "a", 1, 0)], Some("b")), Some(1), "it holds nothing");
    }
}
