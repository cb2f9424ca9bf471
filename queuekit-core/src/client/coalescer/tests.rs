//! Merging calls, without a store.

use std::pin::pin;

use futures_util::future::{join_all, poll_immediate, try_join_all};
use tokio::sync::Semaphore;

use super::*;

/// Doubles numbers once it may continue; refuses a flush that has a zero in it, or an eleven, whose
/// place it tells, and gives no answer to one that has a five. Merged ones are negative: -7 is held
/// up, 7 waits for what holds it.
#[derive(Clone)]
struct Doubling(Arc<Gate>);

struct Gate {
    may_block: bool,
    /// One permit lets one flush through.
    permits: Semaphore,
    held: Semaphore,
    flushed: Mutex<Vec<usize>>,
    dropped: Mutex<usize>,
}

impl Weigh for i64 {
    fn bytes(&self) -> usize {
        8
    }
}

struct CountDrop<'a>(&'a Gate, bool);

impl Drop for CountDrop<'_> {
    fn drop(&mut self) {
        *lock(&self.0.dropped) += usize::from(!self.1);
    }
}

#[async_trait]
impl Flush for Doubling {
    type Item = i64;
    type Outcome = i64;

    async fn flush(&self, items: &[i64]) -> Result<Vec<i64>> {
        lock(&self.0.flushed).push(items.len());
        let mut under_way = CountDrop(&self.0, false);
        let gate = if items.contains(&7) { &self.0.held } else { &self.0.permits };
        gate.acquire().await.unwrap().forget();
        under_way.1 = true;
        assert!(!items.contains(&13), "a store that panics");
        if items.contains(&0) {
            return Err(Error::invalid("item", "over 0", 0));
        }
        if let Some(at) = items.iter().position(|item| *item == 11) {
            return Err(Error::invalid("item", "not 11", 11).at_item(at));
        }
        if items.contains(&5) {
            return Err(Error::new(ErrorKind::Indeterminate, "no answer came within op_timeout"));
        }
        if items.contains(&-7) {
            return Err(Error::new(ErrorKind::Unavailable, "7 is taken").held_up());
        }
        Ok(items.iter().map(|item| item.abs() * 2).collect())
    }

    fn merged(&self, item: &i64) -> i64 {
        if self.0.may_block { -item } else { *item }
    }

    fn may_block(&self) -> bool {
        self.0.may_block
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }
}

fn coalescer(may_block: bool) -> (Coalescer<Doubling>, Arc<Gate>) {
    coalescer_with(may_block, BEHIND)
}

fn coalescer_with(may_block: bool, behind: Duration) -> (Coalescer<Doubling>, Arc<Gate>) {
    let gate = Arc::new(Gate {
        may_block,
        permits: Semaphore::new(0),
        held: Semaphore::new(0),
        flushed: Mutex::default(),
        dropped: Mutex::default(),
    });
    (Coalescer::with(Doubling(Arc::clone(&gate)), behind), gate)
}

#[tokio::test]
async fn calls_made_while_a_flush_is_under_way_share_the_next_one() {
    let (coalescer, gate) = coalescer(false);
    let mut first = pin!(coalescer.submit(vec![1]));
    assert!(poll_immediate(&mut first).await.is_none());
    let mut later = pin!(try_join_all((2..5).map(|n| coalescer.submit(vec![n, n]))));
    assert!(poll_immediate(&mut later).await.is_none());
    gate.permits.add_permits(2);
    assert_eq!(later.await.unwrap(), [[4, 4], [6, 6], [8, 8]]);
    assert_eq!(first.await.unwrap(), [2]);
    assert_eq!(*lock(&gate.flushed), [1, 6]);
}

#[tokio::test]
async fn r2_10_who_fails_for_its_own_fault_fails_alone() {
    let (coalescer, gate) = coalescer(false);
    let mut answers = pin!(join_all([9, 1, 0, 3].map(|n| coalescer.submit(vec![n]))));
    assert!(poll_immediate(&mut answers).await.is_none());
    gate.permits.add_permits(5);
    let answers = answers.await.split_off(1);
    assert_eq!(*lock(&gate.flushed), [1, 3, 1, 1, 1]);
    assert_eq!(answers[0].as_deref().unwrap(), [2]);
    assert!(answers[1].is_err());
    assert_eq!(answers[2].as_deref().unwrap(), [6]);
}

