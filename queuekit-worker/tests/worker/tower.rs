//! Layers of tower around handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Fixture, Greet, greet};
use queuekit_worker::{Ctx, JobError, JobResult};
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;

#[tokio::test]
async fn a_timeout_of_tower_fails_the_attempt() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler = |_: Greet, ctx: Ctx| async move {
        if !ctx.is_final_attempt() {
            std::future::pending::<()>().await;
        }
        JobResult::Ok("done")
    };
    let layer = TimeoutLayer::new(Duration::from_millis(50));
    let summary = fixture.worker().layer(layer).handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.completed, summary.failed), (1, 2));
    let job = fixture.job(id).await;
    assert_eq!(job.errors[0].error.as_str(), "request timed out");
    assert_eq!(job.result.as_deref(), Some(&b"\"done\""[..]));
}

#[tokio::test]
async fn a_concurrency_limit_of_tower_holds_over_all_runs() {
    let fixture = Fixture::new();
    for _ in 0..6 {
        fixture.enqueue(greet("Ada")).await;
    }
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let handler = move |_: Greet, _: Ctx| {
        let (now, seen) = (Arc::clone(&now), Arc::clone(&seen));
        async move {
            seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            JobResult::Ok(())
        }
    };
    let worker = fixture.worker().layer(ConcurrencyLimitLayer::new(2)).handle(handler);
    assert_eq!(worker.run_until_idle().await.unwrap().completed, 6);
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_a_handler_says_of_its_job_passes_through_layers() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let handler =
        |_: Greet, _: Ctx| async { JobResult::<()>::Err(JobError::fatal("no such user")) };
    let layers = tower::ServiceBuilder::new().concurrency_limit(4).timeout(Duration::from_secs(60));
    let summary = fixture.worker().layer(layers).handle(handler).run_until_idle().await.unwrap();
    assert_eq!((summary.dead, summary.total()), (1, 1));
    assert_eq!(fixture.job(id).await.errors[0].error.as_str(), "no such user");
}
