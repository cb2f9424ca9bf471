//! Every call of a store, for what all of them promise.

use futures_util::future::BoxFuture;
use queuekit_core::capability::{
    Act, Emission, EventFilter, NewCheckpoint, Report, ScheduleChange, ScheduleQuery, Settlement,
};
use queuekit_core::history::Resolution;
use queuekit_core::{
    Ack, Backend, Bytes, DeadLetter, JobFilter, LeaseToken, Nack, NackKind, PageSize, QueuePatch,
    Result,
};

use super::{
    TTL, a_run, all_times, beat_of, build, checkpoint_name, default_queue, draft, request,
    schedule_name, ttl, worker,
};

/// A call by its name; it can be made again and again.
pub type Call<'s> = (&'static str, Box<dyn Fn() -> BoxFuture<'s, Result<()>> + Send + Sync + 's>);

/// The calls of a method of `$on`, with arguments that are made anew for each.
macro_rules! calls {
    ($on:expr => $($name:ident($($arg:expr),*);)*) => {{
        let on = $on;
        vec![$({
            let call: Call<'s> = (
                stringify!($name),
                Box::new(move || Box::pin(async move { on.$name($($arg),*).await.map(drop) })),
            );
            call
        }),*]
    }};
}

/// Every call that asks the store for something, also those of its capabilities, about the job of
/// this lease. Left out are `close`, and subscriptions to wake-ups.
pub fn every_call<'s>(store: &'s dyn Backend, token: &'s LeaseToken) -> Vec<Call<'s>> {
    let id = token.id;
    let mut calls: Vec<Call<'s>> = calls! { store =>
        enqueue(&[build(draft())]);
        reserve(&request(default_queue(), 1));
        ack(&[Ack::new(token.clone())]);
        nack(&[Nack::new(token.clone(), NackKind::Retry, "failed", TTL)]);
        dead_letter(&[DeadLetter::of_job(id, "x")]);
        list_queues(None, PageSize::default());
        find_queues(&[default_queue()]);
        list_jobs(&JobFilter::default());
        get_job(id);
        job_states(&[id]);
        delete_job(id, false);
    };
    calls.extend(of_work(store, token));
    calls.extend(of_operators(store, token));
    calls.extend(of_sources(store));
    calls
}

/// The capabilities of workers.
fn of_work<'s>(store: &'s dyn Backend, token: &'s LeaseToken) -> Vec<Call<'s>> {
    let (can, mut calls) = (store.capabilities(), Vec::new());
    if let Some(leases) = can.leases {
        calls.extend(calls! { leases =>
            extend(std::slice::from_ref(token), ttl(TTL));
            report(&[Report::new(token.clone(), None, Vec::new())]);
            beat(&beat_of("w"));
            forget_worker(&worker("w"));
            list_workers(None, PageSize::default());
            find_worker(&worker("w"));
        });
    }
    if let Some(checkpoints) = can.checkpoints {
        let step = || NewCheckpoint::new(token.clone(), checkpoint_name("s"), "x");
        calls.extend(calls! { checkpoints =>
            put_checkpoint(&step()?);
            checkpoints(token);
            forget_checkpoints(&[token.id]);
        });
    }
    if let Some(exchange) = can.exchange {
        let settled = || Settlement { acks: vec![Ack::new(token.clone())], nacks: Vec::new() };
        calls.extend(calls! { exchange =>
            exchange(&settled(), &request(default_queue(), 1));
        });
    }
    if let Some(upkeep) = can.upkeep {
        calls.extend(calls! { upkeep =>
            prune();
            repair();
        });
    }
    calls
}

/// The capabilities of operators.
fn of_operators<'s>(store: &'s dyn Backend, token: &'s LeaseToken) -> Vec<Call<'s>> {
    let (can, mut calls, id) = (store.capabilities(), Vec::new(), token.id);
    if let Some(admin) = can.admin {
        calls.extend(calls! { admin =>
            configure(&default_queue(), &QueuePatch::default());
            remove_queue(&default_queue(), false);
            cancel(&[id]);
            retry(&[id]);
            retry_after(&[(id, TTL)]);
            reschedule(&[id], TTL);
            why(id);
        });
    }
    if let Some(inspect) = can.inspect {
        calls.extend(calls! { inspect =>
            check_writes();
            durability();
            facts();
            findings();
        });
    }
    if let Some(audit) = can.audit {
        calls.extend(calls! { audit =>
            record_act(&Act::new("who", "did", "what"));
            list_acts(None, PageSize::default());
        });
    }
    if let Some(errors) = can.errors {
        calls.extend(calls! { errors =>
            list_error_groups(&[default_queue()], PageSize::default());
        });
    }
    if let Some(history) = can.history {
        calls.extend(calls! { history =>
            record_totals();
            add_runs(&[a_run()]);
            list_totals(&all_times(Resolution::Minute));
            list_runs(&all_times(Resolution::Minute));
        });
    }
    calls
}

/// The capabilities of what makes jobs by itself.
fn of_sources<'s>(store: &'s dyn Backend) -> Vec<Call<'s>> {
    let (can, mut calls) = (store.capabilities(), Vec::new());
    if let Some(schedules) = can.schedules {
        calls.extend(calls! { schedules =>
            find_schedules(&ScheduleQuery::Due(None, 1));
            change_schedule(&created());
        });
    }
    if let Some(outbox) = can.outbox {
        calls.extend(calls! { outbox =>
            event_settings();
            change_event_settings(0, &Bytes::new());
            store_events(&Emission { version: 0, events: Vec::new() });
            list_events(&EventFilter::default());
            deliver_again(&[build(draft())]);
        });
    }
    calls
}

/// A schedule that begins.
fn created() -> ScheduleChange {
    let to = Some((None, Bytes::from("body")));
    ScheduleChange { name: schedule_name("s"), seen: None, to, jobs: Vec::new() }
}
