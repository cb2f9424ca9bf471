//! Storing new jobs: calls of their own.

use std::collections::HashMap;

use queuekit_core::{EnqueueOutcome, NewJob, QueueName, Result, Start, Timestamp};

use crate::PostgresStore;
use crate::call::Call;
use crate::queues::QueueRow;
use crate::step::{self, Asked, ROUNDS, gone};

impl PostgresStore {
    pub(crate) async fn enqueue_jobs(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        for _ in 0..ROUNDS {
            let asked = self.ask(jobs).await?;
            let answer = self.call("enqueue", Call::Once, &asked, |asked, session| {
                Box::pin(step::enqueue(asked, session))
            });
            match answer.await? {
                Some(outcomes) => {
                    self.stir(created_queues(jobs, &outcomes));
                    self.count_delta();
                    return Ok(outcomes);
                }
                None => asked.forget_queues(&self.shared.known),
            }
        }
        Err(gone())
    }

    /// Checks a call, and creates its queues if they do not exist. This runs on a connection of the
    /// store's own, also for a transaction of the application.
    pub(crate) async fn ask<'a>(&self, jobs: &'a [NewJob]) -> Result<Asked<'a>> {
        self.shared.limits.admit_jobs(jobs)?;
        if jobs.iter().any(|job| matches!(job.start(), Start::At(_))) {
            let now = self.now().await?;
            for (item, job) in jobs.iter().enumerate() {
                job.scheduled_at(now).map_err(|error| error.at_item(item))?;
            }
        }
        Ok(Asked::new(jobs, self.queues_of(jobs.iter()).await?))
    }

    /// The queues of these jobs; creates those that do not exist.
    pub(crate) async fn queues_of(
        &self,
        jobs: impl Iterator<Item = &NewJob>,
    ) -> Result<HashMap<QueueName, QueueRow>> {
        let keyed = |job: &NewJob| job.partition_key().is_some();
        let mut wanted: HashMap<&QueueName, bool> = HashMap::new();
        for job in jobs {
            *wanted.entry(job.queue()).or_default() |= keyed(job);
        }
        let mut queues = HashMap::new();
        let mut unknown = Vec::new();
        for (name, keyed) in &wanted {
            match self.shared.known.get(name) {
                Some(row) if row.keyed || !keyed => drop(queues.insert((*name).clone(), row)),
                _ => unknown.push((*name).clone()),
            }
        }
        if !unknown.is_empty() {
            let keyed = unknown.iter().filter(|name| wanted[name]).cloned().collect();
            for row in self.open_queues(unknown, keyed).await? {
                queues.insert(row.name.clone(), row);
            }
        }
        Ok(queues)
    }

    /// The queues of these names; creates those that do not exist, and marks those that may hold
    /// jobs with partition keys from now on.
    pub(crate) async fn open_queues(
        &self,
        names: Vec<QueueName>,
        keyed: Vec<QueueName>,
    ) -> Result<Vec<QueueRow>> {
        let input = (names, keyed, self.shared.limits.queues());
        let open = self.call("enqueue", Call::Repeatable, input, |input, session| {
            let (names, keyed, most) = input;
            Box::pin(step::open_queues(session, names, keyed, *most))
        });
        let rows = open.await?;
        self.shared.known.learn(&rows);
        Ok(rows)
    }

    async fn now(&self) -> Result<Timestamp> {
        let now = self.call("now", Call::Repeatable, (), |(), session| Box::pin(session.now()));
        now.await
    }
}

fn created_queues<'a>(
    jobs: &'a [NewJob],
    outcomes: &'a [EnqueueOutcome],
) -> impl Iterator<Item = &'a QueueName> {
    let created = jobs.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_created());
    created.map(|(job, _)| job.queue())
}