/// Guard: a key that sent invalid jobs made each call of others a flush of its own.
#[tokio::test]
async fn s6_calls_beside_one_that_is_known_to_be_at_fault_stay_one_flush() {
    let (coalescer, gate) = coalescer(false);
    let calls = [&[9][..], &[1, 2], &[3, 11], &[4], &[11], &[6]];
    let mut answers = pin!(join_all(calls.map(|call| coalescer.submit(call.to_vec()))));
    assert!(poll_immediate(&mut answers).await.is_none());
    gate.permits.add_permits(6);
    let answers = answers.await.split_off(1);
    assert_eq!(*lock(&gate.flushed), [1, 7, 2, 5, 1, 4]);
    let doubled: Vec<_> = answers.iter().map(|answer| answer.as_deref().ok()).collect();
    assert_eq!(doubled, [Some(&[2, 4][..]), None, Some(&[8]), None, Some(&[12])]);
    let Err(error) = &answers[1] else { panic!("it is refused") };
    assert!(matches!(error.kind(), ErrorKind::Invalid { item: Some(1), .. }), "{error}");
}

#[tokio::test]
async fn r2_10_who_is_held_up_holds_up_none_of_its_flush() {
    let (coalescer, gate) = coalescer(true);
    let mut others = pin!(try_join_all([1, 2, 3].map(|n| coalescer.submit(vec![n]))));
    assert!(poll_immediate(&mut others).await.is_none());
    let mut held = pin!(coalescer.submit(vec![7]));
    assert!(poll_immediate(&mut held).await.is_none());
    gate.permits.add_permits(4);
    let answers = poll_immediate(&mut others).await.expect("nobody waits for 7");
    assert_eq!(answers.unwrap(), [[2], [4], [6]]);
    assert!(poll_immediate(&mut held).await.is_none());
    assert_eq!(*lock(&gate.flushed), [1, 3, 1, 1, 1], "each goes alone");
    gate.permits.add_permits(1);
    assert_eq!(coalescer.submit(vec![4]).await.unwrap(), [8], "nor any after it");
    gate.held.add_permits(1);
    assert_eq!(held.await.unwrap(), [14]);
}

#[tokio::test]
async fn r2_10_a_caller_that_goes_away_harms_none() {
    let (coalescer, gate) = coalescer(false);
    let mut first = Box::pin(coalescer.submit(vec![1]));
    assert!(poll_immediate(&mut first).await.is_none());
    let mut gone_before_it_began = Box::pin(coalescer.submit(vec![2]));
    assert!(poll_immediate(&mut gone_before_it_began).await.is_none());
    let mut stays = pin!(coalescer.submit(vec![3]));
    assert!(poll_immediate(&mut stays).await.is_none());
    // The one who drove the flush under way goes too.
    drop((first, gone_before_it_began));
    gate.permits.add_permits(2);
    assert_eq!(stays.await.unwrap(), [6]);
    assert_eq!(lock(&gate.flushed).last(), Some(&1), "it was left out of the flush");
}

#[tokio::test]
async fn r10_3_a_flush_that_nobody_waits_for_is_dropped() {
    let (coalescer, gate) = coalescer(false);
    let mut only = Box::pin(coalescer.submit(vec![1]));
    assert!(poll_immediate(&mut only).await.is_none());
    drop(only);
    assert_eq!(*lock(&gate.dropped), 1);
    gate.permits.add_permits(1);
    assert_eq!(coalescer.submit(vec![2]).await.unwrap(), [4]);
}

#[tokio::test]
async fn r2_10_a_panic_of_the_store_reaches_every_caller() {
    let (coalescer, gate) = coalescer(false);
    let mut answers = pin!(join_all([1, 2, 13].map(|n| coalescer.submit(vec![n]))));
    assert!(poll_immediate(&mut answers).await.is_none());
    gate.permits.add_permits(3);
    let answers = answers.await;
    assert!(answers[0].is_ok());
    for answer in &answers[1..] {
        assert_eq!(answer.as_ref().unwrap_err().kind(), &ErrorKind::Indeterminate);
    }
    gate.permits.add_permits(1);
    assert_eq!(coalescer.submit(vec![4]).await.unwrap(), [8], "and none after it");
}

#[tokio::test]
async fn r2_3_a_call_is_never_split_over_flushes() {
    let (coalescer, gate) = coalescer(false);
    let sizes = [1, 600, 600, 300];
    let mut answers = pin!(join_all(sizes.map(|size| coalescer.submit(vec![1; size]))));
    assert!(poll_immediate(&mut answers).await.is_none());
    gate.permits.add_permits(3);
    let counts: Vec<_> = answers.await.into_iter().map(|all| all.unwrap().len()).collect();
    assert_eq!(counts, sizes);
    assert_eq!(*lock(&gate.flushed), [1, 600, 900]);
}

