//! The users of deploy/redis/users.acl can do all that queuekit does, and nothing else.

use std::path::Path;
use std::time::Duration;

use crate::common::redis_store_fixture::{RedisStage, connect};
use crate::common::store_fixture::{all_jobs, create, lease, promptly};
use queuekit_conformance::kit::{
    TTL, a_run, all_times, beat_of, build, checkpoint_name, consumer, draft, keyed, queue,
    schedule_name, ttl, unique, worker,
};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{
    Act, Admin, AuditLog, CheckpointOutcome, ErrorGroups, History, Inspect, KeepCheckpoints,
    Leases, NewCheckpoint, Outbox, Report, RetryOutcome, Upkeep, Wakeups,
};
use queuekit_core::event::{Consumers, Replay, ReplayFrom};
use queuekit_core::history::Resolution;
use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order, QueuePatch};
use queuekit_core::{
    Ack, Backend, BackendExt, Client, DeadLetter, EventDraft, JobFilter, Nack, NackKind, PageSize,
    QueueName, ScheduleDraft, Scheduler, SubscriptionDraft,
};
use queuekit_integration_tests::servers::OwnRedis;
use queuekit_redis::RedisStore;
use redis::cmd;

const USERS: &str = include_str!("../../../deploy/redis/users.acl");

/// What no user of queuekit may do.
const FORBIDDEN: [&[&str]; 15] = [
    &["FLUSHALL"],
    &["FLUSHDB"],
    &["SWAPDB", "0", "1"],
    &["FUNCTION", "FLUSH"],
    &["SCRIPT", "FLUSH"],
    &["CLIENT", "KILL", "TYPE", "normal"],
    &["CLIENT", "LIST"],
    &["KEYS", "*"],
    &["SCAN", "0"],
    &["RANDOMKEY"],
    &["ACL", "LIST"],
    &["CONFIG", "SET", "appendonly", "no"],
    &["SHUTDOWN"],
    &["GET", "others"],
    &["MONITOR"],
];

/// A server with these users, whose passwords are `secret`.
async fn server(test: &str) -> Option<OwnRedis> {
    // The harness itself has no password.
    let users = USERS.replace("user default off", "user default on nopass ~* &* +@all");
    let users = users.replace("resetpass", ">secret");
    let settings = OwnRedis::settings().file("users.acl", users).set("aclfile", "users.acl");
    let Some(server) = settings.start().await else {
        skip(test, "there is no program of Redis");
        return None;
    };
    Some(server)
}

fn url(server: &OwnRedis, user: &str) -> String {
    server.url().replace("redis://", &format!("redis://{user}:secret@"))
}

async fn assert_forbidden(server: &OwnRedis, user: &str, commands: &[&[&str]]) {
    let mut connection = connect(&url(server, user)).await.expect("it may connect");
    for words in commands {
        let mut command = cmd(words[0]);
        command.arg(&words[1..]);
        let answer = command.query_async::<redis::Value>(&mut connection).await;
        let error = answer.expect_err(&words.join(" "));
        // Redis 6.2 has no functions.
        let refused =
            error.code() == Some("NOPERM") || error.to_string().contains("unknown command");
        assert!(refused, "{user}: {words:?}: {error}");
    }
}

/// All that a server and its workers ask of the store.
async fn use_all(store: &RedisStore) {
    use_jobs(store).await;
    use_admin(store).await;
    use_schedules_and_events(store).await;
}

async fn use_jobs(store: &RedisStore) {
    let wakeup = store.subscribe(&[QueueName::default()]).unwrap();
    promptly("the connection that waits for markers", wakeup.rung()).await;
    for job in [draft(), draft(), keyed("k"), keyed("k"), unique("u"), unique("u")] {
        store.enqueue(&[build(job)]).await.unwrap();
    }
    let mut leases = lease(store, 4).await.into_iter().map(|lease| lease.token);
    let mut next = || leases.next().expect("a lease");
    let (acked, nacked, dead_lettered, reported) = (next(), next(), next(), next());
    store.extend(std::slice::from_ref(&reported), ttl(TTL)).await.unwrap();
    let stepped = reported.clone();
    let report = Report::new(reported, None, vec!["line".to_owned()]);
    store.report(&[report]).await.unwrap();
    let step = NewCheckpoint::new(stepped.clone(), checkpoint_name("s"), "1").unwrap();
    assert_eq!(store.put_checkpoint(&step).await.unwrap(), CheckpointOutcome::Stored);
    assert!(store.checkpoints(&stepped).await.unwrap().is_some());
    assert_eq!(store.list_checkpoints(stepped.id).await.unwrap().len(), 1);
    assert_eq!(store.forget_checkpoints(&[stepped.id]).await.unwrap(), [false]);
    store.ack(&[Ack::new(acked).with_result("done")]).await.unwrap();
    store.nack(&[Nack::new(nacked, NackKind::Retry, "no", Duration::ZERO)]).await.unwrap();
    store.dead_letter(&[DeadLetter::of_lease(dead_lettered, "no")]).await.unwrap();
    store.beat(&beat_of("w")).await.unwrap();
    assert_eq!(store.list_workers(None, PageSize::MAX).await.unwrap().workers.len(), 1);
    assert!(store.forget_worker(&worker("w")).await.unwrap());
}

