//! The cost of a reserve among jobs that it does not want (contract R5.9), counted in steps of
//! SQLite's virtual machine, which are the same on every machine.

use std::time::Duration;

use queuekit_core::queue::{Keep, KeyOnDead, KeyOnWait, Order, QueuePatch, Retention};
use queuekit_core::{
    Ack, JobDraft, LeaseTtl, Limits, NewJob, Priority, QueueName, Reserve, Timestamp, WorkerId,
};
use rusqlite::{Connection, StatementStatus};

use crate::statements::{ALL, BEGIN, without_header};
use crate::step::Step;

const FEW: usize = 100;
const MANY: usize = 10_000;
const HOUR: Duration = Duration::from_secs(3600);

/// Adds jobs to the queue that are not wanted.
type Beside = fn(&mut Step<'_>, usize);

#[test]
fn r5_9_a_reserve_costs_the_same_beside_many_jobs() {
    let sorts: [(&str, Beside); 7] = [
        ("future", |step, n| add(step, n, |job| job.delay(HOUR))),
        ("finished", |step, n| {
            add(step, n, |job| job);
            finish(step, n);
        }),
        ("of one key", |step, n| add(step, n, |job| job.partition_key("k"))),
        ("blocked, of keys that run", |step, n| {
            add(step, 50, |job| job.partition_key("k").priority(Priority::CRITICAL));
            add(step, n, |job| job.partition_key("k"));
            assert_eq!(reserve(step, 1), 1);
        }),
        ("of a lower priority", |step, n| add(step, n, |job| job.priority(Priority::LOW))),
        ("future, of a higher priority", |step, n| {
            add(step, n, |job| job.priority(Priority::CRITICAL).delay(HOUR));
        }),
        ("running", |step, n| {
            add(step, n, |job| job);
            (0..n / 100).for_each(|_| assert_eq!(reserve(step, 100), 100));
        }),
    ];
    for (name, beside) in sorts {
        assert_bounded(name, &QueuePatch::default(), beside);
    }
}

#[test]
fn r5_9_a_reserve_costs_the_same_whatever_keys_do() {
    let future: Beside = |step, n| add(step, n, |job| job.partition_key("k").delay(HOUR));
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    assert_bounded("passed by", &skip, future);
    let hold = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
    assert_bounded("held", &hold, future);
    let fair = QueuePatch::default().order(Order::Fair);
    assert_bounded("fair, one key", &fair, future);
    assert_bounded("fair, many keys", &fair, |step, n| {
        for at in 0..n {
            add(step, 1, |job| job.partition_key(format!("k{at}")).delay(HOUR));
        }
    });
}

/// Retention looks for the first of them again after each one that it removes.
#[test]
fn r12_removing_a_job_costs_the_same_among_few_and_many() {
    let each = |n: usize| {
        let (conn, limits) = (migrated(), Limits::default());
        let mut step = Step::new(&conn, &limits, Timestamp::default() + HOUR);
        add(&mut step, n, |job| job);
        (0..n).for_each(|_| finish_together(&mut step, 1));
        let none = Retention::ALL.done(Keep::ALL.max_jobs(0));
        step.configure(&QueueName::default(), &QueuePatch::default().retention(none)).unwrap();
        step.finish().unwrap();
        let mut step = Step::new(&conn, &limits, Timestamp::default() + 2 * HOUR);
        steps(&conn);
        assert_eq!(step.prune("").unwrap().0.changed, n as u64);
        steps(&conn) / n as i64
    };
    let [few, many] = [100, 900].map(each);
    assert!(many <= 2 * few, "{many} steps each of 900 jobs, {few} of 100");
    assert!(few > 10, "{few} steps: nothing was counted");
}

/// The steps of one reserve of ten jobs.
fn assert_bounded(name: &str, patch: &QueuePatch, beside: Beside) {
    let [few, many] = [FEW, MANY].map(|n| cost(patch, |step| beside(step, n)));
    assert!(many <= 2 * few, "{name}: {many} steps beside {MANY} jobs, {few} beside {FEW}");
    assert!(few > 100, "{name}: {few} steps: nothing was counted");
}

fn cost(patch: &QueuePatch, beside: impl Fn(&mut Step<'_>)) -> i64 {
    let (conn, limits) = (migrated(), Limits::default());
    let mut step = Step::new(&conn, &limits, Timestamp::default() + HOUR);
    step.configure(&QueueName::default(), patch).unwrap();
    beside(&mut step);
    add(&mut step, 10, |job| job.priority(Priority::HIGH));
    step.finish().unwrap();
    let mut step = Step::new(&conn, &limits, Timestamp::default() + HOUR);
    steps(&conn);
    assert_eq!(reserve(&mut step, 10), 10, "what is wanted is leased first");
    step.finish().unwrap();
    steps(&conn)
}

fn migrated() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.set_prepared_statement_cache_capacity(2 * ALL.len());
    crate::schema::up(&conn, 0).unwrap();
    conn.execute(BEGIN, []).unwrap();
    conn
}

/// Steps of the machine since this was last asked.
fn steps(conn: &Connection) -> i64 {
    let of = |sql: &str| {
        let statement = conn.prepare_cached(sql).unwrap();
        i64::from(statement.reset_status(StatementStatus::VmStep))
    };
    ALL.iter().map(|(_, sql)| of(without_header(sql))).sum()
}

fn add(step: &mut Step<'_>, n: usize, change: impl Fn(JobDraft) -> JobDraft) {
    let job = |_| change(JobDraft::new("work", "payload")).build().unwrap();
    let jobs: Vec<NewJob> = (0..n).map(job).collect();
    for slice in jobs.chunks(1000) {
        step.enqueue(slice).unwrap();
    }
}

fn reserve(step: &mut Step<'_>, limit: usize) -> usize {
    step.reserve(&request(limit)).unwrap().leases.len()
}

fn finish(step: &mut Step<'_>, n: usize) {
    (0..n / 100).for_each(|_| finish_together(step, 100));
}

fn finish_together(step: &mut Step<'_>, n: usize) {
    let leases = step.reserve(&request(n)).unwrap().leases;
    let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    step.ack(&acks).unwrap();
}

fn request(limit: usize) -> Reserve {
    let ttl = LeaseTtl::new(Duration::from_secs(30)).unwrap();
    Reserve::new(QueueName::default(), limit, ttl, WorkerId::new("w").unwrap()).unwrap()
}
