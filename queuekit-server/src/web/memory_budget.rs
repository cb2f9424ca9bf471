//! A budget of memory for requests and answers, counted before it is allocated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::HttpLimits;
use super::answer_share::AnswerShare;
use super::auth::Caller;
use super::fair_share::{FairShare, KEY_PART, ShareSize};
use super::problem::Problem;
use super::unsent_answers::UnsentAnswer;

/// The budget is counted in pieces of this size.
const PIECE: usize = 1024;
/// This fraction of the budget is reserved for calls that end or extend leases, and half of it for
/// those of one key.
const KEPT: usize = 8;
const KEPT_OF_KEY: usize = 2;
/// Answers together get this fraction of the rest, so that bodies, which do not wait, find room
/// beside any number of answers.
const ANSWERS: usize = 2;
/// This fraction of what answers get is for leases: however slowly others read pages, workers get
/// jobs.
const LEASES: usize = 4;
/// A key may use two fifths of the memory for pages: then it reads two at once, and two keys leave
/// room for a page of another.
const PAGES_OF_KEY: (usize, usize) = (2, 5);
/// How long to wait for others to give back memory.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The budget.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    pieces: FairShare,
    /// Reserved for calls that end or extend leases: neither a full server nor a key that has used
    /// up its share may make jobs run again.
    kept: FairShare,
    /// What answers with leases may use of the pieces.
    leases: AnswerShare,
    /// The same for all other answers.
    pages: AnswerShare,
    /// What one key may have, in bytes.
    of_key: AtomicUsize,
}

impl MemoryBudget {
    /// Empty until it has a size.
    pub(crate) fn empty() -> Self {
        let pieces = FairShare::empty("bytes of requests and answers");
        let (leases, pages) = (AnswerShare::empty(), AnswerShare::empty());
        let kept = FairShare::empty("bytes of acks and extends");
        Self { pieces, kept, leases, pages, of_key: AtomicUsize::new(0) }
    }

    /// A body of the largest size always fits if nothing else is in use.
    pub(crate) fn resize(&self, limits: &HttpLimits) {
        let HttpLimits { body_bytes: body, buffered_bytes: all, .. } = *limits;
        // The rest must still have room for one body of the largest size.
        let kept = (all / KEPT).min(all.saturating_sub(body));
        let of_key = (all / KEY_PART).max(body);
        let answers = (all - kept) / ANSWERS;
        self.of_key.store(of_key, Ordering::Relaxed);
        self.pieces.resize(ShareSize { all: pieces(all - kept), of_key: pieces(of_key) });
        let leases = answers / LEASES;
        let pages = answers - leases;
        let of_key = leases / KEY_PART;
        self.leases.resize(ShareSize { all: leases / PIECE, of_key: of_key / PIECE });
        let of_key = pages * PAGES_OF_KEY.0 / PAGES_OF_KEY.1;
        self.pages.resize(ShareSize { all: pages / PIECE, of_key: of_key / PIECE });
        let kept = kept / PIECE;
        self.kept.resize(ShareSize { all: kept, of_key: kept / KEPT_OF_KEY });
    }
}

/// The part of the budget that one request uses, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestBudget {
    memory: Arc<MemoryBudget>,
    caller: Caller,
    settles: bool,
    for_leases: bool,
    of_key: Option<OwnedSemaphorePermit>,
    of_all: Option<OwnedSemaphorePermit>,
    of_kept: Option<OwnedSemaphorePermit>,
    of_kept_of_key: Option<OwnedSemaphorePermit>,
    of_answers: Option<OwnedSemaphorePermit>,
    of_answers_of_key: Option<OwnedSemaphorePermit>,
    unsent: Option<UnsentAnswer>,
    held: usize,
}

