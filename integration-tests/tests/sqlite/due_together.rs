//! Of what comes due at one instant one call looks at a part (contract R5.9).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::common::files::{File, Open, assert_exact, complete};
use queuekit_conformance::kit::{HOUR, build, keyed, request};
use queuekit_core::queue::{KeyOnWait, Order, QueuePatch};
use queuekit_core::{Backend, JobDraft, JobId, ManualClock, QueueName};
use queuekit_sqlite::SqliteStore;
use queuekit_sqlite::rusqlite::Connection;

/// Jobs that come due together: more than one call may look at.
const JOBS: usize = 6000;

/// No call marks more jobs than this as due.
const MARKED: i64 = 4000;

/// A `skip` queue where jobs come due together, those that were enqueued last first. So they are
/// served in order only if all of a key were looked at.
struct Flood {
    file: File,
    store: SqliteStore,
    clock: ManualClock,
    conn: Connection,
    /// The jobs of each key, in the order in which they have to be served.
    order: HashMap<String, VecDeque<JobId>>,
}

impl Flood {
    async fn over(keys: usize, order: Order) -> Self {
        let file = File::new();
        let clock = ManualClock::default();
        let store = file.config().clock(clock.clone()).open().await;
        let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip).per_key(100).order(order);
        let admin = store.capabilities().admin.unwrap();
        admin.configure(&QueueName::default(), &skip).await.unwrap();
        let conn = file.connection();
        let mut flood = Self { file, store, clock, conn, order: HashMap::new() };
        let delay = |n: usize| HOUR + Duration::from_millis((JOBS - n) as u64);
        let key = |n: usize| format!("k{:04}", n % keys);
        let later = (0..JOBS).map(|n| keyed(&key(n)).delay(delay(n)));
        // And one of each key is ready before.
        flood.enqueue(later.chain((0..keys).map(|n| keyed(&key(n))))).await;
        assert!(flood.marked() <= keys as i64, "jobs are due before their time");
        flood
    }

    async fn enqueue(&mut self, drafts: impl Iterator<Item = JobDraft>) {
        let jobs: Vec<_> = drafts.map(build).collect();
        for job in &jobs {
            let key = job.partition_key().unwrap().as_str().to_owned();
            self.order.entry(key).or_default().push_back(job.id());
        }
        for jobs in jobs.chunks(1000) {
            self.store.enqueue(jobs).await.unwrap();
        }
    }

    fn marked(&self) -> i64 {
        let marked = include_str!("../../sql/sqlite_marked.sql");
        self.conn.query_row(marked, [], |row| row.get("marked")).unwrap()
    }

    /// Serves some jobs, those of each key in their order. Returns their number, and whether to
    /// look again.
    async fn serve(&mut self, limit: usize) -> (usize, bool) {
        let before = self.marked();
        let reserved = self.store.reserve(&request(QueueName::default(), limit)).await.unwrap();
        let marked = self.marked() - before;
        assert!(marked <= MARKED, "a reserve of {limit} jobs marked {marked}");
        for lease in &reserved.leases {
            let key = lease.partition_key.as_ref().unwrap().as_str();
            let next = self.order.get_mut(key).unwrap().pop_front();
            assert_eq!(Some(lease.id()), next, "{key} is served out of order");
        }
        let (before, served) = (self.marked(), reserved.leases.len());
        complete(&self.store, reserved.leases).await;
        let marked = self.marked() - before;
        assert!(marked <= MARKED, "an ack of {served} jobs marked {marked}");
        (served, reserved.more)
    }

    async fn serve_all(mut self) {
        let mut left: usize = self.order.values().map(VecDeque::len).sum();
        let mut idle = 0;
        while left > 0 {
            let (served, more) = self.serve(1000).await;
            assert!(more || served > 0, "{left} jobs are left");
            idle += usize::from(served == 0);
            left -= served;
        }
        assert!(idle <= JOBS / 1000, "{idle} calls served nothing");
        assert_exact(&self.file.connection());
        self.store.close().await.unwrap();
    }
}

/// Guard: a reserve of one job marked a thousand jobs of each of a thousand keys.
#[tokio::test]
async fn r5_9_keys_that_come_due_together_are_looked_at_in_parts() {
    for order in [Order::Strict, Order::Fair] {
        for keys in [10, 1500] {
            let mut flood = Flood::over(keys, order).await;
            flood.clock.advance(2 * HOUR);
            let (_, more) = flood.serve(1).await;
            assert!(more, "{order:?}, {keys} keys: some are left to the next call");
            flood.serve_all().await;
        }
    }
}

/// Other keys do not wait until all jobs of the key were looked at.
#[tokio::test]
async fn r5_9_jobs_of_a_key_that_come_due_together_are_looked_at_in_parts() {
    for order in [Order::Strict, Order::Fair] {
        let mut flood = Flood::over(1, order).await;
        let delays = [2, 1].into_iter();
        flood.enqueue(delays.map(|hours| keyed("other").delay(2 * hours * HOUR))).await;
        flood.clock.advance(5 * HOUR);
        while !flood.order["other"].is_empty() {
            let (served, more) = flood.serve(1).await;
            assert!(more || served > 0, "{order:?}");
            assert!(flood.order["k0000"].len() > JOBS - 10, "{order:?}: the other key waits");
        }
        flood.serve_all().await;
    }
}
