//! Schedules (contract R15.2).

use std::sync::atomic::Ordering;

use queuekit_conformance::kit::{HOUR, build, draft, schedule_name};
use queuekit_core::capability::{ScheduleChange, ScheduleChanged, ScheduleQuery, Schedules};
use queuekit_core::{Backend, ErrorKind, ScheduleDraft, Scheduler};

use super::super::store_fixture::all_jobs;
use super::{Lossy, LossyStage};

pub(crate) async fn r15_2_a_change_of_a_schedule_whose_reply_was_lost_is_repeated<S: LossyStage>(
    test: &str,
) {
    let case = async |lossy: &Lossy<S>| {
        let name = schedule_name(&format!("s{}", lossy.after.load(Ordering::Relaxed)));
        let change = |seen, body: &'static [u8], jobs| ScheduleChange {
            name: name.clone(),
            seen,
            to: Some((None, body.into())),
            jobs,
        };
        let query = ScheduleQuery::Named(name.clone());
        let made = change(None, b"made", Vec::new());
        let _ = lossy.call(lossy.store.change_schedule(&made)).await;
        let _ = lossy.stage.store().change_schedule(&made).await.unwrap();
        let again = lossy.stage.store().change_schedule(&made).await.unwrap();
        assert_eq!(again, ScheduleChanged::Stale, "what was in doubt took effect, or was repeated");
        let found = lossy.call(lossy.store.find_schedules(&query)).await.expect("rows");
        let job = build(draft());
        let moved = change(Some(found.rows[0].revision), b"moved", vec![job.clone()]);
        if let Some(changed) = lossy.call(lossy.store.change_schedule(&moved)).await {
            assert_eq!(changed, ScheduleChanged::Changed);
        }
        // The next call finds the change finished, and repeating it does nothing.
        let again = lossy.stage.store().change_schedule(&moved).await.unwrap();
        assert!([ScheduleChanged::Stale, ScheduleChanged::Changed].contains(&again), "{again:?}");
        let rows = lossy.stage.store().find_schedules(&query).await.unwrap().rows;
        assert_eq!(rows[0].body, "moved");
        assert!(lossy.stage.store().delete_job(job.id(), false).await.unwrap(), "stored once");
        let again = lossy.stage.store().change_schedule(&moved).await.unwrap();
        assert_eq!(again, ScheduleChanged::Stale);
        assert!(all_jobs(lossy.stage.store()).await.is_empty());
    };
    Lossy::<S>::each_reply(test, case).await;
}

pub(crate) async fn r15_2_a_tick_whose_replies_were_lost_is_repeated<S: LossyStage>(test: &str) {
    let case = async |lossy: &Lossy<S>| {
        let name = format!("s{}", lossy.after.load(Ordering::Relaxed));
        let name = schedule_name(&name);
        let direct = Scheduler::of(lossy.stage.store());
        let hourly = ScheduleDraft::every(name.clone(), HOUR, draft()).build().unwrap();
        assert!(direct.put(&hourly).await.unwrap());
        // The latest full hour was missed.
        let query = ScheduleQuery::Named(name.clone());
        let row = lossy.stage.store().find_schedules(&query).await.unwrap().rows.remove(0);
        let missed = row.next_at.expect("a next time").minus(HOUR);
        let due = ScheduleChange {
            name: name.clone(),
            seen: Some(row.revision),
            to: Some((Some(missed), row.body)),
            jobs: Vec::new(),
        };
        let changed = lossy.stage.store().change_schedule(&due).await.unwrap();
        assert_eq!(changed, ScheduleChanged::Changed);
        let lossy_scheduler = Scheduler::of(&lossy.store);
        if let Some(ticked) = lossy.call(lossy_scheduler.tick()).await {
            let kinds: Vec<_> = ticked.failed.iter().map(|(_, error)| error.kind()).collect();
            assert!(kinds.iter().all(|kind| **kind == ErrorKind::Indeterminate), "{kinds:?}");
        }
        direct.tick().await.unwrap();
        let stored = direct.get(&name).await.unwrap().expect("the schedule");
        assert_eq!((stored.enqueued, stored.next_at), (1, row.next_at));
        let job = stored.last.expect("an occurrence").job;
        assert!(lossy.stage.store().delete_job(job, false).await.unwrap());
        assert_eq!(direct.tick().await.unwrap().enqueued, 0);
        assert!(all_jobs(lossy.stage.store()).await.is_empty(), "it was enqueued once");
    };
    Lossy::<S>::each_reply(test, case).await;
}
