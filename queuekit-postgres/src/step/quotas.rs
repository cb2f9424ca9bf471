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
    let mut keyed = queues::named(session, names).await?;
    keyed.retain(|queue| queue.keyed);
    if !keyed.is_empty() {
        session.begin().await?;
        // In the order of their numbers, as every call takes these locks.
        keyed.sort_unstable_by_key(|queue| queue.id);
        for queue in &keyed {
            session.lock_queue(queue.id).await?;
        }
        // Settings may have changed while it waited.
        let keyed: Vec<QueueName> = keyed.into_iter().map(|queue| queue.name).collect();
        for queue in queues::named(session, &keyed).await? {
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
