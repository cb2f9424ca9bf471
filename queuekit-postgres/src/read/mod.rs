//! Reading jobs and queues. Reads run in transactions that see one instant, and change nothing.

mod figures;
mod listing;
mod status;
mod view;
mod why;
mod workers;

pub(crate) use figures::{Figures, figures};
pub(crate) use workers::{find_worker, workers};

use crate::error::Outcome;
use crate::session::Session;

/// Begins a transaction that sees one instant.
pub(crate) async fn snapshot(session: &Session<'_>) -> Outcome<()> {
    session.begin().await?;
    session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").await
}
