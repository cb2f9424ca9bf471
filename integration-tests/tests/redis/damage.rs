//! Records that are garbage stop nobody, and leave nothing behind (contract R5.8, R6.5).

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{
    PATIENCE, all_jobs, complete, create, lease, request_for, until,
};
use queuekit_conformance::kit::{TTL, build, draft, keyed, ttl, unique};
use queuekit_conformance::model::Plan;
use queuekit_conformance::this_test;
use queuekit_core::capability::{Admin, CancelOutcome, Leases, Upkeep};
use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order, QueuePatch};
use queuekit_core::{
    Ack, Backend, BackendExt, DeadLetter, ErrorKind, JobId, Nack, NackKind, QueueName, Result,
    State,
};
use queuekit_integration_tests::crash::is_long;
use redis::cmd;

/// Where the job stands when its record breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Plain,
    Head,
    Middle,
    Running,
    RunningWithKey,
    Retried,
    RetriedWithKey,
}

const PLACES: [Place; 7] = [
    Place::Plain,
    Place::Head,
    Place::Middle,
    Place::Running,
    Place::RunningWithKey,
    Place::Retried,
    Place::RetriedWithKey,
];

impl Place {
    fn runs(self) -> bool {
        matches!(self, Self::Running | Self::RunningWithKey)
    }
}

/// What becomes of a record.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Empty,
    Text,
    Noise,
    Short,
    Tail,
    Missing,
}

const DAMAGES: [Damage; 6] =
    [Damage::Empty, Damage::Text, Damage::Noise, Damage::Short, Damage::Tail, Damage::Missing];

impl Damage {
    fn removes(self) -> bool {
        matches!(self, Self::Missing)
    }

    fn of(self, mut record: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Empty => record.clear(),
            Self::Text => record = b"garbage".to_vec(),
            Self::Noise => record = vec![0xff; 300],
            Self::Short => record.truncate(60),
            // What scripts read stays as it was.
            Self::Tail => record.iter_mut().skip(74).for_each(|byte| *byte = 0xff),
            Self::Missing => return None,
        }
        Some(record)
    }
}

/// What a caller does to the broken job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Nothing,
    Cancel,
    Delete,
    DeleteByForce,
    DeadLetter,
    DeadLetterByForce,
    Retry,
    Reschedule,
}

const ACTS: [Act; 8] = [
    Act::Nothing,
    Act::Cancel,
    Act::Delete,
    Act::DeleteByForce,
    Act::DeadLetter,
    Act::DeadLetterByForce,
    Act::Retry,
    Act::Reschedule,
];

impl Act {
    async fn happens(self, stage: &RedisStage, id: JobId) -> Result<()> {
        let store = &stage.store;
        match self {
            Self::Nothing => Ok(()),
            Self::Cancel => store.cancel(&[id]).await.map(drop),
            Self::Delete => store.delete_job(id, false).await.map(drop),
            Self::DeleteByForce => store.delete_job(id, true).await.map(drop),
            Self::DeadLetter => store.dead_letter(&[DeadLetter::of_job(id, "bad")]).await.map(drop),
            Self::DeadLetterByForce => {
                store.dead_letter(&[DeadLetter::forced(id, "bad")]).await.map(drop)
            }
            Self::Retry => store.retry(&[id]).await.map(drop),
            Self::Reschedule => store.reschedule(&[id], Duration::ZERO).await.map(drop),
        }
    }
}

/// Jobs of which one is about to break: it, and those that are to be served all the same.
async fn prepare(stage: &RedisStage, place: Place) -> (JobId, Vec<JobId>) {
    let store = &stage.store;
    let job = |key: bool| build(if key { keyed("k") } else { draft() }.max_attempts(9));
    let has_key = !matches!(place, Place::Plain | Place::Running | Place::Retried);
    let first = create(store, &job(has_key)).await;
    let mut others = Vec::new();
    if place.runs() || matches!(place, Place::Retried | Place::RetriedWithKey) {
        let request = request_for(Duration::from_millis(20), 1);
        let lease = store.reserve(&request).await.unwrap().leases.remove(0);
        if !place.runs() {
            let again = Nack::new(lease.token, NackKind::Retry, "no", Duration::ZERO);
            store.nack(&[again]).await.unwrap();
        }
    }
    for key in [true, true, false] {
        others.push(create(store, &job(key)).await);
    }
    let broken =
        if place == Place::Middle { std::mem::replace(&mut others[0], first) } else { first };
    (broken, others)
}

async fn break_record(stage: &RedisStage, part: &str, id: JobId, damage: Damage) {
    let key = stage.key("default", part);
    let get = cmd("HGET").arg(&key).arg(id.as_bytes()).to_owned();
    let record: Option<Vec<u8>> = stage.ask(&get).await;
    let _: i64 = match damage.of(record.unwrap_or_default()) {
        Some(record) => stage.ask(cmd("HSET").arg(&key).arg(id.as_bytes()).arg(record)).await,
        None => stage.ask(cmd("HDEL").arg(&key).arg(id.as_bytes())).await,
    };
}

