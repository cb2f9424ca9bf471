//! The weekly purchase, in two steps: it writes a row, and then tells the supplier.

use queuekit::jobs::CheckpointOutcome;
use queuekit::prelude::*;
use queuekit::transactions::Functions;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "restock")]
pub struct Restock {}

/// Buys as many things as were ordered since the purchase before.
#[derive(Clone)]
pub struct Purchases {
    pub pool: PgPool,
}

impl Handler<Restock> for Purchases {
    type Output = String;

    async fn call(&self, _job: Restock, ctx: Ctx) -> JobResult<String> {
        let pieces = match ctx.find_checkpoint("write-down").await? {
            // An earlier run wrote the row, and died before the job had ended.
            Some(pieces) => pieces,
            None => self.write_down(&ctx).await?,
        };
        Ok(format!("told the supplier: {pieces} pieces, order {}", ctx.id()))
    }
}

impl Purchases {
    /// Writes the row and stores the step in one transaction: no purchase is written down twice,
    /// even if the job runs twice.
    async fn write_down(&self, ctx: &Ctx) -> JobResult<i64> {
        let mut tx = self.pool.begin().await?;
        let insert = "INSERT INTO purchases (pieces) SELECT count(*) FROM orders
            WHERE placed_at > coalesce((SELECT max(bought_at) FROM purchases), '-infinity')
            RETURNING pieces";
        let pieces: i64 = sqlx::query_scalar(insert).fetch_one(&mut *tx).await?;

        let step = ctx.new_checkpoint("write-down", &pieces)?;
        let step = Functions::default().checkpoint(&step)?;
        let answer: String =
            sqlx::query_scalar(step.sql()).bind(step.parameter()).fetch_one(&mut *tx).await?;
        match step.read(&answer)? {
            CheckpointOutcome::Stored => tx.commit().await?,
            // Another worker has the job now. Dropping the transaction rolls it back.
            other => return Err(format!("the step was not stored: {other:?}").into()),
        }
        Ok(pieces)
    }
}
