//! A change of the order or of the rules for keys places all keys of a queue anew, in many steps
//! (contract R6.7).

use std::collections::{HashMap, HashSet};

use crate::common::files::{File, Open, assert_exact, complete};
use crate::common::store_fixture::all_jobs;
use queuekit_conformance::kit::{HOUR, build, draft, keyed, kind_of, request};
use queuekit_core::queue::{KeyOnWait, Order, QueuePatch};
use queuekit_core::{Backend, ErrorKind, JobDraft, JobId, Lease, ManualClock, QueueName, Reserved};
use queuekit_sqlite::SqliteStore;

/// More than one step places.
const KEYS: usize = 1200;

/// No queue of these tests takes more.
const STEPS: usize = 20;

/// What is placed anew, one sort after the other.
const SORTS: [&str; 3] = ["Ready", "Waiting", "Keys"];

/// A change of all settings about keys, as from these to those.
fn change(order: Order, wait: KeyOnWait) -> [QueuePatch; 2] {
    let from_order = if order == Order::Fair { Order::Strict } else { Order::Fair };
    let skips = wait == KeyOnWait::Skip;
    let from_wait = if skips { KeyOnWait::Block } else { KeyOnWait::Skip };
    let from = QueuePatch::default().order(from_order).key_on_wait(from_wait).per_key(3);
    [from, QueuePatch::default().order(order).key_on_wait(wait).per_key(1)]
}

/// A queue with jobs of many keys, with and without a delay, and jobs without a key.
struct Stage {
    file: File,
    clock: ManualClock,
    store: SqliteStore,
    /// The jobs that are stored and not completed.
    left: HashSet<JobId>,
    /// The jobs of each key that run.
    running: HashMap<String, u32>,
}

impl Stage {
    async fn open(keys: usize) -> Self {
        let (file, clock) = (File::new(), ManualClock::default());
        let store = file.config().clock(clock.clone()).open().await;
        let (left, running) = (HashSet::new(), HashMap::new());
        let mut stage = Self { file, clock, store, left, running };
        let plain = (0..KEYS).map(|_| draft());
        let first = (0..keys).map(|at| match at % 3 {
            0 => keyed(&key(at)).delay(HOUR),
            _ => keyed(&key(at)),
        });
        stage.enqueue(plain.chain(first)).await;
        stage.enqueue((0..2 * keys).map(|at| keyed(&key(at % keys)))).await;
        stage
    }

    async fn enqueue(&mut self, drafts: impl Iterator<Item = JobDraft>) {
        let jobs: Vec<_> = drafts.map(build).collect();
        for jobs in jobs.chunks(1000) {
            self.store.enqueue(jobs).await.unwrap();
        }
        self.left.extend(jobs.iter().map(|job| job.id()));
    }

    async fn configure(&self, patch: &QueuePatch) {
        let admin = self.store.capabilities().admin.unwrap();
        admin.configure(&QueueName::default(), patch).await.unwrap();
    }

    /// Changes the settings as a process that dies once it has placed a slice of this sort.
    async fn die_configuring(&self, patch: &QueuePatch, sort: &str) {
        let conn = self.file.connection();
        let stop = include_str!("../../sql/sqlite_stop_moving.sql").replace("PHASE", sort);
        conn.execute_batch(&stop).unwrap();
        let dies = self.file.config().clock(self.clock.clone()).open().await;
        let admin = dies.capabilities().admin.unwrap();
        let configured = admin.configure(&QueueName::default(), patch).await;
        assert_eq!(kind_of(configured), ErrorKind::Indeterminate, "{sort}");
        dies.close().await.unwrap();
        assert!(self.moving().is_some_and(|moving| moving.contains(sort)), "{sort}");
        conn.execute_batch(include_str!("../../sql/sqlite_continue_moving.sql")).unwrap();
    }

    fn moving(&self) -> Option<String> {
        let moving = include_str!("../../sql/sqlite_moving.sql");
        self.file.connection().query_row(moving, [], |row| row.get("moving")).unwrap()
    }

    /// Reserves once. No key runs more jobs than it may.
    async fn reserve(&mut self, limit: usize, per_key: u32) -> Reserved {
        let reserved = self.store.reserve(&request(QueueName::default(), limit)).await.unwrap();
        for key in reserved.leases.iter().filter_map(|lease| lease.partition_key.as_ref()) {
            let running = self.running.entry(key.as_str().to_owned()).or_default();
            *running += 1;
            assert!(*running <= per_key, "{key} runs {running} jobs");
        }
        reserved
    }