/// Serves all that can be served; who was.
async fn serve(stage: &RedisStage, others: &[JobId]) -> Vec<JobId> {
    let mut served = Vec::new();
    let serving = async {
        while !others.iter().all(|id| served.contains(id)) {
            stage.store.all_queues().await.unwrap();
            all_jobs(&stage.store).await;
            let leases = lease(&stage.store, 10).await;
            served.extend(leases.iter().map(|lease| lease.token.id));
            complete(&stage.store, leases).await;
        }
    };
    tokio::time::timeout(PATIENCE, serving).await.expect("the others are served");
    served
}

/// Breaks a record of one job, and looks what becomes of it and of the others.
async fn case(stage: &RedisStage, part: &str, place: Place, damage: Damage, act: Act) {
    let what = format!("{part} of {place:?}, {damage:?}, then {act:?}");
    let (broken, others) = prepare(stage, place).await;
    break_record(stage, part, broken, damage).await;
    stage.store.get_job(broken).await.unwrap();
    stage.store.why(broken).await.unwrap();
    if let Err(error) = act.happens(stage, broken).await {
        let kinds = [ErrorKind::Corrupt, ErrorKind::Conflict];
        assert!(kinds.contains(error.kind()), "{what}: {error}");
    }
    let served = serve(stage, &others).await;
    assert!(!served.contains(&broken), "{what}: it was leased");
    let met = async || {
        lease(&stage.store, 10).await;
        let job = stage.store.get_job(broken).await.unwrap();
        job.is_none_or(|job| job.state.is_terminal())
    };
    until(&what, met).await;
    if let Some(job) = stage.store.get_job(broken).await.unwrap()
        && act == Act::Nothing
    {
        assert_eq!(job.state, State::Dead, "{what}: {job:?}");
        assert_eq!(job.reason.unwrap().as_str(), "corrupt", "{what}");
        let queue = stage.store.all_queues().await.unwrap().remove(0);
        assert!(queue.corrupt > 0, "{what}");
    }
    stage.assert_exact().await;
    for id in others.into_iter().chain([broken]) {
        stage.store.delete_job(id, true).await.unwrap();
    }
    stage.assert_exact().await;
    assert_bare(stage, &what).await;
}

/// Nothing is left of any job: only what is of the queue itself, error groups among it.
async fn assert_bare(stage: &RedisStage, what: &str) {
    let bare = ["meta", "wake", "ends", "groups", "group_times"];
    let bare = bare.map(|part| stage.key("default", part));
    let mut left = stage.keys().await;
    left.retain(|key| !bare.contains(key) && key.contains('{'));
    // A fair queue keeps the turn of the jobs without a key.
    let records = stage.key("default", "partition_keys");
    let of_keys: Vec<String> = stage.ask(cmd("HKEYS").arg(&records)).await;
    left.retain(|key| *key != records || of_keys != [""]);
    assert!(left.is_empty(), "{what}: {left:?}");
}

async fn all_cases(test: &str, part: &str, patch: QueuePatch) {
    let Some(stage) = RedisStage::open(test).await else { return };
    stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    // A job without a state was never leased, so a missing state is no damage.
    let damages = DAMAGES.into_iter().filter(|damage| part == "data" || !damage.removes());
    let damages: Vec<Damage> = damages.collect();
    for (row, place) in PLACES.into_iter().enumerate() {
        for (column, act) in ACTS.into_iter().enumerate() {
            for damage in of_this_run(&damages, row + column) {
                case(&stage, part, place, damage, act).await;
            }
        }
    }
    stage.end().await;
}

/// A long run has every damage; any other has one for each pair of place and act, and with each
/// seed another one. So every run has each pair of place, damage and act.
fn of_this_run(damages: &[Damage], diagonal: usize) -> Vec<Damage> {
    if is_long() {
        return damages.to_vec();
    }
    let seed = Plan::rotated().seed % damages.len() as u64;
    vec![damages[(diagonal + seed as usize) % damages.len()]]
}

#[tokio::test]
async fn r5_8_data_that_is_garbage_stops_nobody_and_leaves_nothing_behind() {
    let test = this_test!();
    all_cases(test, "data", QueuePatch::default()).await;
}

#[tokio::test]
async fn r5_8_likewise_where_waiting_jobs_are_passed() {
    let test = this_test!();
    let patch = QueuePatch::default().per_key(2).key_on_wait(KeyOnWait::Skip);
    all_cases(test, "data", patch).await;
}

#[tokio::test]
async fn r5_8_likewise_in_a_fair_queue() {
    let test = this_test!();
    all_cases(test, "data", QueuePatch::default().order(Order::Fair)).await;
}

#[tokio::test]
async fn r5_8_a_state_that_is_garbage_stops_nobody_and_leaves_nothing_behind() {
    let test = this_test!();
    all_cases(test, "state", QueuePatch::default()).await;
}

#[tokio::test]
async fn r5_8_likewise_for_states_in_a_fair_queue() {
    let test = this_test!();
    all_cases(test, "state", QueuePatch::default().order(Order::Fair)).await;
}

