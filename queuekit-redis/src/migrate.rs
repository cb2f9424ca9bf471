//! The version of what is stored.

use async_trait::async_trait;
use queuekit_core::capability::{Migrations, SchemaStatus};
use queuekit_core::{Error, ErrorKind, Result};
use redis::cmd;

use crate::RedisStore;
use crate::call::{Call, Request};
use crate::codec::number_of;

/// What this build writes and reads.
const VERSION: u32 = 1;

#[async_trait]
impl Migrations for RedisStore {
    async fn status(&self) -> Result<SchemaStatus> {
        let key = self.shared.keyspace.version();
        let command = cmd("GET").arg(&key).to_owned();
        let get = Request::Command { key, command };
        let stored = self.call("migrations", Call::Read, get).await?;
        let stored = number_of(stored).and_then(|version| u32::try_from(version).ok());
        Ok(SchemaStatus { stored: stored.unwrap_or(0), wanted: VERSION })
    }

    async fn up(&self) -> Result<SchemaStatus> {
        let mut status = self.status().await?;
        if status.stored > VERSION {
            return Err(newer(status));
        }
        if status.stored == 0 {
            let key = self.shared.keyspace.version();
            let command = cmd("SET").arg(&key).arg(VERSION).arg("NX").to_owned();
            let set = Request::Command { key, command };
            self.call("migrate", Call::Repeatable, set).await?;
            status = self.status().await?;
        }
        Ok(status)
    }

    fn sql(&self) -> String {
        String::new()
    }
}

fn newer(status: SchemaStatus) -> Error {
    let message = format!(
        "what it holds is of version {}, newer than the {} this build knows; use a newer queuekit",
        status.stored, status.wanted
    );
    Error::new(ErrorKind::Unsupported, message)
}
