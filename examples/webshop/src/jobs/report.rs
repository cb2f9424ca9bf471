//! The nightly report, which writes to the database of the shop.

use queuekit::prelude::*;
use queuekit::store::{Ack, AckOutcome};
use queuekit::transactions::Functions;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "sales-report")]
pub struct SalesReport {}

/// Counts the orders since the report before.
#[derive(Clone)]
pub struct Reports {
    pub pool: PgPool,
}

impl Handler<SalesReport> for Reports {
    type Output = ();

    /// Writes one row and completes the job in one transaction: no report is written twice, even if
    /// the job runs twice.
    async fn call(&self, _job: SalesReport, ctx: Ctx) -> JobResult {
        let mut tx = self.pool.begin().await?;
        let insert = "INSERT INTO sales (orders) SELECT count(*) FROM orders
            WHERE placed_at > coalesce((SELECT max(reported_at) FROM sales), '-infinity')";
        sqlx::query(insert).execute(&mut *tx).await?;

        let ack = Functions::default().ack(&[Ack::new(ctx.lease_token().clone())])?;
        let answer: String =
            sqlx::query_scalar(ack.sql()).bind(ack.parameter()).fetch_one(&mut *tx).await?;
        match ack.read(&answer)?.as_slice() {
            [AckOutcome::Acked] => tx.commit().await?,
            // Another worker has the job now.
            _ => tx.rollback().await?,
        }
        Ok(())
    }
}
