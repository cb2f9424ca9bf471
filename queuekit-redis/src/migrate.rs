//! The version of the stored data.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Migration, Migrations, SchemaStatus};
use redis::{Value, cmd};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::bytes_of;
use crate::repeat::Call;

/// The version that this build writes and reads.
const VERSION: u32 = 9;
/// The oldest version whose programs work with it. Version 9 keeps checkpoints, which programs of
/// version 8 would leave behind when they delete a job. Version 8 counts errors of groups by hour,
/// which programs of version 7 would forget. Version 7 keeps the end of a pause, and programs of
/// version 6 would not see that such a queue is paused. Version 6 gives orders to workers, which
/// programs of version 5 would leave behind when they forget a worker. Version 5 counts failed
/// attempts and removed jobs for the history, which programs of version 4 would not. Version 4
/// keeps error groups, which programs of version 3 would not count, and would leave behind when
/// they remove a queue. Version 3 sorts the set of all queues, which programs of version 2 cannot
/// read. Version 2 keeps releases, which programs of version 1 would leave behind when they delete
/// a job.
const COMPATIBLE_FROM: u32 = 9;
/// Sorts the set of all queues, as version 3 has it.
const SORT_QUEUES: &str = include_str!("../lua/sort_queues.lua");
/// Sets the version if it is still the one that was read: another program may be newer.
const SET_VERSION: &str = include_str!("../lua/set_version.lua");

#[async_trait]
impl Migrations for RedisStore {
    async fn status(&self) -> Result<SchemaStatus> {
        let key = self.shared.keyspace.version();
        let command = cmd("GET").arg(&key).to_owned();
        let get = Request::Command { key, command };
        let stored = self.call("migrations", Call::Read, get).await?;
        Ok(status_of(stored))
    }

    async fn up(&self) -> Result<SchemaStatus> {
        let mut status = self.status().await?;
        if status.stored < VERSION {
            self.sort_queues().await?;
            let key = self.shared.keyspace.version();
            let read = match status.stored {
                0 => String::new(),
                stored => format!("{stored} {}", status.compatible_from),
            };
            let mut command = cmd("EVAL");
            command.arg(SET_VERSION).arg(1).arg(&key).arg(read);
            command.arg(format!("{VERSION} {COMPATIBLE_FROM}"));
            let set = Request::Command { key, command };
            self.call("migrate", Call::Repeatable, set).await?;
            status = self.status().await?;
        }
        status.check()?;
        Ok(status)
    }

    fn pending(&self, stored: u32) -> Vec<Migration> {
        let all = [
            (1, 1),
            (2, 2),
            (3, 3),
            (4, 4),
            (5, 5),
            (6, 6),
            (7, 7),
            (8, 8),
            (VERSION, COMPATIBLE_FROM),
        ];
        let of =
            |(version, compatible_from)| Migration { version, compatible_from, sql: String::new() };
        all.into_iter().filter(|(version, _)| *version > stored).map(of).collect()
    }
}

impl RedisStore {
    /// Changes nothing if the set is sorted or there is none.
    async fn sort_queues(&self) -> Result<()> {
        let key = self.shared.keyspace.registry();
        let command = cmd("EVAL").arg(SORT_QUEUES).arg(1).arg(&key).to_owned();
        let sort = Request::Command { key, command };
        self.call("migrate", Call::Repeatable, sort).await.map(drop)
    }
}

/// Reads the version and the oldest version whose programs work with it: `2 1`.
fn status_of(stored: Value) -> SchemaStatus {
    let text = bytes_of(stored).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut numbers = text.split(' ').map_while(|number| number.parse().ok());
    let stored = numbers.next().unwrap_or(0);
    let compatible_from = numbers.next().unwrap_or(stored);
    SchemaStatus::new(stored, compatible_from, VERSION)
}
