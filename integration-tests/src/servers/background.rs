//! A runtime beside those of the tests.
//!
//! The clock of a test may be paused, and then every time limit in it is over at once; its only
//! thread may be blocked; it may end while others still use what it has started. So nothing here
//! runs on it.

use std::panic::resume_unwind;
use std::sync::{OnceLock, mpsc};

use tokio::runtime::{Builder, Runtime};

/// Waits without blocking the caller's runtime.
pub(super) async fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let done = runtime().spawn(work).await;
    done.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// The same for work that blocks.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let done = runtime().spawn_blocking(work).await;
    done.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// Blocks the caller, who may be inside of a runtime.
pub(super) fn block_on<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    runtime().spawn(async move { tell.send(work.await) });
    told.recv().expect("the work does not panic")
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("test servers").enable_all();
        builder.build().expect("a runtime starts")
    })
}
