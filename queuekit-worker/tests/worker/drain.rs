//! How a worker ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Fixture, Greet, PATIENCE, greet};
use queuekit_core::memory::MemoryStore;
use queuekit_core::{Backend, Client};
use queuekit_worker::{Ctx, JobResult, Worker, WorkerState};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

#[tokio::test]
async fn drain_waits_for_handlers() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let finish = Arc::new(Notify::new());
    let may_finish = Arc::clone(&finish);
    let handler = move |_: Greet, _: Ctx| {
        started.send(()).unwrap();
        let may_finish = Arc::clone(&may_finish);
        async move {
            may_finish.notified().await;
            JobResult::Ok(())
        }
    };
    let running = fixture.worker().handle(handler).start().await.unwrap();
    timeout(PATIENCE, starts.recv()).await.unwrap();
    assert_eq!(running.snapshot().state, WorkerState::Running);
    let drain = running.drain(PATIENCE);
    let finish = async {
        while running.snapshot().state != WorkerState::Draining {
            tokio::task::yield_now().await;
        }
        finish.notify_one();
    };
    let (summary, ()) = tokio::join!(drain, finish);
    assert_eq!((summary.completed, summary.total()), (1, 1));
    assert_eq!(fixture.status(id).await, "completed");
    assert_eq!(running.snapshot().state, WorkerState::Stopped);
}

#[tokio::test]
async fn handlers_hear_that_a_drain_has_begun_before_they_are_given_up() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let handler = move |_: Greet, ctx: Ctx| {
        let started = started.clone();
        async move {
            started.send(ctx.is_draining()).unwrap();
            ctx.draining().await;
            JobResult::Ok((ctx.is_draining(), ctx.is_cancelled()))
        }
    };
    let running = fixture.worker().handle(handler).start().await.unwrap();
    assert_eq!(timeout(PATIENCE, starts.recv()).await.unwrap(), Some(false));
    let summary = running.drain(PATIENCE).await;
    assert_eq!((summary.completed, summary.total()), (1, 1));
    assert_eq!(fixture.job(id).await.result.as_deref(), Some(&b"[true,false]"[..]));
}

#[tokio::test]
async fn drain_releases_what_does_not_end_and_spends_no_attempt() {
    let fixture = Fixture::new();
    let (started, mut starts) = mpsc::unbounded_channel();
    let handler = move |job: Greet, ctx: Ctx| {
        started.send(()).unwrap();
        async move {
            match &*job.name {
                "listens" => ctx.cancelled().await,
                _ => std::future::pending().await,
            }
            JobResult::<()>::Err("interrupted".into())
        }
    };
    let listens = fixture.enqueue(greet("listens")).await;
    let ignores = fixture.enqueue(greet("ignores")).await;
    let running = fixture.worker().handle(handler).start().await.unwrap();
    for _ in 0..2 {
        timeout(PATIENCE, starts.recv()).await.unwrap();
    }
    let summary = timeout(PATIENCE, running.drain(Duration::ZERO)).await.unwrap();
    assert_eq!((summary.released, summary.stuck, summary.total()), (2, 0, 2));
    for id in [listens, ignores] {
        let job = fixture.job(id).await;
        assert_eq!((job.status.as_str(), job.attempts, job.releases), ("ready", 0, 1));
    }
}

#[tokio::test]
async fn dropping_a_running_worker_ends_it() {
    let fixture = Fixture::new();
    let id = fixture.enqueue(greet("Ada")).await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let handler = move |_: Greet, _: Ctx| {
        started.send(()).unwrap();
        std::future::pending::<JobResult>()
    };
    let running = fixture.worker().handle(handler).start().await.unwrap();
    timeout(PATIENCE, starts.recv()).await.unwrap();
    drop(running);
    // The handler is dropped, and with it its end of the channel.
    assert_eq!(timeout(PATIENCE, starts.recv()).await.unwrap(), None);
    assert_eq!(fixture.job(id).await.releases, 1);
}

#[tokio::test]
async fn run_until_drains_when_its_future_resolves() {
    let fixture = Fixture::new();
    let (started, mut starts) = mpsc::unbounded_channel();
    let handler = move |_: Greet, _: Ctx| {
        started.send(()).unwrap();
        async { JobResult::Ok(()) }
    };
    let worker = fixture.worker().handle(handler);
    let end = async {
        fixture.enqueue(greet("Ada")).await;
        starts.recv().await.unwrap();
    };
    let summary = timeout(PATIENCE, worker.run_until(end)).await.unwrap().unwrap();
    assert_eq!(summary.completed, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_worker_is_left_but_a_handler_that_blocks() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryStore::new());
    let store = Arc::downgrade(&backend);
    let client = Client::shared(backend);
    client.enqueue(greet("Ada")).await.unwrap();
    let (started, mut starts) = mpsc::unbounded_channel();
    let (unblock, unblocked) = std::sync::mpsc::channel::<()>();
    let unblocked = Arc::new(Mutex::new(unblocked));
    let handler = move |_: Greet, _: Ctx| {
        started.send(()).unwrap();
        unblocked.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        async { JobResult::Ok(()) }
    };
    let running = Worker::new(client).handle(handler).start().await.unwrap();
    timeout(PATIENCE, starts.recv()).await.unwrap();
    let summary = timeout(PATIENCE, running.stop()).await.unwrap();
    assert_eq!((summary.released, summary.stuck, summary.total()), (1, 1, 1));
    drop(running);
    unblock.send(()).unwrap();
    // The last that is dropped is the handler itself.
    assert_eq!(timeout(PATIENCE, starts.recv()).await.unwrap(), None);
    while store.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_closed_store_ends_the_worker() {
    let fixture = Fixture::new();
    let handler = |_: Greet, _: Ctx| async { JobResult::Ok(()) };
    let worker = fixture.worker().poll_interval(Duration::from_millis(10)).handle(handler);
    let close = async {
        fixture.client.close().await.unwrap();
        std::future::pending::<()>().await;
    };
    let summary = timeout(PATIENCE, worker.run_until(close)).await.unwrap().unwrap();
    assert_eq!(summary.total(), 0);
}
