//! How many jobs of each queue a reserve could lease.

use std::collections::HashMap;

use queuekit_core::QueueName;

use super::dirty_keys;
use super::hints::Hints;
use crate::error::Outcome;
use crate::params::params;
use crate::queues;
use crate::session::Session;
use crate::statements::Sql;

/// How many jobs each queue has ready, up to a limit.
pub(crate) async fn available(
    session: &Session<'_>,
    hints: &Hints,
    names: &[QueueName],
    limit: usize,
) -> Outcome<HashMap<QueueName, usize>> {
    let texts: Vec<&str> = names.iter().map(QueueName::as_str).collect();
    let most = i32::try_from(limit).unwrap_or(i32::MAX);
    for queue in queues::named(session, names).await?.iter().filter(|queue| queue.keyed) {
        session.begin().await?;
        session.lock(queue.id).await?;
        // Settings may have changed while it waited.
        for queue in queues::named(session, std::slice::from_ref(&queue.name)).await? {
            dirty_keys::place(session, hints, &queue).await?;
        }
        session.commit().await?;
    }
    let mut available = HashMap::new();
    for row in session.query(Sql::Available, params![texts, most]).await? {
        if let Ok(name) = QueueName::new(row.try_get::<_, &str>("name")?) {
            let jobs: i64 = row.try_get("jobs")?;
            available.insert(name, usize::try_from(jobs).unwrap_or(0));
        }
    }
    Ok(available)
}
