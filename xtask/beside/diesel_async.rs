//! With diesel-async 0.7.

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, TransactionManager};
use queuekit::transactions::Statement;

use crate::{End, Result};

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Text)]
    answer: String,
}

pub async fn run<A>(url: &str, statement: &Statement<A>, end: End) -> Result<A> {
    type Transactions = <AsyncPgConnection as AsyncConnection>::TransactionManager;
    let mut connection = AsyncPgConnection::establish(url).await?;
    Transactions::begin_transaction(&mut connection).await?;
    let row: Answer = diesel::sql_query(statement.sql())
        .bind::<Text, _>(statement.parameter())
        .get_result(&mut connection)
        .await?;
    match end {
        End::Commit => Transactions::commit_transaction(&mut connection).await?,
        End::Rollback => Transactions::rollback_transaction(&mut connection).await?,
    }
    Ok(statement.read(&row.answer)?)
}