    async fn complete(&mut self, leases: Vec<Lease>) {
        for lease in &leases {
            assert!(self.left.remove(&lease.id()), "a job is served twice");
            if let Some(key) = &lease.partition_key {
                *self.running.get_mut(key.as_str()).unwrap() -= 1;
            }
        }
        complete(&self.store, leases).await;
    }

    /// What callers do meanwhile.
    async fn change_jobs(&mut self, n: usize) {
        let new = [draft(), keyed("new"), keyed(&key(n)), keyed(&key(KEYS - 1 - n)).delay(HOUR)];
        self.enqueue(new.into_iter()).await;
        let waiting: Vec<JobId> = self.left.iter().copied().take(6).collect();
        let admin = self.store.capabilities().admin.unwrap();
        admin.cancel(&waiting[..2]).await.unwrap();
        admin.reschedule(&waiting[2..4], HOUR).await.unwrap();
        assert!(self.store.delete_job(waiting[4], false).await.unwrap());
        for gone in [waiting[0], waiting[1], waiting[4]] {
            self.left.remove(&gone);
        }
    }
}

fn key(n: usize) -> String {
    format!("k{n:04}")
}

/// A process dies in the middle of a change of settings: a reserve of another one continues it.
/// Guard: one step placed all keys, for which all other calls waited.
#[tokio::test]
async fn r7_3_a_configure_that_dies_in_the_middle_is_gone_on_with() {
    let mut stage = Stage::open(KEYS).await;
    let mut before = Vec::new();
    let mut n = 0;
    for (order, wait) in [Order::Fair, Order::Strict]
        .into_iter()
        .flat_map(|order| [KeyOnWait::Skip, KeyOnWait::Block].map(|wait| (order, wait)))
    {
        let [from, to] = change(order, wait);
        // Where waiting jobs are not passed, they need no marks.
        let is_visited = |sort: &&str| *sort != "Waiting" || wait == KeyOnWait::Skip;
        for sort in SORTS.into_iter().filter(is_visited) {
            stage.configure(&from).await;
            stage.die_configuring(&to, sort).await;
            stage.complete(std::mem::take(&mut before)).await;
            n += 1;
            stage.change_jobs(n).await;
            if sort != "Keys" {
                let first = stage.reserve(10, 1).await;
                assert!(first.more && first.leases.is_empty(), "{to:?}, {sort}: not in parts");
            }
            for _ in 0..STEPS {
                if before.is_empty() {
                    before = stage.reserve(10, 1).await.leases;
                }
            }
            assert!(!before.is_empty(), "{to:?}, {sort}: the queue is not placed");
            assert_eq!(stage.moving(), None);
            assert_exact(&stage.file.connection());
        }
    }
    stage.complete(before).await;
    stage.clock.advance(4 * HOUR);
    while !stage.left.is_empty() {
        let Reserved { leases, .. } = stage.reserve(1000, 1).await;
        assert!(!leases.is_empty(), "{} jobs are stranded", stage.left.len());
        stage.complete(leases).await;
    }
    assert_exact(&stage.file.connection());
    stage.store.close().await.unwrap();
}

/// Guard: a key whose head was ready before has too many leases for the new settings.
#[tokio::test]
async fn r7_3_no_key_runs_more_than_it_may_while_keys_are_placed_anew() {
    // A step is left after that of the first reserve.
    let mut stage = Stage::open(2 * KEYS).await;
    stage.configure(&QueuePatch::default().per_key(2)).await;
    // The jobs without a key, one or two of each key that is not blocked: not yet two of the last.
    for limit in [1000, 1000, 1000, 800] {
        stage.reserve(limit, 2).await;
    }
    stage.die_configuring(&QueuePatch::default().per_key(1), "Keys").await;
    let busy = stage.running.clone();
    for _ in 0..STEPS {
        let reserved = stage.reserve(1000, 2).await;
        for key in reserved.leases.iter().filter_map(|lease| lease.partition_key.as_ref()) {
            assert!(!busy.contains_key(key.as_str()), "{key} runs a second job");
        }
    }
    assert_eq!(stage.moving(), None);
    assert_exact(&stage.file.connection());
    stage.store.close().await.unwrap();
}

/// While a queue becomes fair all its jobs are listed, and each once.
#[tokio::test]
async fn r8_2_all_jobs_are_listed_while_keys_are_placed_anew() {
    for sort in SORTS {
        let stage = Stage::open(KEYS).await;
        stage.die_configuring(&change(Order::Fair, KeyOnWait::Skip)[1], sort).await;
        let jobs = all_jobs(&stage.store).await;
        let ids: HashSet<JobId> = jobs.iter().map(|job| job.id).collect();
        assert_eq!(jobs.len(), ids.len(), "{sort}: some are listed twice");
        assert_eq!(ids, stage.left, "{sort}");
        stage.store.close().await.unwrap();
    }
}