/// Under `hold` a head that cannot be read holds its key until it is deleted.
#[tokio::test]
async fn r7_3_a_dead_head_that_cannot_be_read_holds_its_key() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let patch = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
    stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    let (head, others) = prepare(&stage, Place::Head).await;
    break_record(&stage, "data", head, Damage::Noise).await;
    assert_eq!(serve(&stage, &others[2..]).await, others[2..]);
    stage.assert_exact().await;
    assert!(stage.store.delete_job(head, false).await.unwrap());
    assert_eq!(serve(&stage, &others[..2]).await, others[..2]);
    stage.assert_exact().await;
    stage.end().await;
}

/// Likewise if nothing is left of either record.
#[tokio::test]
async fn r7_3_a_dead_head_of_which_nothing_is_left_is_deleted() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let patch = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
    stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    for damage in [Damage::Empty, Damage::Text, Damage::Noise] {
        let head = create(&stage.store, &build(keyed("k"))).await;
        let next = create(&stage.store, &build(keyed("k"))).await;
        let token = lease(&stage.store, 1).await.remove(0).token;
        stage.store.nack(&[Nack::new(token, NackKind::Fatal, "no", TTL)]).await.unwrap();
        for record in ["data", "state"] {
            break_record(&stage, record, head, damage).await;
        }
        assert_eq!(lease(&stage.store, 1).await.len(), 0, "{damage:?}");
        assert!(stage.store.delete_job(head, false).await.unwrap(), "{damage:?}");
        assert_eq!(serve(&stage, &[next]).await, [next], "{damage:?}");
        assert_eq!(all_jobs(&stage.store).await.len(), 1, "{damage:?}");
        assert!(stage.store.delete_job(next, false).await.unwrap());
        assert!(!stage.store.delete_job(head, true).await.unwrap(), "{damage:?}");
    }
    stage.end().await;
}

/// One lease whose record is garbage does not keep others from being extended or ended.
#[tokio::test]
async fn r3_6_a_state_that_is_garbage_harms_no_other_of_its_batch() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let store = &stage.store;
    for damage in [Damage::Empty, Damage::Text, Damage::Noise, Damage::Short, Damage::Tail] {
        create(store, &build(draft())).await;
        create(store, &build(draft())).await;
        let leases = lease(store, 2).await;
        let broken = leases[0].token.id;
        break_record(&stage, "state", broken, damage).await;
        let tokens: Vec<_> = leases.into_iter().map(|lease| lease.token).collect();
        let extended = store.extend(&tokens, ttl(TTL)).await.unwrap();
        assert!(matches!(
            extended[..],
            [
                queuekit_core::capability::ExtendOutcome::LeaseLost,
                queuekit_core::capability::ExtendOutcome::Extended { .. }
            ]
        ));
        let acks: Vec<_> = tokens.into_iter().map(Ack::new).collect();
        let acked = store.ack(&acks).await.unwrap();
        let wanted = [queuekit_core::AckOutcome::LeaseLost, queuekit_core::AckOutcome::Acked];
        assert_eq!(acked, wanted, "{damage:?}");
    }
    stage.end().await;
}

/// A broken record may have had the only name of an idempotency key.
#[tokio::test]
async fn r2_5_an_idempotency_key_outlives_a_job_that_cannot_be_read_by_no_time() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    for deletes in [false, true] {
        let id = create(&stage.store, &build(unique("u"))).await;
        break_record(&stage, "data", id, Damage::Noise).await;
        assert_eq!(lease(&stage.store, 1).await.len(), 0);
        if deletes {
            assert!(stage.store.delete_job(id, false).await.unwrap());
        }
        let next = create(&stage.store, &build(unique("u"))).await;
        complete(&stage.store, lease(&stage.store, 1).await).await;
        assert!(stage.store.delete_job(next, false).await.unwrap());
    }
    stage.end().await;
}

/// Failures of which the record is garbage: the next one is written all the same.
#[tokio::test]
async fn r5_8_a_history_that_is_garbage_stops_nobody() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let id = create(&stage.store, &build(draft().max_attempts(2))).await;
    let field = [id.as_bytes(), &b"e"[..]].concat();
    let notes = stage.key("default", "notes");
    for garbage in [&b"garbage"[..], &[0xff; 300]] {
        let _: i64 = stage.ask(cmd("HSET").arg(&notes).arg(&field).arg(garbage)).await;
        let request = request_for(Duration::from_millis(1), 1);
        until("it is leased", async || {
            !stage.store.reserve(&request).await.unwrap().leases.is_empty()
        })
        .await;
        stage.store.get_job(id).await.unwrap();
    }
    until("its last lease has run out", async || {
        lease(&stage.store, 1).await;
        crate::common::store_fixture::state(&stage.store, id).await == Some(State::Dead)
    })
    .await;
    stage.store.prune().await.unwrap();
    let cancelled = stage.store.cancel(&[id]).await.unwrap();
    assert_eq!(cancelled, [CancelOutcome::Conflict]);
    stage.end().await;
}
