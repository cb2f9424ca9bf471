//! A shop that sells something every two seconds, so that there is always something to look at:
//! orders of one customer run one after the other, mails and pictures fail now and then, a consumer
//! gets an event for each order, and a report is due every minute.

use std::time::Duration;

use anyhow::Result;
use queuekit::events::{EventDraft, SubscriptionDraft};
use queuekit::queues::{Keep, QueuePatch, Retention};
use queuekit::schedules::ScheduleDraft;
use queuekit::store::{Clock, SystemClock};
use queuekit::{Bytes, Client, Ctx, JobDraft, JobError, JobResult, Worker};
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};

/// Its queues, and what they are for.
const QUEUES: [(&str, &str); 4] = [
    ("orders", "Orders of the demo shop. Those of one customer run one after the other."),
    ("emails", "Mails to the customers of the demo shop. The mail server is slow now and then."),
    ("images", "Pictures of what was sold. Some have a format that nobody can read."),
    ("reports", "What the schedule `demo-report` enqueues every minute."),
];
/// The consumer of its events.
const WAREHOUSE: &str = "warehouse";
/// The pause between two orders.
const PAUSE: Duration = Duration::from_secs(2);
/// How long its jobs are kept when they have ended.
const KEPT: Duration = Duration::from_secs(3600);
const ITEMS: [&str; 5] = ["kettle", "piano", "bicycle", "lamp", "atlas"];
/// Fewer than the orders of a minute, so that some of them wait for each other.
const CUSTOMERS: u64 = 7;

/// The names of its queues.
pub(super) fn queues() -> impl Iterator<Item = &'static str> {
    QUEUES.into_iter().map(|(name, _)| name)
}

/// Sets up what is not there yet.
pub(super) async fn open(client: &Client) -> Result<()> {
    let kept = Keep::ALL.max_age(KEPT);
    for (name, description) in QUEUES {
        if client.queues().get(name).await?.is_none() {
            let patch = QueuePatch::default().description(description);
            let patch = patch.retention(Retention::default().done(kept).dead(kept));
            client.queues().configure(name, &patch).await?;
        }
    }
    client.subscribe(SubscriptionDraft::new(WAREHOUSE, "order.*")).await?;
    let report = JobDraft::new("shop.report", "{}").queue("reports");
    client.schedule(ScheduleDraft::cron("demo-report", "* * * * *", report)).await?;
    Ok(())
}

/// Sells until it is dropped.
pub(super) async fn sell(client: Client) {
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let order = Order::number(next_number());
        if let Err(error) = client.enqueue(order.job("shop.order", "orders")).await {
            tracing::debug!(%error, "the demo shop could not sell anything");
        }
    }
}

pub(super) fn add_handlers(worker: Worker) -> Worker {
    worker
        .handle_raw("shop.order", fulfil)
        .handle_raw("shop.mail", send_mail)
        .handle_raw("shop.picture", shrink_picture)
        .handle_raw("shop.report", report)
        .consume_any(WAREHOUSE, pack)
}

/// The payload of all jobs about one order.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    number: u64,
    customer: u64,
    item: String,
    /// In cents.
    total: u64,
}

impl Order {
    fn number(number: u64) -> Self {
        let item = ITEMS.iter().cycle().nth((number % 31) as usize).copied().unwrap_or_default();
        let total = 500 + (number * 7919) % 120_000;
        Self { number, customer: 1 + number * number % CUSTOMERS, item: item.to_owned(), total }
    }

    fn read(payload: &Bytes) -> JobResult<Self> {
        serde_json::from_slice(payload).map_err(JobError::fatal)
    }

    fn job(&self, kind: &str, queue: &str) -> JobDraft {
        let job = JobDraft::new(kind, self.json()).queue(queue);
        let job = job.idempotency_key(format!("{kind}-{}", self.number)).max_attempts(3);
        match queue {
            "orders" => job.partition_key(self.customer()),
            _ => job,
        }
    }

    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn customer(&self) -> String {
        format!("customer-{}", self.customer)
    }

    /// Whether this is one of `many` orders: the one whose number leaves `of`.
    fn is_one_in(&self, many: u64, of: u64) -> bool {
        self.number % many == of
    }
}

