//! An operator's actions on jobs, by id.

use std::sync::atomic::{AtomicBool, Ordering};

use queuekit_core::{JobId, QueueName, Result};
use redis::Value;

use crate::RedisStore;
use crate::codec::{array_of, bytes_of};
use crate::error::answered;
use crate::indeterminate::in_part;
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::step::{Acted, Action};

/// The most jobs that one script changes.
const SLICE: usize = 100;
/// About how many members of a set one script looks at, to find a job.
const SCAN: usize = 1000;

impl RedisStore {
    /// Runs each action in the queue that has the job; a job in no queue is `Unknown`.
    pub(crate) async fn act(
        &self,
        operation: &'static str,
        acts: Vec<Action>,
    ) -> Result<Vec<Acted>> {
        let ids: Vec<JobId> = acts.iter().map(Action::id).collect();
        let changed = AtomicBool::new(false);
        let changed = &changed;
        let ask = |queue: QueueName, slice: Vec<usize>| {
            let may_be = |at: &usize| acts[*at].may_be_of(&queue);
            let asked: Vec<bool> = slice.iter().map(may_be).collect();
            let of_queue = slice.iter().filter(|at| may_be(at)).map(|at| acts[*at].clone());
            let of_queue: Vec<Action> = of_queue.collect();
            async move {
                let mut acted =
                    self.act_on(operation, &queue, of_queue, changed).await?.into_iter();
                let was_there = |acted: &Acted| *acted != Acted::Unknown;
                let answer = |asked: bool| asked.then(|| acted.next()).flatten().filter(was_there);
                Ok(asked.into_iter().map(answer).collect())
            }
        };
        let acted = self.for_jobs(&ids, ask).await;
        let acted = acted.map_err(|error| match changed.load(Ordering::Relaxed) {
            true => in_part(error),
            false => error,
        })?;
        Ok(acted.into_iter().map(|acted| acted.unwrap_or(Acted::Unknown)).collect())
    }

    /// Sets `changed` once it has changed something, because a later part may fail.
    pub(crate) async fn act_on(
        &self,
        operation: &'static str,
        queue: &QueueName,
        acts: Vec<Action>,
        changed: &AtomicBool,
    ) -> Result<Vec<Acted>> {
        let mut all = Vec::with_capacity(acts.len());
        // A script of large jobs leaves some to the next one.
        while all.len() < acts.len() {
            let slice = &acts[all.len()..acts.len().min(all.len() + SLICE)];
            let args = slice.iter().flat_map(Action::args);
            // A repetition could change a job that another call has changed meanwhile.
            let answer = self.on_queue(operation, Call::Once, Lua::Actions, queue, args).await?;
            let answer = array_of(answer).filter(|words| !words.is_empty());
            let answer = answer.ok_or_else(|| answered(operation))?;
            for (act, word) in slice.iter().zip(answer) {
                let word = bytes_of(word).ok_or_else(|| answered(operation))?;
                let acted = Acted::read(&word, act.id())?;
                let changes = matches!(acted, Acted::Done | Acted::Requested);
                changed.fetch_or(changes, Ordering::Relaxed);
                all.push(acted);
            }
        }
        self.stir(std::iter::once(queue));
        if all.contains(&Acted::Requested) {
            self.tell_cancel(queue);
        }
        Ok(all)
    }

    /// Deletes a dead job with two unreadable records, whose place cannot be computed; false if the
    /// job is not dead.
    pub(crate) async fn clear(&self, id: JobId) -> Result<bool> {
        let ask = |queue: QueueName, _| async move {
            self.clear_from(&queue, id, "held").await?;
            Ok(vec![self.clear_from(&queue, id, "dead").await?.then_some(())])
        };
        Ok(self.for_jobs(&[id], ask).await?.iter().any(Option::is_some))
    }

    async fn clear_from(&self, queue: &QueueName, id: JobId, part: &str) -> Result<bool> {
        let mut from = b"0".to_vec();
        loop {
            let args = [id.as_bytes().to_vec(), part.into(), from, SCAN.to_string().into()];
            // A repetition would not find the job that the first attempt has removed.
            let call = Call::Once;
            match self.on_queue("delete_job", call, Lua::Clear, queue, args).await? {
                Value::BulkString(next) if next != b"0" => from = next,
                answer => return Ok(answer == Value::Int(1)),
            }
        }
    }
}
