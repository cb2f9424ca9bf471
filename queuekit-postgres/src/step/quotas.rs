//! How many jobs of each queue a reserve wants.

use queuekit_core::{QueueName, Queues, Reserve, Result};

use super::agenda::{lock, place};
use crate::PostgresStore;
use crate::call::Call;
use crate::error::Outcome;
use crate::params::params;
use crate::queues;
use crate::session::Session;
use crate::statements::Sql;

impl PostgresStore {
    /// How many jobs of each queue are wanted: the whole limit of each queue in the order listed,
    /// or, with weights, shares of the limit by what each queue has.
    pub(super) async fn quotas(&self, request: &Reserve) -> Result<Vec<(QueueName, usize)>> {
        let names = request.queues.names();
        let Queues::Weighted(_) = &request.queues else {
            return Ok(names.iter().map(|name| (name.clone(), request.limit)).collect());
        };
        let input = (self, names, request.limit);
        let available = self.call("reserve", Call::Repeatable, input, |input, session| {
            let (store, names, limit) = *input;
            Box::pin(store.available(session, names, limit))
        });
        let mut available = available.await?;
        let mut quotas: Vec<(QueueName, usize)> =
            names.iter().map(|name| (name.clone(), 0)).collect();
        request.queues.divide(request.limit, |name, share| {
            let left = available.entry(name.clone()).or_default();
            let got = share.min(*left);
            *left -= got;
            if let Some((_, quota)) = quotas.iter_mut().find(|(queue, _)| queue == name) {
                *quota += got;
            }
            Ok(got)
        })?;
        Ok(quotas)
    }

    async fn available(
        &self,
        session: &Session<'_>,
        names: &[QueueName],
        limit: usize,
    ) -> Outcome<std::collections::HashMap<QueueName, usize>> {
        let texts: Vec<&str> = names.iter().map(QueueName::as_str).collect();
        let most = i32::try_from(limit).unwrap_or(i32::MAX);
        for queue in queues::named(session, names).await?.iter().filter(|queue| queue.keyed) {
            session.begin().await?;
            lock(self, session, queue).await?;
            // Settings may have changed while it waited.
            for queue in queues::named(session, std::slice::from_ref(&queue.name)).await? {
                place(self, session, &queue).await?;
            }
            session.commit().await?;
        }
        let mut available = std::collections::HashMap::new();
        for row in session.query(Sql::Available, params![texts, most]).await? {
            if let Ok(name) = QueueName::new(row.try_get::<_, &str>("name")?) {
                let jobs: i64 = row.try_get("jobs")?;
                available.insert(name, usize::try_from(jobs).unwrap_or(0));
            }
        }
        Ok(available)
    }
}
