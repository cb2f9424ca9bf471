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
const VERSION: u32 = 1;

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
        if status.stored == 0 {
            let key = self.shared.keyspace.version();
            let value = format!("{VERSION} {VERSION}");
            let command = cmd("SET").arg(&key).arg(value).arg("NX").to_owned();
            let set = Request::Command { key, command };
            self.call("migrate", Call::Repeatable, set).await?;
            status = self.status().await?;
        }
        status.check()?;
        Ok(status)
    }

    fn pending(&self, stored: u32) -> Vec<Migration> {
        let first = Migration { version: VERSION, compatible_from: VERSION, sql: String::new() };
        if stored < VERSION { vec![first] } else { Vec::new() }
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
