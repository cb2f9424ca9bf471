//! Turns of look-ups of queues and other objects by name, which read figures that the store has to
//! add up.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::auth::Caller;
use super::fair_share::{FairShare, ShareSize};
use super::memory_budget::RequestBudget;
use super::problem::Problem;

/// How long a look-up waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How many there are of each sort at once: together fewer than a store has connections.
const AT_ONCE: usize = 3;

/// Look-ups whose answer goes to the caller.
static READS: LazyLock<FairShare> = LazyLock::new(turns);
/// Look-ups of names that a change or an enqueue would create. They are quick, and do not wait
/// behind reads.
static ADMISSIONS: LazyLock<FairShare> = LazyLock::new(turns);

/// A turn to look something up; others wait until it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only dropped")]
pub(crate) struct LookupTurn(LookupLine, OwnedSemaphorePermit);

/// The first place in the line of a key's look-ups, until it is dropped. Its holder waits for no
/// other request in this line, so it may hold what other keys wait for.
#[derive(Debug)]
pub(crate) struct LookupLine {
    sort: &'static FairShare,
    _own: Option<OwnedSemaphorePermit>,
}

/// Waits for a turn to read.
///
/// # Errors
/// 429 if reads of the same key take too long; 503 if those of others do.
pub(crate) async fn lookup_turn(caller: &Caller) -> Result<LookupTurn, Problem> {
    let line = read_line(caller).await?;
    let turn = line.turn().await?;
    Ok(LookupTurn(line, turn))
}

/// The same for a read that needs memory. A turn holds up other keys, so the memory of the caller's
/// key comes before it.
///
/// # Errors
/// As [`lookup_turn`]; 429 or 503 if there is no memory for a while.
pub(crate) async fn lookup_turn_with(
    budget: &mut RequestBudget,
    bytes: usize,
) -> Result<LookupTurn, Problem> {
    let line = read_line(budget.caller()).await?;
    budget.wait_for(bytes).await?;
    let turn = line.turn().await?;
    Ok(LookupTurn(line, turn))
}

/// Waits for the head of the line of the key's reads.
///
/// # Errors
/// 429 if they take too long.
pub(crate) async fn read_line(caller: &Caller) -> Result<LookupLine, Problem> {
    LookupLine::of(&READS, caller).await
}

/// The same for look-ups of names that the key is about to create.
///
/// # Errors
/// 429 if they take too long.
pub(crate) async fn admission_line(caller: &Caller) -> Result<LookupLine, Problem> {
    LookupLine::of(&ADMISSIONS, caller).await
}

impl LookupLine {
    async fn of(sort: &'static FairShare, caller: &Caller) -> Result<Self, Problem> {
        let own = sort.wait_for_key(caller, 1, WAIT_MAX).await?;
        Ok(Self { sort, _own: own })
    }

    /// A turn for a look-up of this key.
    ///
    /// # Errors
    /// 503 if look-ups of other keys take too long.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.sort.wait_for_shared(1, WAIT_MAX).await
    }
}

/// Guard: however many look-ups a key begins, only one of them asks the store, so that calls of
/// other keys wait for one of each key at most.
fn turns() -> FairShare {
    let lookups = FairShare::empty("look-ups");
    lookups.resize(ShareSize { all: AT_ONCE, of_key: 1 });
    lookups
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;
    use crate::web::auth::tests::caller_of;

    #[tokio::test(start_paused = true)]
    async fn s6_a_key_looks_up_one_thing_at_a_time() {
        let (turns, now, most) = (turns(), AtomicUsize::new(0), AtomicUsize::new(0));
        let look_up = async |caller: &Caller| {
            let _turn = turns.wait(caller, WAIT_MAX).await.expect("a turn");
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            now.fetch_sub(1, Ordering::SeqCst);
        };
        let busy = caller_of("busy", 1000);
        join_all((0..20).map(|_| look_up(&busy))).await;
        assert_eq!(most.swap(0, Ordering::SeqCst), 1);
        let callers = ["a", "b", "c", "d", "e"].map(|key| caller_of(key, 1000));
        join_all(callers.iter().map(look_up)).await;
        assert_eq!(most.into_inner(), AT_ONCE);
    }
}
