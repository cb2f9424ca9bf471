//! With SeaORM 2.

use queuekit::transactions::Statement;
use sea_orm::{ConnectionTrait, Database, DbBackend, TransactionTrait};

use crate::{End, Result};

pub async fn run<A>(url: &str, statement: &Statement<A>, end: End) -> Result<A> {
    let connection = Database::connect(url).await?;
    let tx = connection.begin().await?;
    let values = [statement.parameter().into()];
    let sql = sea_orm::Statement::from_sql_and_values(
        DbBackend::Postgres,
        statement.sql(),
        values,
    );
    let row = tx.query_one_raw(sql).await?.ok_or("no row")?;
    let answer: String = row.try_get_by_index(0)?;
    match end {
        End::Commit => tx.commit().await?,
        End::Rollback => tx.rollback().await?,
    }
    Ok(statement.read(&answer)?)
}