/// Guard: the caller that drove the flush was answered by the one before and dropped it, and with
/// it the call of another, which then waited in a busy loop.
#[tokio::test]
async fn r2_10_a_flush_outlives_the_caller_that_drove_it() {
    let (coalescer, gate) = coalescer(false);
    let mut first = pin!(coalescer.submit(vec![1]));
    assert!(poll_immediate(&mut first).await.is_none());
    // The second flush is full with one of these.
    let [mut full, mut driver, mut last] =
        [2, 3, 4].map(|n| Box::pin(coalescer.submit(vec![n; 600])));
    assert!(poll_immediate(&mut full).await.is_none());
    assert!(poll_immediate(&mut driver).await.is_none());
    gate.permits.add_permits(1);
    assert_eq!(first.await.unwrap(), [2]);
    assert!(poll_immediate(&mut full).await.is_none());
    // Of the third flush, whose call is the driver's.
    assert!(poll_immediate(&mut last).await.is_none());
    gate.permits.add_permits(1);
    assert!(poll_immediate(&mut last).await.is_none());
    assert_eq!(full.await.unwrap().len(), 600);
    // The driver ends the third. If it drove a fourth, it would begin that too, and drop it.
    assert!(poll_immediate(&mut driver).await.is_none());
    gate.permits.add_permits(1);
    assert_eq!(driver.await.unwrap()[0], 6);
    assert_eq!(*lock(&gate.dropped), 0, "flushes dropped");
    gate.permits.add_permits(1);
    assert_eq!(last.await.unwrap()[0], 8);
    assert_eq!(*lock(&gate.flushed), [1, 600, 600, 600]);
}

/// R10.2: a call that has waited behind a flush without an answer fails with it.
/// Guard: `give_up_behind`.
#[tokio::test]
async fn r10_2_who_waited_behind_a_silent_store_does_not_wait_for_it_again() {
    let (coalescer, gate) = coalescer_with(false, Duration::ZERO);
    let mut silent = pin!(coalescer.submit(vec![5]));
    assert!(poll_immediate(&mut silent).await.is_none());
    let mut behind = pin!(join_all([1, 2].map(|n| coalescer.submit(vec![n]))));
    assert!(poll_immediate(&mut behind).await.is_none());
    gate.permits.add_permits(1);
    assert_eq!(*silent.await.unwrap_err().kind(), ErrorKind::Indeterminate);
    let answers = poll_immediate(&mut behind).await.expect("they are answered with it");
    for answer in answers {
        assert_eq!(*answer.unwrap_err().kind(), ErrorKind::Unavailable, "certainly not applied");
    }
    assert_eq!(*lock(&gate.flushed), [1]);
    gate.permits.add_permits(1);
    assert_eq!(coalescer.submit(vec![4]).await.unwrap(), [8], "and none after it");
}

/// A caller that has just arrived has its own time limit. Guard: `is_late`.
#[tokio::test]
async fn r10_2_who_came_late_behind_a_silent_store_is_tried() {
    let (coalescer, gate) = coalescer_with(false, Duration::MAX);
    let mut silent = pin!(coalescer.submit(vec![5]));
    assert!(poll_immediate(&mut silent).await.is_none());
    let mut behind = pin!(coalescer.submit(vec![1]));
    assert!(poll_immediate(&mut behind).await.is_none());
    gate.permits.add_permits(2);
    assert!(silent.await.is_err());
    assert_eq!(behind.await.unwrap(), [2]);
}

/// R10.2: callers told apart because of one of them do not each wait for a store that has gone
/// silent meanwhile. Guard: `silent` in `run_alone`.
#[tokio::test]
async fn r10_2_calls_told_apart_do_not_each_wait_for_a_silent_store() {
    let (coalescer, gate) = coalescer_with(false, Duration::ZERO);
    let mut answers = pin!(join_all([9, 0, 5, 3, 4].map(|n| coalescer.submit(vec![n]))));
    assert!(poll_immediate(&mut answers).await.is_none());
    gate.permits.add_permits(9);
    let kinds = answers.await.into_iter().skip(2).map(|answer| answer.unwrap_err().kind().clone());
    let silent = [ErrorKind::Indeterminate, ErrorKind::Unavailable, ErrorKind::Unavailable];
    assert_eq!(kinds.collect::<Vec<_>>(), silent);
    assert_eq!(*lock(&gate.flushed), [1, 4, 1, 1], "those behind were not flushed");
}
