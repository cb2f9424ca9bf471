//! Orders to workers.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use axum::extract::State;
use queuekit::jobs::PageSize;
use queuekit::store::capability::Act;
use queuekit::store::limits::ORDERED_WORKERS;
use queuekit::workers::{OrderedMode, WorkerId, WorkerInfo, WorkerOrder};

use super::workers::may_act_on;
use crate::api::app::App;
use crate::api::audit::audited_as;
use crate::web::{AdminScope, Caller, Json, Problem};
use crate::wire::{ControlBody, ControlledBody};

/// Gives an order to workers, which each obeys at the answer to its next beat.
#[utoipa::path(
    post, path = "/v1/workers/control", tag = "work", security(("key" = [])),
    request_body(content = ControlBody, content_type = "application/json"),
    responses(
        (status = 200, description = "The order was given.", body = ControlledBody),
        (status = 404, description = "No such worker is listed."),
    )
)]
pub(crate) async fn control(
    State(app): State<App>,
    caller: Caller,
    Json(body, ..): Json<AdminScope, ControlBody>,
) -> Result<axum::Json<ControlledBody>, Problem> {
    let order = order(&body)?;
    let to = To::read(body)?;
    let target = match order {
        WorkerOrder::Slots(slots) => format!("{to}: {slots}"),
        _ => to.to_string(),
    };
    let act = Act::new(caller.who(), order.mode().map_or("slots", OrderedMode::as_str), &target);
    let acting = give(app.clone(), caller.clone(), to, order);
    let counted = |act: Act, given: &Vec<WorkerId>| {
        let given = given.len() as u64;
        act.counted(given, given)
    };
    let given = audited_as(&app, &caller, act, acting, counted).await?;
    Ok(axum::Json(ControlledBody { workers: given.into_iter().map(Into::into).collect() }))
}

/// The workers that an order is for.
enum To {
    Ids(BTreeSet<WorkerId>),
    Name(String),
    All,
}

impl To {
    fn read(body: ControlBody) -> Result<Self, Problem> {
        let ControlBody { workers, name, all, .. } = body;
        let ids = workers.into_iter().map(WorkerId::new).collect::<queuekit::Result<_>>();
        let ids: BTreeSet<WorkerId> =
            ids.map_err(|error| Problem::from(error).in_field("workers"))?;
        match (ids.is_empty(), name, all) {
            (false, None, false) => Ok(Self::Ids(ids)),
            (true, Some(name), false) => Ok(Self::Name(name)),
            (true, None, true) => Ok(Self::All),
            _ => {
                let detail = "say to which workers: one of workers, name and all";
                Err(Problem::invalid("workers", detail))
            }
        }
    }

    fn includes(&self, worker: &WorkerInfo) -> bool {
        match self {
            Self::Ids(ids) => ids.contains(&worker.beat.id),
            Self::Name(name) => worker.beat.name == *name,
            Self::All => true,
        }
    }
}

/// For the audit log.
impl std::fmt::Display for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ids(ids) => {
                let ids: Vec<&str> = ids.iter().map(WorkerId::as_str).collect();
                write!(f, "worker {}", ids.join(", "))
            }
            Self::Name(name) => write!(f, "workers of the name {name}"),
            Self::All => f.write_str("all workers"),
        }
    }
}

fn order(body: &ControlBody) -> Result<WorkerOrder, Problem> {
    match (&body.order, body.slots) {
        (Some(order), None) => {
            let mode: OrderedMode =
                order.parse().map_err(|error| Problem::from(error).in_field("order"))?;
            Ok(mode.into())
        }
        (None, Some(slots)) => {
            let slots = NonZeroU32::new(slots).filter(|slots| slots.get() <= super::beat::MOST);
            let detail = format!("slots must be 1..={}", super::beat::MOST);
            slots.map(WorkerOrder::Slots).ok_or_else(|| Problem::invalid("slots", detail))
        }
        _ => Err(Problem::invalid("order", "say what to do: one of order and slots")),
    }
}

/// Gives the order, and returns to whom.
async fn give(
    app: App,
    caller: Caller,
    to: To,
    order: WorkerOrder,
) -> Result<Vec<WorkerId>, Problem> {
    let control = app.store().capabilities().control;
    let control = control.ok_or_else(|| Problem::unsupported("orders to workers"))?;
    let ids = match to {
        // Nothing is to be learned of the workers of others: those are read and checked.
        To::Ids(ids) if !caller.is_bound() => ids.into_iter().collect(),
        to => listed(&app, &caller, &to).await?,
    };
    let mut given = Vec::new();
    for ids in ids.chunks(ORDERED_WORKERS) {
        let listed = control.control(ids, order).await?;
        given
            .extend(ids.iter().zip(listed).filter(|(_, listed)| *listed).map(|(id, _)| id.clone()));
    }
    if given.is_empty() {
        return Err(Problem::not_found("worker"));
    }
    Ok(given)
}

/// The listed workers that the order is for.
///
/// # Errors
/// 403 if it names one that serves queues or kinds that the key is not for.
async fn listed(app: &App, caller: &Caller, to: &To) -> Result<Vec<WorkerId>, Problem> {
    // A page of beats is as large as an answer, and all workers may have to be read.
    let (_budget, _turn) = app.look_up(caller).await?;
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = app.leases()?.list_workers(after.as_ref(), PageSize::MAX).await?;
        for worker in page.workers.into_iter().filter(|worker| to.includes(worker)) {
            match (may_act_on(caller, &worker.beat), to) {
                (true, _) => ids.push(worker.beat.id),
                (false, To::Ids(_)) => {
                    let detail = format!(
                        "worker {} serves queues or kinds that the key is not for",
                        worker.beat.id
                    );
                    return Err(Problem::forbidden(detail));
                }
                (false, _) => {}
            }
        }
        after = page.after;
        if after.is_none() {
            return Ok(ids);
        }
        caller.owe(1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, LeaseTtl};
    use queuekit::workers::{Beat, Served, WorkerPage};
    use queuekit::{Client, QueueName};
    use queuekit_conformance::{Layer, Wrapped};

    use super::*;
    use crate::api::test_app::app_of;
    use crate::web::Scope;
    use crate::web::auth::tests::caller_for;

    /// Each page has one worker.
    #[derive(Debug)]
    struct ShortPages(Arc<dyn Backend>);

    #[queuekit::store::async_trait]
    impl Layer for ShortPages {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.0
        }

        async fn list_workers(
            &self,
            after: Option<&WorkerId>,
            _: PageSize,
        ) -> queuekit::Result<WorkerPage> {
            let leases = self.0.capabilities().leases.expect("memory has leases");
            leases.list_workers(after, PageSize::new(1)?).await
        }
    }

    #[tokio::test]
    async fn s6_each_page_of_workers_that_an_order_reads_counts() {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let leases = inner.capabilities().leases.expect("memory has leases");
        for number in 0..20 {
            let id = WorkerId::new(format!("w{number:02}")).unwrap();
            let queues = Served::first([QueueName::new("own").unwrap()]);
            let ttl = LeaseTtl::new(Duration::from_secs(10)).unwrap();
            leases.beat(&Beat::new(id, queues, Served::first([]), ttl)).await.unwrap();
        }
        let app = app_of(Client::new(Wrapped(ShortPages(inner))));
        let caller = caller_for("own", Scope::Admin);
        assert_eq!(listed(&app, &caller, &To::All).await.unwrap().len(), 20);
        assert!(caller.spend(1).is_err(), "each page after the first counts");
    }
}
