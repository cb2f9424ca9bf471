//! Retention (contract R12), and repair of derived data.

use queuekit_core::capability::UpkeepReport;
use queuekit_core::lifecycle::Transition;
use queuekit_core::{QueueName, Result, State, Timestamp};
use rusqlite::{Row, params};

use super::Step;
use super::partition_key::Lane;
use crate::column_names::columns;
use crate::error::failed;
use crate::row::PLAIN;
use crate::statements::*;

/// The most jobs that one step removes.
const STEP: usize = 1000;
/// The most queues that one step looks at, whether there is something to remove or not.
const QUEUES: usize = 1000;

columns! {
    struct EndedColumns { finished_at, end_seq, key }
    struct LaneCounts { waiting, running, held }
    struct StateCounts { state, jobs, bytes }
}

impl Step<'_> {
    /// One step of retention, from this queue on. Returns the queue with which the next step
    /// begins, if there are more.
    pub(crate) fn prune(&mut self, first: &str) -> Result<(UpkeepReport, Option<QueueName>)> {
        // One more than this step looks at: with it the next step begins.
        let mut queues = self.queues_from(first, true, QUEUES + 1)?;
        let mut next = (queues.len() > QUEUES).then(|| queues.pop()).flatten().map(|of| of.name);
        let mut removed = 0;
        for queue in self.touch(queues) {
            while removed < STEP
                && let Some(key) = self.beyond_retention(queue)?
            {
                match self.job_of_key(key)? {
                    Some(mut record) => self.apply(&mut record, Transition::Prune, |_| {})?,
                    // The job was deleted by hand. Its run is still there, and comes first again.
                    None => {
                        self.forget_run(key)?;
                        self.queues[queue].count_job(State::Completed, 0, -1);
                    }
                }
                removed += 1;
            }
            if removed == STEP {
                // The queue may have more to remove.
                next = Some(self.queues[queue].name.clone());
                break;
            }
        }
        let forgotten = self.execute(KEYS_FORGET, params![self.now.as_millis(), STEP])?;
        self.vacuum()?;
        let more = next.is_some() || forgotten == STEP;
        Ok((UpkeepReport::new(removed as u64, more), next))
    }

    /// Frees pages. The pragma frees one page per row, so all its rows are read.
    fn vacuum(&self) -> Result<()> {
        let mut statement = self.prepare(VACUUM)?;
        let mut pages = statement.query([]).map_err(failed)?;
        while pages.next().map_err(failed)?.is_some() {}
        Ok(())
    }

    /// The oldest job of its kind, if retention no longer keeps it.
    fn beyond_retention(&self, queue: usize) -> Result<Option<i64>> {
        let retention = self.queues[queue].settings.retention;
        let groups: [(&[State], _); 2] = [
            (&[State::Completed, State::Cancelled], retention.done),
            (&[State::Dead], retention.dead),
        ];
        for (states, keep) in groups {
            let mut oldest: Option<(Timestamp, i64, i64)> = None;
            let there = |state: &&State| self.queues[queue].count(**state) > 0;
            for state in states.iter().filter(there) {
                let read = |row: &Row<'_>, at: &EndedColumns| {
                    let finished_at = Timestamp::from_millis(row.get(at.finished_at)?);
                    Ok((finished_at, row.get(at.end_seq)?, row.get(at.key)?))
                };
                let id = self.queues[queue].id;
                let first = match state {
                    State::Completed => self.row(FIRST_COMPLETED, [id], read)?,
                    _ => self.row(FIRST_ENDED, params![id, *state as i64], read)?,
                };
                oldest = oldest.into_iter().chain(first).min();
            }
            let beyond = oldest
                .filter(|(at, _, _)| self.queues[queue].is_beyond(states, &keep, *at, self.now));
            if let Some((_, _, key)) = beyond {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Compares some partition keys of a queue with their jobs. Returns those that differ, and the
    /// last key looked at; none at the end of the queue.
    pub(crate) fn crooked_lanes(
        &mut self,
        name: &QueueName,
        after: Option<&str>,
        most: usize,
    ) -> Result<(Vec<String>, Option<String>)> {
        let Some(queue) = self.queue(name)? else {
            return Ok((Vec::new(), None));
        };
        let id = self.queues[queue].id;
        let mut last = after.unwrap_or(PLAIN).to_owned();
        let mut crooked = Vec::new();
        if after.is_none() && !self.is_straight(queue, PLAIN)? {
            crooked.push(last.clone());
        }
        for _ in 0..most {
            let next = self.value(LANE_AFTER, params![id, last])?;
            let Some(name) = next.flatten() else {
                return Ok((crooked, None));
            };
            last = name;
            if !self.is_straight(queue, &last)? {
                crooked.push(last.clone());
            }
        }
        Ok((crooked, Some(last)))
    }

    /// Counts the jobs of partition keys anew, and puts each key where its next job is served.
    pub(crate) fn mend_lanes(&mut self, name: &QueueName, lanes: &[String]) -> Result<()> {
        let Some(queue) = self.queue(name)? else {
            return Ok(());
        };
        for name in lanes {
            let lane = self.lane(queue, name)?;
            let mut counted = self.counted(&lane)?;
            self.refresh(&mut counted)?;
        }
        self.stir(queue);
        Ok(())
    }

    /// The key as counted from its jobs.
    fn counted(&self, lane: &Lane) -> Result<Lane> {
        let mut counted = lane.clone();
        let place = params![self.queues[lane.queue].id, lane.name];
        let counts = self.row(LANE_COUNT, place, |row, at: &LaneCounts| {
            Ok((row.get(at.waiting)?, row.get(at.running)?, row.get(at.held)?))
        })?;
        (counted.waiting, counted.running, counted.held) = counts.unwrap_or_default();
        counted.head = match lane.is_plain() {
            true => None,
            false => self.waiting_job(HEAD, lane)?.map(|head| head.seq),
        };
        Ok(counted)
    }

    /// Whether a key's row agrees with its jobs, and the key is in a serving structure if and only
    /// if it has a job to lease.
    fn is_straight(&self, queue: usize, name: &str) -> Result<bool> {
        let lane = &self.lane(queue, name)?;
        let counted = &self.counted(lane)?;
        let facts = |lane: &Lane| (lane.waiting, lane.running, lane.held, lane.head);
        if facts(lane) != facts(counted) {
            return Ok(false);
        }
        let is_fair = self.queues[lane.queue].is_fair();
        let gives = if lane.is_plain() { lane.waiting > 0 } else { self.gives(lane) };
        Ok(match is_fair {
            true => lane.ready.is_some() == gives && lane.head.is_none(),
            false => {
                lane.is_plain() || lane.head.is_some() == gives || (gives && lane.is_due(self.now))
            }
        })
    }

    /// The queue after this one, or this one itself if it has keys left.
    pub(crate) fn next_to_repair(
        &mut self,
        after: Option<&QueueName>,
        again: bool,
    ) -> Result<Option<QueueName>> {
        if let Some(name) = after.filter(|_| again)
            && self.queue(name)?.is_some()
        {
            return Ok(Some(name.clone()));
        }
        let mut last = after.map_or("", QueueName::as_str).to_owned();
        loop {
            let Some(next) = self.value::<String>(QUEUE_AFTER, [last])? else {
                return Ok(None);
            };
            // An invalid name belongs to no job.
            if let Ok(name) = QueueName::new(next.as_str()) {
                return Ok(Some(name));
            }
            last = next;
        }
    }

    /// How far a queue's counters are off; zero for a queue with more than `most` jobs, which is
    /// not counted.
    pub(crate) fn drift(&mut self, name: &QueueName, most: u64) -> Result<Drift> {
        let mut drift = Drift::default();
        let Some(queue) = self.queue(name)? else {
            return Ok(drift);
        };
        let stored = self.queue_at(queue).clone();
        if State::ALL.iter().map(|state| stored.count(*state)).sum::<u64>() > most {
            return Ok(drift);
        }
        let counted = self.rows(ACTUAL_COUNTS, [stored.id], |row, at: &StateCounts| {
            let jobs: (i64, i64) = (row.get(at.jobs)?, row.get(at.bytes)?);
            Ok((row.get::<_, usize>(at.state)?, jobs.0, jobs.1))
        })?;
        for state in State::ALL.map(|state| state as usize) {
            let actual = counted.iter().find(|(code, _, _)| *code == state);
            let (jobs, size) = actual.map_or((0, 0), |(_, jobs, size)| (*jobs, *size));
            drift.jobs[state] = jobs - stored.counts[state];
            drift.sizes[state] = size - stored.sizes[state];
        }
        Ok(drift)
    }

    /// Sets a queue's counters to the true counts; returns how many were wrong.
    pub(crate) fn repair_counts(&mut self, name: &QueueName, most: u64) -> Result<u64> {
        let drift = self.drift(name, most)?;
        let Some(queue) = self.queue(name)?.filter(|_| drift.is_some()) else {
            return Ok(0);
        };
        let queue = &mut self.queues[queue];
        for state in State::ALL.map(|state| state as usize) {
            queue.counts[state] += drift.jobs[state];
            queue.sizes[state] += drift.sizes[state];
        }
        queue.changed = true;
        let is_off = |state: &usize| (drift.jobs[*state], drift.sizes[*state]) != (0, 0);
        Ok((0..State::ALL.len()).filter(is_off).count() as u64)
    }
}

/// How far a queue's counters are off, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drift {
    pub(crate) jobs: [i64; State::ALL.len()],
    pub(crate) sizes: [i64; State::ALL.len()],
}

impl Drift {
    pub(crate) fn is_some(&self) -> bool {
        *self != Self::default()
    }
}
