//! Memory for what clients send and are sent, counted before it is taken up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::HttpLimits;
use super::bound::{Bound, PART, Size};
use super::caller::Caller;
use super::permits::Permits;
use super::problem::Problem;

/// It is counted in pieces of this size.
const PIECE: usize = 1024;
/// Of all of it, this part is for what ends and keeps leases.
const KEPT: usize = 8;
/// For others to give back what they hold.
const PATIENCE: Duration = Duration::from_secs(5);

/// All there is.
#[derive(Debug)]
pub(crate) struct Memory {
    pieces: Bound,
    /// For what ends and keeps leases, where others have all the rest: jobs are not to run again
    /// because of them.
    kept: Permits,
    /// Most that one request finds room for.
    most: AtomicUsize,
}

impl Memory {
    /// None until it has a size.
    pub(super) fn none() -> Self {
        let pieces = Bound::none("bytes of requests and answers");
        Self { pieces, kept: Permits::none(), most: AtomicUsize::new(0) }
    }

    /// A body of the largest size always fits in, where nobody else has any.
    pub(super) fn resize(&self, limits: &HttpLimits) {
        let HttpLimits { body_bytes: body, buffered_bytes: all, .. } = *limits;
        let kept = (all / KEPT).min(all.saturating_sub(body));
        let of_key = (all / PART).max(body);
        self.pieces.resize(Size { all: pieces(all - kept), of_key: pieces(of_key) });
        self.kept.resize(kept / PIECE);
        self.most.store(of_key.min(all - kept), Ordering::Relaxed);
    }
}

/// What one request takes up of it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    memory: Arc<Memory>,
    caller: Caller,
    settles: bool,
    of_key: Option<OwnedSemaphorePermit>,
    of_all: Option<OwnedSemaphorePermit>,
    of_kept: Option<OwnedSemaphorePermit>,
    held: usize,
}

impl Room {
    /// Nothing yet. Who settles finds room in what is kept for that, too.
    pub(crate) fn of(memory: &Arc<Memory>, caller: &Caller, settles: bool) -> Self {
        let (memory, caller) = (Arc::clone(memory), caller.clone());
        Self { memory, caller, settles, of_key: None, of_all: None, of_kept: None, held: 0 }
    }

    /// How many bytes it is.
    pub(crate) fn bytes(&self) -> usize {
        self.held * PIECE
    }

    /// Makes it this large, at least.
    ///
    /// # Errors
    /// 429 if the key has all that one may have; 503 if there is no more.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let missing = pieces(bytes).saturating_sub(self.held);
        if missing == 0 {
            return Ok(());
        }
        let many = u32::try_from(missing).unwrap_or(u32::MAX);
        let Memory { pieces, kept, .. } = &*self.memory;
        let own = pieces.take_own(&self.caller, many)?;
        match pieces.take_of_all(many) {
            Ok(taken) => join(&mut self.of_all, Some(taken)),
            Err(full) => {
                let taken = if self.settles { kept.take(many) } else { None };
                let taken = taken.ok_or(full)?;
                join(&mut self.of_kept, Some(taken));
            }
        }
        join(&mut self.of_key, own);
        self.held += missing;
        Ok(())
    }

    /// Makes it this large, or as large as one request may have it, once others have given back
    /// what they hold.
    ///
    /// # Errors
    /// As for [`grow_to`](Self::grow_to), after a while.
    pub(crate) async fn wait_for(&mut self, bytes: usize) -> Result<(), Problem> {
        let most = self.memory.most.load(Ordering::Relaxed);
        let missing = pieces(bytes.min(most)).saturating_sub(self.held);
        if missing == 0 {
            return Ok(());
        }
        let many = u32::try_from(missing).unwrap_or(u32::MAX);
        let (own, all) = self.memory.pieces.wait_for(&self.caller, many, PATIENCE).await?;
        join(&mut self.of_key, own);
        join(&mut self.of_all, Some(all));
        self.held += missing;
        Ok(())
    }

    /// Gives back what it has beyond this.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let spare = self.held.saturating_sub(pieces(bytes));
        let spare_of_all = self.of_all.as_mut().and_then(|held| held.split(spare));
        // What was kept is not counted here, and stays until it is dropped.
        if spare_of_all.is_some() {
            drop(self.of_key.as_mut().and_then(|held| held.split(spare)));
            self.held -= spare;
        }
    }
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
    use crate::http::Scope;
    use crate::http::keys::{Keys, NewKey};

    const MIB: usize = 1 << 20;

    fn memory() -> Arc<Memory> {
        let (buffered_bytes, body_bytes) = (32 * MIB, MIB);
        let limits = HttpLimits { buffered_bytes, body_bytes, ..HttpLimits::default() };
        let memory = Memory::none();
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
        let mut rooms = callers.each_ref().map(|caller| Room::of(&memory, caller, false));
        for room in &mut rooms[..3] {
            room.grow_to(8 * MIB).unwrap();
            assert_eq!(room.grow_to(8 * MIB + 1).unwrap_err().kind(), "rate_limited");
        }
        rooms[3].grow_to(4 * MIB).unwrap();
        assert_eq!(rooms[4].grow_to(1).unwrap_err().kind(), "overloaded");
        let mut settling = Room::of(&memory, &callers[4], true);
        settling.grow_to(4 * MIB).unwrap();
        assert_eq!(settling.grow_to(5 * MIB).unwrap_err().kind(), "overloaded");
        rooms[0].shrink_to(MIB);
        rooms[4].grow_to(7 * MIB).unwrap_err();
        drop(settling);
        rooms[4].grow_to(7 * MIB).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn s6_who_can_wait_gets_what_others_give_back() {
        let (memory, caller) = (memory(), caller("a"));
        let mut first = Room::of(&memory, &caller, false);
        first.wait_for(100 * MIB).await.unwrap();
        assert_eq!(first.bytes(), 8 * MIB, "no more than one key may have");
        let mut second = Room::of(&memory, &caller, false);
        assert_eq!(second.wait_for(1).await.unwrap_err().kind(), "rate_limited");
        let (waited, ()) = tokio::join!(second.wait_for(MIB), async { first.shrink_to(7 * MIB) });
        waited.unwrap();
        assert_eq!((first.bytes(), second.bytes()), (7 * MIB, MIB));
    }
}
