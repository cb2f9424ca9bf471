//! Work that keeps a thread busy for more than a millisecond, and so would hold up other requests.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

/// Work on this many bytes takes about a millisecond.
const LARGE: usize = 256 * 1024;

/// As many places as the machine has cores: more work at once would end no sooner, and would leave
/// less of the machine to other requests.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, NonZero::get)));

/// Does work on this many bytes. Large work waits for a place, and while this thread does it,
/// another one runs other requests.
pub(crate) async fn off_the_runtime<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes < LARGE { work() } else { slow_off_the_runtime(work).await }
}

/// The same for work that may take long whatever its size, such as to find out that a cron
/// expression never matches.
pub(crate) async fn slow_off_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    // The semaphore is never closed.
    let _place = PLACES.acquire().await;
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
    use std::time::Duration;

    use super::*;

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
                tokio::spawn(async move { off_the_runtime(LARGE, || work(&working, &told)).await })
            })
            .collect();
        let others = async {
            while working.load(Ordering::SeqCst) < cores {
                tokio::task::yield_now().await;
            }
            // A request on the only thread of the runtime.
            tokio::spawn(async { off_the_runtime(LARGE - 1, || "answered").await }).await.unwrap()
        };
        let answer = tokio::time::timeout(Duration::from_secs(10), others).await;
        works.iter().for_each(|_| tell.send(()).unwrap());
        assert_eq!(answer, Ok("answered"));
        for work in works {
            assert!(work.await.unwrap() <= cores, "too many at once");
        }
    }
}
