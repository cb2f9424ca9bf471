//! R15.2: workers tick.

use std::time::Duration;

use queuekit_core::schedule::SCHEDULE;
use queuekit_core::{JobDraft, ScheduleDraft};
use queuekit_worker::{Ctx, JobResult};

use crate::worker::Live;
use crate::worker::kit::{Task, events, next, soon};

/// R15.2: a worker enqueues and runs the jobs of the store's schedules, with no other process. It
/// sees a schedule that is created while it runs within 5 s; `next` waits three times as long.
/// Guard: the task that ticks schedules.
pub(in crate::worker) async fn r15_2_a_worker_enqueues_what_its_schedules_say(live: Live) {
    let every_second = |name: &str, n| {
        let job = JobDraft::of(&Task { n });
        ScheduleDraft::every(name, Duration::from_secs(1), job)
    };
    let (tell, mut told) = events();
    let handler = move |task: Task, ctx: Ctx| {
        let schedule = ctx.metadata().get(SCHEDULE).map(str::to_owned);
        tell.send((task.n, schedule)).expect("heard");
        async { JobResult::Ok(()) }
    };
    live.client.schedule(every_second("before", 1)).await.expect("schedule");
    let worker = live.worker().handle(handler).start().await.expect("start");
    for _ in 0..2 {
        assert_eq!(next(&mut told).await, (1, Some("before".to_owned())));
    }
    live.client.schedule(every_second("while", 2)).await.expect("schedule");
    let seen = async { while next(&mut told).await != (2, Some("while".to_owned())) {} };
    soon(seen).await;
    worker.drain(Duration::from_secs(5)).await;
}
