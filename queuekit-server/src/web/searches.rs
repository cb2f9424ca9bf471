//! Turns of searches of the contents of jobs, which cost more than other calls.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;

use super::auth::Caller;
use super::fair_share::{FairShare, SharePermit, ShareSize};
use super::problem::Problem;

/// How long a search waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// One search for each two cores, and one of each key. Searches give way to other requests after
/// each millisecond, but every one of them gets its turn before these do.
static SEARCHES: LazyLock<FairShare> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, NonZero::get);
    with_places(cores.div_ceil(2))
});

/// A turn to search; others wait until it is dropped.
///
/// # Errors
/// 429 if searches of the same key take too long; 503 if those of others do.
pub(crate) async fn search_turn(caller: &Caller) -> Result<SharePermit, Problem> {
    SEARCHES.wait(caller, WAIT_MAX).await
}

/// Guard: however many searches a key begins, only one of them waits in line, so that a search of
/// another key waits for one of each key at most.
fn with_places(all: usize) -> FairShare {
    let searches = FairShare::empty("searches");
    searches.resize(ShareSize { all, of_key: 1 });
    searches
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;
    use crate::web::auth::tests::caller_of;

    #[tokio::test(start_paused = true)]
    async fn s6_a_search_waits_for_one_of_each_other_key() {
        let searches = with_places(1);
        let (busy, operator) = (caller_of("busy", 1000), caller_of("operator", 1000));
        let search = async |caller: &Caller| {
            let _turn = searches.wait(caller, WAIT_MAX).await.expect("a turn");
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        let began = tokio::time::Instant::now();
        let many = join_all((0..20).map(|_| search(&busy)));
        let one = async {
            search(&operator).await;
            began.elapsed()
        };
        let (_, took) = tokio::join!(many, one);
        assert_eq!(took, Duration::from_secs(2), "its own, and one of the other key");
    }
}