/// Counts the pauses since 1970, so that no number is used again after a restart.
fn next_number() -> u64 {
    let now = u128::try_from(SystemClock::default().now().as_millis()).unwrap_or_default();
    u64::try_from(now / PAUSE.as_millis() % 1_000_000).unwrap_or_default()
}

async fn fulfil(payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    let order = Order::read(&payload)?;
    ctx.log(format!("{} buys a {}", order.customer(), order.item));
    pass(&ctx, 400 + order.number * 37 % 1600).await?;
    let event = EventDraft::new("order.paid", order.json());
    let event = event.idempotency_key(format!("order-{}", order.number));
    ctx.client().emit(event.partition_key(order.customer())).await?;
    let jobs = [order.job("shop.mail", "emails"), order.job("shop.picture", "images")];
    ctx.client().enqueue_all(jobs).await?.ids()?;
    Ok(None)
}

async fn send_mail(payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    let order = Order::read(&payload)?;
    ctx.log("connecting to mail.example.org:587");
    pass(&ctx, 60 + order.number * 13 % 240).await?;
    if order.is_one_in(23, 7) {
        let to = order.customer();
        return Err(JobError::fatal(format!(
            "smtp: 550 5.1.1 <{to}@example.org>: no such mailbox"
        )));
    }
    let is_slow = order.is_one_in(9, 4) && (ctx.attempt() < 3 || order.is_one_in(2, 0));
    if is_slow {
        let cause = "smtp: connect to mail.example.org:587: timed out after 200 ms";
        return Err(JobError::retry_after(cause, Duration::from_secs(5)));
    }
    Ok(Some(Bytes::from(format!("{{\"accepted\": \"{}@example.org\"}}", order.customer()))))
}

async fn shrink_picture(payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    let order = Order::read(&payload)?;
    for (done, size) in [(0.0, 1600_u32), (0.4, 800), (0.8, 200)] {
        ctx.progress(done, &format!("{} at {size} px", order.item));
        pass(&ctx, 150 + order.number * 29 % 450).await?;
        if order.is_one_in(31, 5) {
            let file = format!("{}-{}.tiff", order.item, order.number);
            return Err(JobError::fatal(format!("cannot read {file}: unknown compression")));
        }
    }
    Ok(None)
}

async fn pack(payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    let order = Order::read(&payload)?;
    pass(&ctx, 80 + order.number * 17 % 300).await?;
    if order.is_one_in(19, 11) && ctx.attempt() == 1 {
        return Err(JobError::retry("the shelf is empty, and is filled soon"));
    }
    Ok(None)
}

async fn report(_: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    for step in 0..6_u8 {
        ctx.progress(f32::from(step) / 6.0, "counting what was sold");
        pass(&ctx, 500).await?;
    }
    Ok(None)
}

/// Lets time pass, as work does.
async fn pass(ctx: &Ctx, millis: u64) -> JobResult<()> {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(millis)) => Ok(()),
        () = ctx.cancelled() => Err(JobError::retry("the run was stopped")),
    }
}

#[cfg(test)]
mod tests {
    use queuekit::memory::MemoryStore;

    use super::*;

    /// Five minutes of the shop, all orders at once.
    #[tokio::test(start_paused = true)]
    async fn the_shop_has_a_queue_with_keys_failures_in_groups_a_schedule_and_a_consumer() {
        let client = Client::new(MemoryStore::new());
        open(&client).await.unwrap();
        open(&client).await.unwrap();
        let jobs = (0..150).map(|number| Order::number(number).job("shop.order", "orders"));
        client.enqueue_all(jobs).await.unwrap().ids().unwrap();
        let worker = || add_handlers(Worker::new(client.clone()).queues(queues()));
        let summary = worker().run_until_idle().await.unwrap();
        assert!(summary.completed > 300 && summary.failed > 0 && summary.dead > 0, "{summary:?}");
        let groups = client.error_groups().list(100).await.unwrap();
        let of = |queue: &str| groups.iter().filter(|group| group.queue.as_str() == queue).count();
        assert!(of("emails") == 2 && of("images") == 1, "{groups:?}");
        assert_eq!(client.consumers().list().await.unwrap().len(), 1);
        assert_eq!(client.schedules().list(None, 10).await.unwrap().schedules.len(), 1);
    }
}
