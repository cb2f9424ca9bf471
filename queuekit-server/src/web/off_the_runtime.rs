//! Work that keeps a thread busy for more than a millisecond, and so would hold up other requests.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::auth::Caller;
use super::fair_share::{FairShare, ShareSize};

/// Work on this many bytes takes about a millisecond.
const LARGE: usize = 256 * 1024;

/// As many places as the machine has cores: more work at once would end no sooner, and would leave
/// less of the machine to other requests.
static PLACES: LazyLock<FairShare> =
    LazyLock::new(|| with_places(available_parallelism().map_or(1, NonZero::get)));

/// Does work on this many bytes for a caller. Large work waits for a place, and while this thread
/// does it, another one runs other requests.
pub(crate) async fn off_the_runtime<T>(
    caller: &Caller,
    bytes: usize,
    work: impl FnOnce() -> T,
) -> T {
    if bytes < LARGE { work() } else { slow_off_the_runtime(caller, work).await }
}

/// The same for work that may take long whatever its size, such as to find out that a cron
/// expression never matches.
pub(crate) async fn slow_off_the_runtime<T>(caller: &Caller, work: impl FnOnce() -> T) -> T {
    in_a_place(&PLACES, caller, work).await
}

/// Guard: however much large work a key has, only its part of the places is in line, so that the
/// work of another key waits for that part of each key at most.
fn with_places(all: usize) -> FairShare {
    let places = FairShare::empty("large bodies and answers in work");
    places.resize(ShareSize::with_equal_parts(all));
    places
}

/// Waits as long as it takes: each work is short, and an answer that was refused here would be one
/// of a call that has been done.
async fn in_a_place<T>(places: &FairShare, caller: &Caller, work: impl FnOnce() -> T) -> T {
    let _place = places.wait(caller, Duration::MAX).await;
    tokio::task::block_in_place(work)
}

static STREAMS: Semaphore = Semaphore::const_new(1);

/// Writes what a stream of the dashboard shows. All streams do so at the same moment, when there
/// are new figures, so they take turns and leave the other cores to requests.
pub(crate) async fn in_turn_of_streams<T>(work: impl FnOnce() -> T) -> T {
    // The semaphore is never closed.
    let _place = STREAMS.acquire().await;
    tokio::task::block_in_place(work)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::web::auth::tests::caller_of;

    /// Ends when told so. Counts itself while it works.
    fn work(working: &AtomicUsize, told: &Mutex<Receiver<()>>) -> usize {
        let count = working.fetch_add(1, Ordering::SeqCst) + 1;
        told.lock().unwrap().recv().unwrap();
        working.fetch_sub(1, Ordering::SeqCst);
        count
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn s6_large_work_holds_up_no_request_and_has_as_many_threads_as_there_are_cores() {
        let cores = available_parallelism().unwrap().get();
        let (tell, told) = channel();
        let (working, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(told)));
        let works: Vec<_> = (0..cores + 8)
            .map(|_| {
                let (working, told) = (Arc::clone(&working), Arc::clone(&told));
                let work = move || work(&working, &told);
                tokio::spawn(async move { off_the_runtime(&Caller::operator(), LARGE, work).await })
            })
            .collect();
        let others = async {
            while working.load(Ordering::SeqCst) < cores {
                tokio::task::yield_now().await;
            }
            // A request on the only thread of the runtime.
            let small =
                async { off_the_runtime(&Caller::operator(), LARGE - 1, || "answered").await };
            tokio::spawn(small).await.unwrap()
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), others).await;
        works.iter().for_each(|_| tell.send(()).unwrap());
        assert_eq!(answer, Ok("answered"));
        for work in works {
            assert!(work.await.unwrap() <= cores, "too many at once");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn s6_large_work_of_a_key_leaves_places_for_that_of_others() {
        let places = Arc::new(with_places(4));
        let (tell, told) = channel();
        let (working, told) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(told)));
        let busy = caller_of("busy", 1000);
        let works: Vec<_> = (0..8)
            .map(|_| {
                let (working, told) = (Arc::clone(&working), Arc::clone(&told));
                let (places, busy) = (Arc::clone(&places), busy.clone());
                let work = move || work(&working, &told);
                tokio::spawn(async move { in_a_place(&places, &busy, work).await })
            })
            .collect();
        while working.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        // All works of the key are in line by then.
        let other = caller_of("other", 1000);
        let served = tokio::spawn(async move { in_a_place(&places, &other, || "served").await });
        let served = tokio::time::timeout(Duration::from_secs(10), served).await;
        works.iter().for_each(|_| tell.send(()).unwrap());
        assert_eq!(served.expect("a place is left").unwrap(), "served");
        for work in works {
            assert_eq!(work.await.unwrap(), 1, "a quarter of the places is for a key");
        }
    }
}
