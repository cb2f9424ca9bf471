//! Results of steps of jobs (contract R13.10).

use async_trait::async_trait;
use queuekit_core::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit_core::lifecycle::{Held, checkpoint};
use queuekit_core::limits::{CHECKPOINTS, CHECKPOINTS_BYTES};
use queuekit_core::{
    CheckpointInfo, CheckpointName, Checkpoints, JobId, LeaseToken, QueueName, Result, Timestamp,
};
use redis::Value;

use crate::RedisStore;
use crate::codec::{array_of, bytes_of, checkpoints, number_of, token};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::step::{Acted, Action};

#[async_trait]
impl KeepCheckpoints for RedisStore {
    async fn put_checkpoint(&self, new: &NewCheckpoint) -> Result<CheckpointOutcome> {
        let (lease, result) = (new.lease(), new.result());
        let args = [
            lease.id.as_bytes().to_vec(),
            token(lease),
            new.name().as_str().into(),
            result.to_vec(),
            CHECKPOINTS.to_string().into(),
            CHECKPOINTS_BYTES.to_string().into(),
        ];
        let (call, script) = (Call::Repeatable, Lua::CheckpointPut);
        let answer = self.on_queue("put_checkpoint", call, script, &lease.queue, args).await?;
        let outcome = match answer {
            Value::Array(had) => held(had).map(|held| checkpoint(held, result.len())),
            word => match bytes_of(word).as_deref() {
                Some(b"L") => Some(CheckpointOutcome::LeaseLost),
                Some(b"N") => Some(CheckpointOutcome::NotFound),
                _ => None,
            },
        };
        outcome.ok_or_else(|| unreadable("the answer to a checkpoint"))
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        let args = [lease.id.as_bytes().to_vec(), token(lease)];
        let (call, script) = (Call::Read, Lua::Checkpoints);
        let answer = self.on_queue("checkpoints", call, script, &lease.queue, args).await?;
        let values = array_of(answer).ok_or_else(|| unreadable("checkpoints"))?;
        let mut values = values.into_iter();
        let Some(now) = values.next() else {
            return Ok(None);
        };
        let now = number_of(now).ok_or_else(|| unreadable("the time of a read"))?;
        let stored = values.next().and_then(bytes_of).unwrap_or_default();
        Ok(Some(Checkpoints { now: Timestamp::from_millis(now), stored: checkpoints(&stored) }))
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        let ask = |queue: QueueName, _| async move {
            let args = [id.as_bytes().to_vec()];
            let (call, script) = (Call::Read, Lua::CheckpointsList);
            let read = self.on_queue("list_checkpoints", call, script, &queue, args).await?;
            Ok(vec![array_of(read).map(infos)])
        };
        let listed = self.for_jobs(&[id], ask).await;
        let listed = listed.map_err(|error| error.during("list_checkpoints"))?;
        Ok(listed.into_iter().flatten().next().unwrap_or_default())
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        let acts = ids.iter().map(|id| Action::new("forget", *id)).collect();
        let acted = self.for_one_call().act("forget_checkpoints", acts).await?;
        Ok(acted.into_iter().map(|acted| acted == Acted::Done).collect())
    }
}

/// What the job had before.
fn held(had: Vec<Value>) -> Option<Held> {
    let mut had = had.into_iter();
    let mut number = || usize::try_from(number_of(had.next()?)?).ok();
    let (count, bytes) = (number()?, number()?);
    let same = match had.next().and_then(bytes_of)?.as_slice() {
        b"-" => None,
        word => Some(word == b"S"),
    };
    Some(Held { count, bytes, same })
}

/// From name, time and bytes of each; without those that cannot be read.
fn infos(values: Vec<Value>) -> Vec<CheckpointInfo> {
    let mut values = values.into_iter();
    let mut next = || -> Option<Option<CheckpointInfo>> {
        let (name, at, bytes) = (values.next()?, values.next()?, values.next()?);
        let name =
            bytes_of(name).and_then(|name| CheckpointName::new(str::from_utf8(&name).ok()?).ok());
        let (at, bytes) = (number_of(at)?, usize::try_from(number_of(bytes)?).ok()?);
        Some(name.map(|name| CheckpointInfo { name, at: Timestamp::from_millis(at), bytes }))
    };
    std::iter::from_fn(&mut next).flatten().collect()
}
