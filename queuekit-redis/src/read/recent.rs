//! Ends of jobs, for lists of what is recent (contract R8.7).

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use queuekit_core::backend::{AnswerBytes, End, Ended, EndedJobs, EndsBefore};
use queuekit_core::{Job, JobId, QueueName, Result, State, Timestamp};
use redis::Value;

use crate::RedisStore;
use crate::codec::{array_of, bytes_of, job_id, number_of};
use crate::error::unreadable;
use crate::layout::ENTRY;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most queues that are asked for ends at once.
const ENDS_AT_ONCE: usize = 50;
/// The most queues that are asked for jobs at once, each for a megabyte of them.
const JOBS_AT_ONCE: usize = 8;

#[async_trait]
impl EndedJobs for RedisStore {
    async fn queues(&self, most: usize) -> Result<Vec<QueueName>> {
        self.queues_from(Bound::Unbounded, most).await
    }

    async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>> {
        let mut by_queue: BTreeMap<&QueueName, Vec<usize>> = BTreeMap::new();
        for (at, of) in of.iter().enumerate() {
            by_queue.entry(&of.queue).or_default().push(at);
        }
        let by_queue: Vec<_> = by_queue.into_iter().collect();
        let mut ends = vec![Vec::new(); of.len()];
        for queues in by_queue.chunks(ENDS_AT_ONCE) {
            let asked = queues.iter().map(|(queue, places)| {
                self.ends_of(queue, places.iter().map(|at| &of[*at]).collect(), most)
            });
            for ((_, places), found) in queues.iter().zip(try_join_all(asked).await?) {
                places.iter().zip(found).for_each(|(at, found)| ends[*at] = found);
            }
        }
        Ok(ends)
    }

    async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>> {
        let mut by_queue: BTreeMap<&QueueName, Vec<JobId>> = BTreeMap::new();
        for Ended { queue, end, .. } in ended {
            by_queue.entry(queue).or_default().push(end.id);
        }
        let by_queue: Vec<_> = by_queue.into_iter().collect();
        let mut read: HashMap<JobId, Option<Job>> = HashMap::with_capacity(ended.len());
        for queues in by_queue.chunks(JOBS_AT_ONCE) {
            let time = self.time_left();
            let asked =
                queues.iter().map(|(queue, ids)| self.some_jobs_at(time, "list_jobs", queue, ids));
            for ((_, ids), (shown, looked_at)) in queues.iter().zip(try_join_all(asked).await?) {
                read.extend(ids[..looked_at].iter().map(|id| (*id, None)));
                read.extend(shown.into_iter().map(|shown| (shown.job.id, Some(shown.job))));
            }
        }
        let mut bytes = AnswerBytes::default();
        let mut jobs = Vec::with_capacity(ended.len());
        for Ended { end, .. } in ended {
            // The scripts end with what is large: the caller asks again from there.
            let Some(job) = read.remove(&end.id) else { break };
            if !bytes.admit(job.as_ref().map_or(0, Job::bytes)) {
                break;
            }
            jobs.push(job);
        }
        Ok(jobs)
    }
}

impl RedisStore {
    /// The ends of one queue.
    async fn ends_of(
        &self,
        queue: &QueueName,
        of: Vec<&EndsBefore>,
        most: usize,
    ) -> Result<Vec<Vec<End>>> {
        let mut args = vec![most.to_string().into_bytes()];
        for EndsBefore { state, before, .. } in &of {
            let section = match state {
                State::Completed => "completed",
                State::Dead => "dead",
                _ => "cancelled",
            };
            let score = before.at.as_millis().to_string();
            args.extend([section.into(), score.into_bytes(), member_of(before)]);
        }
        let answer = self.on_queue("list_jobs", Call::Read, Lua::Ends, queue, args).await?;
        let broken = || unreadable("the ends of jobs");
        let lists = array_of(answer).filter(|lists| lists.len() == of.len()).ok_or_else(broken)?;
        lists.into_iter().map(|list| ends_in(list).ok_or_else(broken)).collect()
    }
}

/// The member of the end; empty, and so before all of its time, for one that is no job's.
fn member_of(end: &End) -> Vec<u8> {
    match u64::try_from(end.seq) {
        Ok(seq) => [format!("{seq:012x}").as_bytes(), end.id.as_bytes()].concat(),
        Err(_) => Vec::new(),
    }
}

fn ends_in(list: Value) -> Option<Vec<End>> {
    let mut parts = array_of(list)?.into_iter();
    let mut ends = Vec::with_capacity(parts.len() / 2);
    while let (Some(score), Some(member)) = (parts.next(), parts.next()) {
        let (at, member) = (number_of(score)?, bytes_of(member)?);
        // One that cannot be read is a job that is not stored: a list never fails on one record.
        let seq = member.get(ENTRY.seq).and_then(|seq| std::str::from_utf8(seq).ok());
        let seq = seq.and_then(|seq| i64::from_str_radix(seq, 16).ok()).unwrap_or_default();
        let id = member.get(ENTRY.id).and_then(job_id);
        let id = id.unwrap_or(JobId::from_bytes([0; 16]));
        ends.push(End { at: Timestamp::from_millis(at), seq, id });
    }
    Some(ends)
}
