//! A statement for a database crate to run.

use std::fmt;

use queuekit_core::Result;

/// SQL with one parameter, `$1`, a text. It returns one row with one text, which
/// [`read`](Self::read) understands.
///
/// If it fails, Postgres has aborted the transaction: roll back. The SQLSTATEs are those of
/// `docs/postgres.md`.
#[must_use = "a statement does nothing until your database crate runs it"]
pub struct Statement<A> {
    pub(crate) sql: String,
    pub(crate) parameter: String,
    pub(crate) read: Read<A>,
}

/// What reads the text of the row.
pub(crate) type Read<A> = Box<dyn Fn(&str) -> Result<A> + Send + Sync>;

impl<A> Statement<A> {
    /// The SQL.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The value of `$1`.
    pub fn parameter(&self) -> &str {
        &self.parameter
    }

    /// The answer that the row stands for.
    ///
    /// # Errors
    /// `Corrupt` if the text is not the answer to this statement.
    pub fn read(&self, text: &str) -> Result<A> {
        (self.read)(text)
    }
}

/// Without the parameter: it has payloads, and lease tokens, which are secret.
impl<A> fmt::Debug for Statement<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement").field("sql", &self.sql).finish_non_exhaustive()
    }
}