impl RequestBudget {
    /// Nothing yet. A call that settles leases may also use the reserved part.
    pub(crate) fn of(memory: &Arc<MemoryBudget>, caller: &Caller, settles: bool) -> Self {
        let (memory, caller) = (Arc::clone(memory), caller.clone());
        Self {
            memory,
            caller,
            settles,
            for_leases: false,
            of_key: None,
            of_all: None,
            of_kept: None,
            of_kept_of_key: None,
            of_answers: None,
            of_answers_of_key: None,
            unsent: None,
            held: 0,
        }
    }

    /// The same for an answer with leases, which has a part of the memory of its own.
    #[must_use]
    pub(crate) fn for_leases(self) -> Self {
        Self { for_leases: true, ..self }
    }

    /// Whose request it is.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.held * PIECE
    }

    /// Grows to at least this size.
    ///
    /// # Errors
    /// 429 if the key has its share; 503 if the budget is used up.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let missing = pieces(bytes).saturating_sub(self.held);
        if missing == 0 {
            return Ok(());
        }
        let many = u32::try_from(missing).unwrap_or(u32::MAX);
        let MemoryBudget { pieces, kept, .. } = &*self.memory;
        match take(pieces, &self.caller, many) {
            Ok((own, all)) => {
                join(&mut self.of_key, own);
                join(&mut self.of_all, Some(all));
            }
            // If acks and extensions were refused when memory is short, or when other calls of
            // their key have used up its share, finished work would run again.
            Err(refused) if self.settles => {
                let (own, all) = take(kept, &self.caller, many).map_err(|_| refused)?;
                join(&mut self.of_kept_of_key, own);
                join(&mut self.of_kept, Some(all));
            }
            Err(refused) => return Err(refused),
        }
        self.held += missing;
        Ok(())
    }

    /// The most that its key may have, in bytes.
    pub(super) fn most_of_key(&self) -> usize {
        self.memory.of_key.load(Ordering::Relaxed)
    }

    /// Grows to this size for an answer, or to the most that one answer may use, and waits for
    /// others to give back memory.
    ///
    /// # Errors
    /// As for [`grow_to`](Self::grow_to), after a wait.
    pub(crate) async fn wait_for(&mut self, bytes: usize) -> Result<(), Problem> {
        self.wait_up_to(WAIT_MAX, bytes).await
    }

    /// The same without a wait.
    ///
    /// # Errors
    /// As for [`grow_to`](Self::grow_to).
    pub(crate) async fn take_for_answer(&mut self, bytes: usize) -> Result<(), Problem> {
        self.wait_up_to(Duration::ZERO, bytes).await
    }

    async fn wait_up_to(&mut self, time: Duration, bytes: usize) -> Result<(), Problem> {
        let memory = Arc::clone(&self.memory);
        let answers = if self.for_leases { &memory.leases } else { &memory.pages };
        // More than this never becomes free.
        let missing = pieces(bytes).min(answers.most()).saturating_sub(self.held);
        if missing == 0 {
            return Ok(());
        }
        let many = u32::try_from(missing).unwrap_or(u32::MAX);
        let (pieces, end) = (&memory.pieces, Instant::now() + time);
        let left = || end.saturating_duration_since(Instant::now());
        // The part of the key first, so that a key beyond it takes nothing from others.
        let of_answers_of_key = answers.wait_for_key(&self.caller, many, left()).await?;
        let of_answers = answers.wait_for_shared(&self.caller, many, left()).await?;
        // Guard: an answer that waits for others holds nothing of what its key needs for bodies.
        let of_key = pieces.wait_for_key(&self.caller, many, left()).await?;
        let of_all = pieces.wait_for_shared(many, left()).await?;
        join(&mut self.of_key, of_key);
        join(&mut self.of_answers, Some(of_answers));
        join(&mut self.of_answers_of_key, of_answers_of_key);
        join(&mut self.of_all, Some(of_all));
        self.held += missing;
        self.unsent.get_or_insert_with(|| answers.begin(&self.caller));
        self.count_unsent();
        Ok(())
    }

    /// From now on only the client keeps this memory: if it reads slowly and others wait for
    /// memory, its connection ends. What has been sent is to be added to the number that is
    /// returned.
    pub(crate) fn begin_sending(&self) -> Arc<AtomicUsize> {
        let unsent = self.unsent.as_ref();
        unsent.map(|unsent| unsent.send_to(&self.caller)).unwrap_or_default()
    }

    fn count_unsent(&self) {
        if let (Some(unsent), Some(held)) = (&self.unsent, &self.of_answers) {
            unsent.set_held(held.num_permits());
        }
    }

    /// Shrinks to this size.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let spare = self.held.saturating_sub(pieces(bytes));
        let spare_of_all = self.of_all.as_mut().and_then(|held| held.split(spare));
        // The reserved part is not counted here, and is given back when it is dropped.
        if spare_of_all.is_some() {
            drop(self.of_key.as_mut().and_then(|held| held.split(spare)));
            // A body is held beside the answer, and was not counted as one.
            for held in [&mut self.of_answers, &mut self.of_answers_of_key] {
                drop(held.as_mut().and_then(|held| held.split(spare.min(held.num_permits()))));
            }
            self.held -= spare;
            self.count_unsent();
        }
    }
}

