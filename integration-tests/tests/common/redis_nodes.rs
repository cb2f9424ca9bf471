//! Ways around the store to the nodes of a Cluster.

use std::process::Command;
use std::time::Duration;

use queuekit_core::QueueName;
use queuekit_integration_tests::servers::{OwnRedis, RedisCluster};
use redis::{Cmd, FromRedisValue, cmd};

use super::redis_store_fixture::{command, connect};

/// A server that neither answers nor closes a connection until this value is dropped.
pub(crate) struct Hung(u32);

impl Hung {
    pub(crate) fn new(server: &OwnRedis) -> Self {
        let hung = Self(server.pid().expect("it runs"));
        hung.signal("-STOP");
        hung
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0.to_string()]).status();
        assert!(sent.expect("`kill` runs").success());
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        self.signal("-CONT");
    }
}

/// A queue whose keys are on this master, as the Cluster was made: of three, each with a third.
pub(crate) async fn queue_on(cluster: &RedisCluster, master: usize) -> QueueName {
    for number in 0.. {
        let name = format!("q{number}");
        let slot = slot_of(cluster, &name).await;
        if usize::from(slot) * 3 / 16_384 == master {
            return QueueName::new(&name).unwrap();
        }
    }
    unreachable!("every master has queues")
}

pub(crate) async fn slot_of(cluster: &RedisCluster, queue: &str) -> u16 {
    let first = cluster.nodes().next().unwrap();
    command(&first.url(), cmd("CLUSTER").arg("KEYSLOT").arg(format!("{{{queue}}}"))).await
}

/// Moves a slot as `redis-cli --cluster reshard` does, and takes its time with half of it moved.
pub(crate) async fn move_slot(cluster: &RedisCluster, slot: u16, from: usize, to: usize) {
    let nodes: Vec<&OwnRedis> = cluster.nodes().collect();
    let (source, target) = (nodes[from], nodes[to]);
    let id = async |node: &OwnRedis| -> String { ask(node, cmd("CLUSTER").arg("MYID")).await };
    let (source_id, target_id) = (id(source).await, id(target).await);
    let set =
        |what: &str, id: &str| cmd("CLUSTER").arg("SETSLOT").arg(slot).arg(what).arg(id).to_owned();
    let () = ask(target, &set("IMPORTING", &source_id)).await;
    let () = ask(source, &set("MIGRATING", &target_id)).await;
    let mut moved = 0;
    loop {
        let list = cmd("CLUSTER").arg("GETKEYSINSLOT").arg(slot).arg(2).to_owned();
        let keys: Vec<String> = ask(source, &list).await;
        if keys.is_empty() {
            break;
        }
        let mut migrate = cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(target.port()).arg("").arg(0).arg(5000).arg("KEYS").arg(&keys);
        let () = ask(source, &migrate).await;
        moved += keys.len();
        if moved == 4 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
    // A while in which none is left, and the slot is not yet the target's.
    tokio::time::sleep(Duration::from_millis(100)).await;
    for node in [target, source] {
        let () = ask(node, &set("NODE", &target_id)).await;
    }
}

/// `master` or `slave`, from the server itself; empty while it does not answer, because a server
/// that begins to follow another one closes its connections.
pub(crate) async fn role(server: &OwnRedis) -> String {
    let asked = async { cmd("ROLE").query_async(&mut connect(&server.url()).await?).await };
    let answer: redis::RedisResult<Vec<redis::Value>> = asked.await;
    let role = answer.into_iter().flatten().next().map(redis::from_redis_value);
    role.and_then(Result::ok).unwrap_or_default()
}

/// How often nodes have refused a command with this code.
pub(crate) async fn refusals(cluster: &RedisCluster, code: &str) -> u64 {
    let begins = format!("errorstat_{code}:count=");
    let mut count = 0;
    for node in cluster.nodes() {
        let info: String = ask(node, cmd("INFO").arg("errorstats")).await;
        let told = info.lines().find_map(|line| line.strip_prefix(&begins)?.parse::<u64>().ok());
        count += told.unwrap_or_default();
    }
    count
}

async fn ask<T: FromRedisValue>(node: &OwnRedis, question: &Cmd) -> T {
    command(&node.url(), question).await
}
