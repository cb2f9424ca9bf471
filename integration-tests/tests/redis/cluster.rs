//! The Redis store in a Cluster whose slots move and whose nodes die.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::redis_load::Load;
use crate::common::redis_nodes::{Hung, move_slot, queue_on, refusals, role, slot_of};
use crate::common::redis_store_fixture::command;
use crate::common::store_fixture::{all_jobs, complete, create, promptly, until};
use queuekit_conformance::kit::{TTL, build, draft, kind_of, ttl, worker};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{Admin, Exchange, ExtendOutcome, Leases, Settlement, Wakeups};
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, EnqueueOutcome, ErrorKind, JobId, NewJob, QueueName,
    Queues, Reserve,
};
use queuekit_integration_tests::servers::{self, OwnRedis, RedisCluster, RedisSettings};
use queuekit_redis::RedisStore;
use redis::cmd;

/// Printed when a test is skipped.
const NO_PROGRAM: &str = "there is no program of Redis";
/// Leases that end while a test looks.
const SHORT: Duration = Duration::from_secs(2);

/// A Cluster of three masters and this number of replicas of the first, for one test.
async fn cluster(test: &str, settings: RedisSettings, replicas: usize) -> Option<RedisCluster> {
    let cluster = RedisCluster::start(settings, 3, replicas).await;
    if cluster.is_none() {
        skip(test, NO_PROGRAM);
    }
    cluster
}

/// Nodes that serve what they have when others are gone.
fn partial() -> RedisSettings {
    OwnRedis::settings().set("cluster-require-full-coverage", "no")
}

fn names(count: usize) -> Vec<QueueName> {
    (0..count).map(|n| QueueName::new(format!("queue-{n}")).unwrap()).collect()
}

fn job_of(queue: &QueueName) -> NewJob {
    build(draft().queue(queue.as_str()))
}

fn from_all(queues: &[QueueName], limit: usize) -> Reserve {
    Reserve::new(Queues::from(queues.to_vec()), limit, ttl(TTL), worker("w")).unwrap()
}