/// Takes from the key's share and from that of all.
fn take(
    pieces: &FairShare,
    caller: &Caller,
    many: u32,
) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), Problem> {
    let own = pieces.take_for_key(caller, many)?;
    Ok((own, pieces.take_shared(many)?))
}

fn join(held: &mut Option<OwnedSemaphorePermit>, more: Option<OwnedSemaphorePermit>) {
    match (held, more) {
        (Some(held), Some(more)) => held.merge(more),
        (held, more) => *held = more.or(held.take()),
    }
}

fn pieces(bytes: usize) -> usize {
    bytes.div_ceil(PIECE)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;
    use crate::web::Scope;
    use crate::web::keys::{Keys, NewKey};

    const MIB: usize = 1 << 20;

    fn memory() -> Arc<MemoryBudget> {
        let (buffered_bytes, body_bytes) = (32 * MIB, MIB);
        let limits = HttpLimits { buffered_bytes, body_bytes, ..HttpLimits::default() };
        let memory = MemoryBudget::empty();
        memory.resize(&limits);
        Arc::new(memory)
    }

    fn caller(id: &str) -> Caller {
        let key = NewKey::draw(id, vec![Scope::Admin]).unwrap();
        let sent = format!("Bearer {}", key.secret);
        let request = Request::builder().header("authorization", sent).body(()).unwrap();
        Caller::of(&Keys::new(vec![key.entry], None), false, &request.into_parts().0).unwrap()
    }

    #[test]
    fn s6_one_key_has_a_quarter_of_the_memory_and_what_settles_the_last_of_it() {
        let memory = memory();
        let callers = ["a", "b", "c", "d", "e"].map(caller);
        let mut budgets =
            callers.each_ref().map(|caller| RequestBudget::of(&memory, caller, false));
        for budget in &mut budgets[..3] {
            budget.grow_to(8 * MIB).unwrap();
            assert_eq!(budget.grow_to(8 * MIB + 1).unwrap_err().kind(), "rate_limited");
        }
        budgets[3].grow_to(4 * MIB).unwrap();
        assert_eq!(budgets[4].grow_to(1).unwrap_err().kind(), "overloaded");
        let mut settling = RequestBudget::of(&memory, &callers[4], true);
        settling.grow_to(2 * MIB).unwrap();
        assert_eq!(settling.grow_to(3 * MIB).unwrap_err().kind(), "overloaded");
        let mut of_full_key = RequestBudget::of(&memory, &callers[0], true);
        of_full_key.grow_to(2 * MIB).unwrap();
        assert_eq!(of_full_key.grow_to(2 * MIB + 1).unwrap_err().kind(), "rate_limited");
        budgets[0].shrink_to(MIB);
        budgets[4].grow_to(7 * MIB).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn s6_answers_leave_half_of_the_memory_to_bodies() {
        let memory = memory();
        let callers = ["a", "b", "c", "d", "e", "f"].map(caller);
        let of = |at: usize| RequestBudget::of(&memory, &callers[at], false);
        let mut answers: Vec<_> = (0..3).map(of).collect();
        for (answer, kib) in answers.iter_mut().zip([4 * 1024, 4 * 1024, 2560]) {
            answer.wait_for(kib * 1024).await.unwrap();
        }
        let mut leases: Vec<_> = (0..4).map(|at| of(at).for_leases()).collect();
        for answer in &mut leases {
            answer.wait_for(100 * MIB).await.unwrap();
        }
        let mut late = of(4);
        assert_eq!(late.wait_for(MIB).await.unwrap_err().kind(), "overloaded");
        let mut bodies = [of(4), of(5)];
        bodies[0].grow_to(8 * MIB).unwrap();
        bodies[1].grow_to(6 * MIB).unwrap();
        answers[0].shrink_to(MIB);
        drop(bodies);
        late.wait_for(MIB).await.unwrap();
    }

    /// Guard: a key has a part of what answers may use, and leases have a part of their own.
    #[tokio::test(start_paused = true)]
    async fn s6_pages_that_are_read_slowly_keep_no_others_from_pages_and_no_worker_from_leases() {
        let memory = memory();
        let callers = ["a", "b", "c", "d", "w"].map(caller);
        let of = |at: usize| RequestBudget::of(&memory, &callers[at], false);
        let mut slow = [of(0), of(1)];
        for page in &mut slow {
            page.wait_for(100 * MIB).await.unwrap();
        }
        let began = Instant::now();
        of(2).wait_for(2 * MIB).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO, "two keys leave room for a page");
        assert_eq!(of(0).wait_for(MIB).await.unwrap_err().kind(), "rate_limited");
        let mut rest = of(3);
        rest.wait_for(2 * MIB).await.unwrap();
        assert_eq!(of(2).wait_for(MIB).await.unwrap_err().kind(), "overloaded");
        let began = Instant::now();
        of(4).for_leases().wait_for(MIB / 2).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    /// Guard: an answer takes the part of its key last, once it has all else.
    #[tokio::test(start_paused = true)]
    async fn s6_answers_that_wait_for_others_leave_their_key_room_for_bodies() {
        let memory = memory();
        let callers = ["a", "b", "c", "victim"].map(caller);
        let of = |at: usize| RequestBudget::of(&memory, &callers[at], false);
        let mut slow = [of(0), of(1), of(2)];
        for page in &mut slow {
            page.wait_for(100 * MIB).await.ok();
        }
        let mut waiting: Vec<_> = (0..8).map(|_| of(3)).collect();
        let wait =
            futures_util::future::join_all(waiting.iter_mut().map(|page| page.wait_for(MIB)));
        let body = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            of(3).grow_to(5 * MIB)
        };
        let (_, body) = tokio::join!(wait, body);
        body.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_need_not_wait_is_refused_at_once() {
        let (memory, caller) = (memory(), caller("a"));
        let mut first = RequestBudget::of(&memory, &caller, false);
        first.take_for_answer(100 * MIB).await.unwrap();
        let began = Instant::now();
        let mut second = RequestBudget::of(&memory, &caller, false);
        assert_eq!(second.take_for_answer(1).await.unwrap_err().kind(), "rate_limited");
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn s6_who_can_wait_gets_what_others_give_back() {
        let (memory, caller) = (memory(), caller("a"));
        let mut first = RequestBudget::of(&memory, &caller, false);
        first.wait_for(100 * MIB).await.unwrap();
        let most = first.bytes();
        assert_eq!(most, 4300 * 1024, "two fifths of three quarters of 14 MiB");
        let mut second = RequestBudget::of(&memory, &caller, false);
        assert_eq!(second.wait_for(1).await.unwrap_err().kind(), "rate_limited");
        let shrink = async { first.shrink_to(most - MIB) };
        let (waited, ()) = tokio::join!(second.wait_for(MIB), shrink);
        waited.unwrap();
        assert_eq!((first.bytes(), second.bytes()), (most - MIB, MIB));
    }
}