async fn use_admin(store: &RedisStore) {
    let id = create(store, &build(keyed("k").queue("set"))).await;
    store.reschedule(&[id], TTL).await.unwrap();
    store.cancel(&[id]).await.unwrap();
    assert_eq!(store.retry(&[id]).await.unwrap(), [RetryOutcome::Retried]);
    let patches = [
        QueuePatch::default().order(Order::Fair),
        QueuePatch::default().key_on_wait(KeyOnWait::Skip).key_on_dead(KeyOnDead::Hold),
        QueuePatch::default().paused(true),
    ];
    for patch in patches {
        store.configure(&queue("set"), &patch).await.unwrap();
    }
    store.why(id).await.unwrap();
    store.prune().await.unwrap();
    store.repair().await.unwrap();
    all_jobs(store).await;
    assert_eq!(store.all_queues().await.unwrap().len(), 2);
    assert!(store.delete_job(id, false).await.unwrap());
    create(store, &build(unique("u").queue("set"))).await;
    assert!(store.remove_queue(&queue("set"), true).await.unwrap());
    store.record_act(&Act::new("ops", "pause", "queue set")).await.unwrap();
    assert_eq!(store.list_acts(None, PageSize::MAX).await.unwrap().len(), 1);
    use_figures(store).await;
    let inspect: &dyn Inspect = store;
    inspect.durability().await.unwrap();
    inspect.facts().await.unwrap();
    inspect.findings().await.unwrap();
}

async fn use_figures(store: &RedisStore) {
    store.add_runs(&[a_run()]).await.unwrap();
    store.record_totals().await.unwrap();
    let minutes = all_times(Resolution::Minute);
    assert!(!store.list_totals(&minutes).await.unwrap().is_empty());
    assert!(!store.list_runs(&minutes).await.unwrap().is_empty());
    let failed = [QueueName::default()];
    assert_eq!(store.list_error_groups(&failed, PageSize::MAX).await.unwrap().len(), 1);
}

async fn use_schedules_and_events(store: &RedisStore) {
    let scheduler = Scheduler::of(store);
    let every = ScheduleDraft::every("s", Duration::from_secs(60), draft()).build().unwrap();
    let _ = scheduler.declare(&every).await.unwrap();
    let _ = scheduler.tick().await.unwrap();
    scheduler.run_now(&schedule_name("s")).await.unwrap();
    assert!(scheduler.delete(&schedule_name("s")).await.unwrap());
    let consumers = Consumers::of(store);
    let wants = SubscriptionDraft::new("c", "*").build().unwrap();
    let _ = consumers.declare(&wants).await.unwrap();
    let client = Client::shared(std::sync::Arc::new(store.clone()));
    for data in ["small".to_owned(), "x".repeat(2000)] {
        client.emit(EventDraft::new("e", data)).await.unwrap();
    }
    let replay = Replay::new(consumer("c"), "again", ReplayFrom::Beginning);
    assert_eq!(consumers.replay(&replay).await.unwrap().delivered, 2);
    assert_eq!(store.list_events(&Default::default()).await.unwrap().events.len(), 2);
    assert!(store.remove_queue(&queue("event.c"), true).await.is_ok());
}

/// Guard: the rights of each user in the file.
#[tokio::test]
async fn the_users_we_recommend_can_do_what_they_are_for_and_nothing_else() {
    let test = this_test!();
    let Some(server) = server(test).await else { return };
    let store = RedisStore::connect_url(&url(&server, "jobs")).await.unwrap();
    use_all(&store).await;
    assert_forbidden(&server, "jobs", &FORBIDDEN).await;
    assert_forbidden(&server, "jobs", &[&["CONFIG", "GET", "requirepass"]]).await;

    let doctor = RedisStore::connect_url(&url(&server, "doctor")).await.unwrap();
    let inspect: &dyn Inspect = &doctor;
    assert!(inspect.facts().await.unwrap().iter().any(|fact| fact.value == "everysec"));
    inspect.findings().await.unwrap();
    doctor.all_queues().await.unwrap();
    doctor.list_jobs(&JobFilter::default()).await.unwrap();
    assert_forbidden(&server, "doctor", &FORBIDDEN).await;
    assert_forbidden(&server, "doctor", &[&["HSET", "qk:{default}:default:meta", "a", "b"]]).await;
    store.close().await.unwrap();
    doctor.close().await.unwrap();
    let stage = RedisStage::own(&server, "").await;
    stage.end().await;
}

/// A script that calls a command more needs it granted. Guard: the list of the user `jobs`.
#[test]
fn every_command_of_a_script_is_granted_to_the_user_for_jobs() {
    let jobs = USERS.lines().find(|line| line.starts_with("user jobs ")).expect("a user");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../queuekit-redis/lua");
    let files = |path: &Path| {
        let entries = std::fs::read_dir(path).expect("a directory");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    let mut commands = 0;
    for file in files(&root).into_iter().chain(files(&root.join("lib"))).filter(|it| it.is_file()) {
        let text = std::fs::read_to_string(&file).expect("a script");
        for piece in text.split("call('").chain(text.split("write('")).skip(1) {
            let name = piece.split('\'').next().unwrap_or_default();
            if name.chars().all(|letter| letter.is_ascii_uppercase()) && !name.is_empty() {
                commands += 1;
                let right = format!("+{}", name.to_lowercase());
                let granted = jobs.split(' ').any(|word| word == right);
                assert!(granted, "{}: {name}", file.display());
            }
        }
    }
    assert!(commands > 100, "{commands}");
}
