//! The calls of queuekit in your own Postgres transaction, with any database crate.
//!
//! A job that is enqueued in a transaction exists if and only if the transaction commits, together
//! with the rows that it is about. [`Functions`] turns jobs and acks into a [`Statement`]: SQL with
//! one parameter, a text, that returns one row with one text. Your database crate runs it in your
//! transaction and on your own connections; no store has to be open.
//!
//! ```
//! use queuekit_core::{JobDraft, Result};
//! use queuekit_transactions::Functions;
//!
//! # fn main() -> Result<()> {
//! let jobs = [JobDraft::new("ship-order", r#"{"order":7}"#).build()?];
//! let statement = Functions::default().enqueue(&jobs)?;
//!
//! // With sqlx:
//! //     let answer: String = sqlx::query_scalar(statement.sql())
//! //         .bind(statement.parameter())
//! //         .fetch_one(&mut *tx)
//! //         .await?;
//! # let answer = format!(r#"[{{"outcome":"created","id":"{}"}}]"#, jobs[0].id());
//! let ids = statement.read(&answer)?.ids()?;
//! assert_eq!(ids, [jobs[0].id()]);
//! # Ok(())
//! # }
//! ```
//!
//! The schema must be there: `queuekit migrate up`, or a store that has connected once. So must the
//! queues, because a queue that is created in your transaction would make others wait for it:
//! [`Functions::create_queue`] creates one.

mod functions;
mod statement;

pub use functions::Functions;
pub use statement::Statement;
