//! An idle worker that sends the server no command (contract R13.12).

use crate::common::quiet::{is_rung, rests, watched_for, worker};
use crate::common::redis_store_fixture::RedisStage;
use crate::faults::server;
use queuekit_conformance::this_test;
use queuekit_core::Client;
use queuekit_integration_tests::servers::OwnRedis;
use redis::cmd;

/// The commands that the server has run, those of scripts included, without those of this test.
async fn commands(stage: &RedisStage) -> u64 {
    let info: String = stage.ask(cmd("INFO").arg("commandstats")).await;
    let of = |line: &str| -> Option<(String, u64)> {
        let (name, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), stats.split_once(',')?.0.parse().ok()?))
    };
    let own = ["info", "client|setinfo", "client"];
    let of_others = info.lines().filter_map(of).filter(|(name, _)| !own.contains(&name.as_str()));
    of_others.map(|(_, calls)| calls).sum()
}

/// R13.12, with the parts that no layer in front of the store sees: the connections that wait for
/// markers and for cancels.
/// Guard: the looks of the one are longer and the other is not checked while a worker rests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_12_an_idle_worker_sends_redis_no_command() {
    let test = this_test!();
    let mut sent = Vec::new();
    for is_quiet in [true, false] {
        let Some(server) = server(test, OwnRedis::settings()).await else { return };
        let stage = RedisStage::own(&server, "").await;
        let worker = worker(Client::new(stage.store.clone()), is_quiet).await;
        sent.push((server, stage, worker));
    }
    rests(&sent[0].2).await;
    // The look for markers that was under way when the rest began takes 5 s.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    let before = [commands(&sent[0].1).await, commands(&sent[1].1).await];
    tokio::time::sleep(watched_for()).await;
    let after = [commands(&sent[0].1).await, commands(&sent[1].1).await];
    let [quiet, awake] = [after[0] - before[0], after[1] - before[1]];
    eprintln!("in {:?}: {quiet} commands if quiet, {awake} if not", watched_for());
    assert_eq!(quiet, 0);
    assert!(awake > 10, "they are counted");
    let elsewhere = sent[0].1.handle("").await;
    is_rung(&sent[0].2, &Client::new(elsewhere)).await;
    for (_server, stage, worker) in sent {
        worker.stop().await;
        stage.end().await;
    }
}
