//! With sqlx 0.8.

use queuekit::transactions::Statement;
use sqlx::{Connection, PgConnection};

use crate::{End, Result};

pub async fn run<A>(url: &str, statement: &Statement<A>, end: End) -> Result<A> {
    let mut connection = PgConnection::connect(url).await?;
    let mut tx = connection.begin().await?;
    let answer: String = sqlx::query_scalar(statement.sql())
        .bind(statement.parameter())
        .fetch_one(&mut *tx)
        .await?;
    match end {
        End::Commit => tx.commit().await?,
        End::Rollback => tx.rollback().await?,
    }
    Ok(statement.read(&answer)?)
}
