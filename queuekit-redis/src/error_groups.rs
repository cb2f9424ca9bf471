//! Error groups (contract R8.4). Those of a queue are in its slot, so the script that records a
//! failure or a death counts it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use queuekit_core::capability::ErrorGroups;
use queuekit_core::{
    ErrorGroup, GroupDelta, GroupKey, Kind, PageSize, QueueName, RecentErrors, Result, Signature,
    Timestamp,
};

use crate::RedisStore;
use crate::codec::{array_of, bytes_of, job_id};
use crate::error::unreadable;
use crate::layout::GROUP;
use crate::layout::bytes::Parts;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most queues that are asked at once.
const AT_ONCE: usize = 10;

#[async_trait]
impl ErrorGroups for RedisStore {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        let queues: Vec<&QueueName> = queues.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let (store, mut groups) = (self.for_one_call(), Vec::new());
        for queues in queues.chunks(AT_ONCE) {
            let of_queues = queues.iter().map(|queue| store.error_groups_of(queue, limit));
            groups.extend(try_join_all(of_queues).await?.into_iter().flatten());
            ErrorGroup::keep_latest(&mut groups, limit.get());
        }
        Ok(groups)
    }
}

impl RedisStore {
    async fn error_groups_of(&self, queue: &QueueName, limit: PageSize) -> Result<Vec<ErrorGroup>> {
        let (call, script) = (Call::Read, Lua::ErrorGroups);
        let args = [limit.get().to_string().into_bytes()];
        let answer = self.on_queue("list_error_groups", call, script, queue, args).await?;
        let parts = array_of(answer).ok_or_else(|| unreadable("error groups"))?;
        let texts: Vec<Vec<u8>> = parts.into_iter().filter_map(bytes_of).collect();
        let (now, texts) = texts.split_first().ok_or_else(|| unreadable("error groups"))?;
        let now = Parts(now).time(0..now.len()).ok_or_else(|| unreadable("error groups"))?;
        let groups = texts.chunks_exact(2).filter_map(|pair| read(queue, &pair[0], &pair[1], now));
        Ok(groups.collect())
    }
}

/// As it is now; none if it cannot be read as a group.
fn read(queue: &QueueName, key: &[u8], record: &[u8], now: Timestamp) -> Option<ErrorGroup> {
    let (kind, signature) = std::str::from_utf8(key).ok()?.split_once('\0')?;
    let key =
        GroupKey { kind: Kind::new(kind).ok()?, signature: Signature::from_stored(signature)? };
    let parts = Parts(record);
    let delta = GroupDelta {
        failures: parts.hex(GROUP.failures)?,
        deaths: parts.hex(GROUP.deaths)?,
        errors: 0,
        sample: job_id(record.get(GROUP.sample)?)?,
    };
    let mut group = ErrorGroup::begun(queue.clone(), key, delta, parts.time(GROUP.first)?);
    group.last = parts.time(GROUP.last)?;
    let recent = std::str::from_utf8(record.get(GROUP.head.end..)?).ok()?;
    group.recent = RecentErrors::from_stored(recent, group.last);
    group.recent.roll(now);
    Some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a script that ends a job by itself counts it in the group that core would name.
    #[test]
    fn r8_4_scripts_spell_the_signatures_of_core() {
        let scripts =
            concat!(include_str!("../lua/lib/change.lua"), include_str!("../lua/lib/reserve.lua"));
        for reason in [queuekit_core::lifecycle::LEASE_EXPIRED, "deadline", "corrupt"] {
            let signature = format!("'{}'", Signature::of(reason).to_stored());
            assert!(scripts.contains(&signature), "{signature}");
        }
    }
}