#[tokio::test]
async fn r2_3_forty_queues_are_served_wherever_their_slots_are() {
    let test = this_test!();
    let Some(cluster) = servers::redis_cluster() else { return skip(test, NO_PROGRAM) };
    let url = format!("{}?prefix={}", cluster.url(), cluster.prefix());
    let store = RedisStore::connect_url(&url).await.unwrap();
    let queues = names(40);
    let jobs: Vec<NewJob> = queues.iter().chain(&queues).map(job_of).collect();
    let ids: BTreeSet<JobId> = jobs.iter().map(NewJob::id).collect();
    let outcomes = store.enqueue(&jobs).await.unwrap();
    let created: Vec<EnqueueOutcome> =
        jobs.iter().map(|job| EnqueueOutcome::Created { id: job.id() }).collect();
    assert_eq!(outcomes, created, "in input order");
    assert_eq!(all_jobs(&store).await.len(), jobs.len());
    assert_eq!(store.all_queues().await.unwrap().len(), queues.len());

    let request = from_all(&queues, jobs.len());
    let leases = store.reserve(&request).await.unwrap().leases;
    assert_eq!(leases.iter().map(|lease| lease.token.id).collect::<BTreeSet<_>>(), ids);
    let tokens: Vec<_> = leases.iter().map(|lease| lease.token.clone()).collect();
    let extended = store.extend(&tokens, ttl(TTL)).await.unwrap();
    let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
    assert!(extended.iter().all(|outcome| *outcome == alive), "{extended:?}");
    let acks = tokens.into_iter().map(Ack::new).collect();
    let settlement = Settlement { acks, ..Settlement::default() };
    let exchanged = store.exchange(&settlement, &from_all(&queues, 1)).await.unwrap();
    assert!(exchanged.acks.iter().all(|outcome| *outcome == AckOutcome::Acked));
    // By id nobody tells the queue.
    let other = RedisStore::connect_url(&url).await.unwrap();
    for id in &ids {
        assert!(other.delete_job(*id, false).await.unwrap(), "{id}");
    }
    for queue in &queues {
        assert!(other.remove_queue(queue, false).await.unwrap(), "{queue}");
    }
    other.close().await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn r11_2_a_url_of_one_node_opens_the_cluster_and_every_node_is_checked() {
    let test = this_test!();
    let Some(cluster) = cluster(test, OwnRedis::settings(), 0).await else { return };
    let url = cluster.nodes().next().unwrap().url();
    let store = RedisStore::connect_url(&url).await.unwrap();
    assert!(!store.capabilities().atomic_across_queues);
    for queue in names(8) {
        create(&store, &job_of(&queue)).await;
    }
    let last = cluster.nodes().last().unwrap();
    let set = async |value: &str| {
        let () = command(&last.url(), cmd("CONFIG").arg("SET").arg("appendonly").arg(value)).await;
    };
    set("no").await;
    let error = RedisStore::connect_url(&url).await.expect_err("a node may lose jobs");
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    let told = error.to_string();
    assert!(told.contains(&last.address()) && told.contains("set `appendonly yes`"), "{told}");
    set("yes").await;
    RedisStore::connect_url(&url).await.unwrap();
    let first = format!("{}/1", cluster.url());
    let error = RedisStore::connect_url(&first).await.expect_err("there is no database 1");
    assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
}

#[tokio::test]
async fn r13_6_an_enqueue_on_any_node_wakes_who_sleeps() {
    let test = this_test!();
    let Some(cluster) = servers::redis_cluster() else { return skip(test, NO_PROGRAM) };
    let url = format!("{}?prefix={}", cluster.url(), cluster.prefix());
    let sleeper = RedisStore::connect_url(&url).await.unwrap();
    let caller = RedisStore::connect_url(&url).await.unwrap();
    let queues = names(9);
    let wakeup = sleeper.subscribe(&queues).unwrap();
    for queue in queues.iter().chain(&queues) {
        // Connections that begin to listen ring too.
        while tokio::time::timeout(Duration::from_millis(300), wakeup.rung()).await.is_ok() {}
        create(&caller, &job_of(queue)).await;
        promptly("the wake-up", wakeup.rung()).await;
        let request = from_all(std::slice::from_ref(queue), 10);
        let leases = sleeper.reserve(&request).await.unwrap().leases;
        assert_eq!(leases.len(), 1);
        complete(&sleeper, leases).await;
    }
    promptly("the end of all connections", sleeper.close()).await.unwrap();
    caller.close().await.unwrap();
}

#[tokio::test]
async fn r2_3_a_call_of_which_a_part_failed_is_in_doubt_and_repeating_it_is_safe() {
    let test = this_test!();
    let settings = partial().set("appendfsync", "always");
    let Some(mut cluster) = cluster(test, settings, 0).await else { return };
    let url = format!("{}?op_timeout_ms=1500", cluster.url());
    let store = RedisStore::connect_url(&url).await.unwrap();
    let (here, away) = (queue_on(&cluster, 0).await, queue_on(&cluster, 1).await);
    let jobs = [job_of(&here), job_of(&away)];
    create(&store, &job_of(&here)).await;
    create(&store, &job_of(&away)).await;
    let leases = store.reserve(&from_all(&[here.clone(), away.clone()], 10)).await.unwrap().leases;
    let tokens: Vec<_> = leases.iter().map(|lease| lease.token.clone()).collect();
    assert_eq!(tokens.len(), 2);
    cluster.master(1).kill();
    assert_eq!(kind_of(store.enqueue(&jobs).await), ErrorKind::Indeterminate);
    assert_eq!(kind_of(store.enqueue(&jobs[1..]).await), ErrorKind::Unavailable);
    // What can be served is: nobody waits for the node that is away.
    let both = from_all(&[away.clone(), here.clone()], 10);
    let leased = promptly("a reserve", store.reserve(&both)).await.unwrap().leases;
    assert_eq!(leased.iter().map(|lease| lease.token.id).collect::<Vec<_>>(), [jobs[0].id()]);
    let extended = promptly("a heartbeat", store.extend(&tokens, ttl(TTL))).await.unwrap();
    let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
    assert_eq!(extended, [alive, ExtendOutcome::Unknown]);
    cluster.master(1).restart().await;
    cluster.until_served().await;
    let outcomes = store.enqueue(&jobs.clone().map(NewJob::repeated)).await.unwrap();
    let [existing, id] = jobs.each_ref().map(NewJob::id);
    assert_eq!(outcomes, [EnqueueOutcome::Duplicate { existing }, EnqueueOutcome::Created { id }]);
    assert_eq!(store.extend(&tokens, ttl(TTL)).await.unwrap(), [alive, alive]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r0_2_a_slot_that_moves_under_load_loses_and_doubles_nothing() {
    let test = this_test!();
    let Some(cluster) = cluster(test, OwnRedis::settings(), 0).await else { return };
    let (moving, staying) = (queue_on(&cluster, 0).await, queue_on(&cluster, 1).await);
    let load = Load::begin(&cluster.url(), &[moving.clone(), staying.clone()], TTL).await;
    let slot = slot_of(&cluster, moving.as_str()).await;
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        load.goes_on(&moving).await;
        move_slot(&cluster, slot, from, to).await;
        load.goes_on(&moving).await;
        load.goes_on(&staying).await;
    }
    for (error, what) in [("MOVED", "it had been elsewhere"), ("TRYAGAIN", "it was on its way")] {
        let told = refusals(&cluster, error).await;
        assert!(told > 0, "no call was told that {what}");
    }
    let runs = load.end().await;
    assert!(runs.iter().all(|runs| *runs == 1), "each has run once: {runs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_6_a_master_that_is_killed_is_served_again_and_the_others_all_the_time() {
    let test = this_test!();
    let settings = partial().set("appendfsync", "always");
    let Some(mut cluster) = cluster(test, settings, 0).await else { return };
    let queues = [queue_on(&cluster, 0).await, queue_on(&cluster, 1).await];
    let load = Load::begin(&cluster.url(), &queues, SHORT).await;
    for _ in 0..2 {
        load.goes_on(&queues[0]).await;
        cluster.master(0).kill();
        load.goes_on(&queues[1]).await;
        cluster.master(0).restart().await;
        cluster.until_served().await;
        load.goes_on(&queues[0]).await;
    }
    load.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_1_a_failover_within_the_cluster_loses_nothing_that_replicas_were_waited_for() {
    let test = this_test!();
    let Some(mut cluster) = cluster(test, OwnRedis::settings(), 1).await else { return };
    let queue = queue_on(&cluster, 0).await;
    let url = format!("{}?wait_replicas=1", cluster.url());
    let load = Load::begin(&url, std::slice::from_ref(&queue), SHORT).await;
    load.goes_on(&queue).await;
    cluster.master(0).kill();
    let replica = cluster.nodes().last().unwrap();
    until("the replica is the master", async || role(replica).await == "master").await;
    // Without a replica nothing is answered for, until the old master follows the new one.
    cluster.master(0).restart().await;
    load.goes_on(&queue).await;
    load.end().await;
    let first = cluster.nodes().next().unwrap();
    assert_eq!(role(first).await, "slave");
}

#[tokio::test]
async fn r10_2_a_node_that_hangs_is_left_for_the_one_that_takes_its_place() {
    let test = this_test!();
    let Some(cluster) = cluster(test, OwnRedis::settings(), 1).await else { return };
    let queue = queue_on(&cluster, 0).await;
    let waits = RedisStore::connect_url(&format!("{}?wait_replicas=1", cluster.url())).await;
    create(&waits.unwrap(), &job_of(&queue)).await;
    let store = RedisStore::connect_url(&cluster.url()).await.unwrap();
    let request = from_all(std::slice::from_ref(&queue), 10);
    assert_eq!(store.reserve(&request).await.unwrap().leases.len(), 1);
    let _hung = Hung::new(cluster.nodes().next().unwrap());
    let call = store.enqueue_one(job_of(&queue));
    tokio::time::timeout(Duration::from_secs(9), call).await.expect("within op_timeout").unwrap();
    assert_eq!(store.reserve(&request).await.unwrap().leases.len(), 1);
    assert_eq!(role(cluster.nodes().last().unwrap()).await, "master");
}
