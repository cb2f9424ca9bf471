//! One connection for the time of one call.

use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::ClientWrapper;
use futures_util::FutureExt as _;
use futures_util::future::{join3, join4};
use queuekit_core::Timestamp;
use tokio_postgres::{Row, Statement, Transaction};

use crate::config::Prepared;
use crate::error::{Failure, Outcome, unreadable};
use crate::gates::QueueLocks;
use crate::params::{Typed, params};
use crate::statements::{Sql, Statements};

/// Runs statements, alone or in a transaction.
pub(crate) struct Session<'a> {
    link: Link<'a>,
    pub(crate) statements: &'a Statements,
    begins: &'a Begins,
    /// Set while a commit is in progress: if the connection is lost then, it is unknown whether the
    /// commit took effect.
    doubt: &'a AtomicBool,
    /// None in a transaction of the application.
    locks: Option<QueueLocks<'a>>,
    open: AtomicBool,
}

type Answer<T> = Result<T, tokio_postgres::Error>;

#[derive(Clone, Copy)]
enum Link<'a> {
    Own(&'a ClientWrapper, Prepared),
    /// A transaction of the application.
    Foreign(&'a Transaction<'a>),
}

/// How a transaction begins.
#[derive(Debug)]
pub(crate) struct Begins {
    pub(crate) plain: String,
    /// A transaction whose commit may be on disk later.
    pub(crate) settling: String,
    /// Whether a statement alone needs a transaction around it, for its settings.
    pub(crate) wraps: bool,
    pub(crate) wraps_settling: bool,
}

impl<'a> Session<'a> {
    pub(crate) fn own(
        client: &'a ClientWrapper,
        prepared: Prepared,
        statements: &'a Statements,
        begins: &'a Begins,
        doubt: &'a AtomicBool,
        locks: QueueLocks<'a>,
    ) -> Self {
        let (link, open) = (Link::Own(client, prepared), AtomicBool::new(false));
        Self { link, statements, begins, doubt, locks: Some(locks), open }
    }

    pub(crate) fn foreign(
        tx: &'a Transaction<'a>,
        statements: &'a Statements,
        begins: &'a Begins,
        doubt: &'a AtomicBool,
    ) -> Self {
        let open = AtomicBool::new(true);
        Self { link: Link::Foreign(tx), statements, begins, doubt, locks: None, open }
    }

    /// Runs a statement in the transaction that was begun, or one that changes nothing.
    pub(crate) async fn query(&self, sql: Sql, params: &[Typed<'_>]) -> Outcome<Vec<Row>> {
        let statement = self.prepare(sql, params).await?;
        match self.link {
            // Outside a transaction it would run by whatever settings the connection has.
            Link::Own(client, _) if self.begins.wraps && !self.open.load(Ordering::Acquire) => {
                let (begun, rows, committed) =
                    self.sandwich(client, &self.begins.plain, sql, statement, params).await;
                begun?;
                let rows = rows?;
                committed?;
                Ok(rows)
            }
            _ => self.send(sql, statement.as_ref(), params).await,
        }
    }

    /// Prepares a statement on its first use, so that sending it later takes one round trip.
    async fn prepare(&self, sql: Sql, params: &[Typed<'_>]) -> Outcome<Option<Statement>> {
        let Link::Own(client, Prepared::Auto) = self.link else {
            return Ok(None);
        };
        let types: Vec<_> = params.iter().map(|(_, kind)| kind.clone()).collect();
        Ok(Some(client.prepare_typed_cached(self.statements.text(sql), &types).await?))
    }

    async fn send(
        &self,
        sql: Sql,
        statement: Option<&Statement>,
        params: &[Typed<'_>],
    ) -> Outcome<Vec<Row>> {
        let text = self.statements.text(sql);
        match (self.link, statement) {
            (Link::Foreign(tx), _) => Ok(tx.query_typed(text, params).await?),
            (Link::Own(client, _), None) => Ok(client.query_typed(text, params).await?),
            (Link::Own(client, _), Some(statement)) => {
                let values: Vec<_> = params.iter().map(|(value, _)| *value).collect();
                Ok(client.query(statement, &values).await?)
            }
        }
    }

    /// Runs two statements that settle in one transaction, in one round trip.
    pub(crate) async fn settle_both(
        &self,
        first: (Sql, &[Typed<'_>]),
        second: (Sql, &[Typed<'_>]),
    ) -> Outcome<(Vec<Row>, Vec<Row>)> {
        let Link::Own(client, _) = self.link else {
            let rows = self.query(first.0, first.1).await?;
            return Ok((rows, self.query(second.0, second.1).await?));
        };
        let statements =
            (self.prepare(first.0, first.1).await?, self.prepare(second.0, second.1).await?);
        // Set before it is sent, because the call may be dropped while it waits for the answer.
        self.doubt.store(true, Ordering::Release);
        let (begun, one, two, committed) = join4(
            client.batch_execute(&self.begins.settling),
            self.send(first.0, statements.0.as_ref(), first.1),
            self.send(second.0, statements.1.as_ref(), second.1),
            client.batch_execute(self.statements.text(Sql::Commit)),
        )
        .await;
        self.answered(&committed);
        begun?;
        let rows = (one?, two?);
        committed?;
        Ok(rows)
    }

    /// Runs one statement as a transaction of its own, or in the one that is open.
    pub(crate) async fn write(&self, sql: Sql, params: &[Typed<'_>]) -> Outcome<Vec<Row>> {
        self.wrapped(&self.begins.plain, self.begins.wraps, sql, params).await
    }

    /// The same for a statement that settles leases: its commit may be on disk later.
    pub(crate) async fn settle(&self, sql: Sql, params: &[Typed<'_>]) -> Outcome<Vec<Row>> {
        self.wrapped(&self.begins.settling, self.begins.wraps_settling, sql, params).await
    }

    /// Work of the call is committed: if a later part fails, the call took effect all the same.
    pub(crate) fn has_applied(&self) {
        self.doubt.store(true, Ordering::Release);
    }

    pub(crate) async fn begin(&self) -> Outcome<()> {
        self.begin_with(&self.begins.plain).await
    }

    pub(crate) async fn begin_settling(&self) -> Outcome<()> {
        self.begin_with(&self.begins.settling).await
    }

    /// Begins a transaction that sees one instant, and changes nothing.
    pub(crate) async fn begin_snapshot(&self) -> Outcome<()> {
        self.begin().await?;
        self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").await
    }

    /// The store's clock.
    pub(crate) async fn now(&self) -> Outcome<Timestamp> {
        let now = self.query(Sql::Now, &[]).await?;
        let now = now.first().ok_or_else(|| unreadable("the store's clock"))?;
        Ok(Timestamp::from_millis(now.try_get("now")?))
    }

    /// Takes the lock of a queue, by its number, until the transaction ends. If it is the first one
    /// and other calls of this process wait for it, this fails with `AtGate`, so that only one of
    /// them holds a connection.
    pub(crate) async fn lock_queue(&self, queue: i32) -> Outcome<()> {
        let Some(locks) = self.locks.as_ref().filter(|locks| !locks.has_one()) else {
            return self.lock(queue).await;
        };
        let pass = locks.pass(queue).ok_or_else(|| Failure::at_gate(queue))?;
        self.lock(queue).await?;
        locks.got_one();
        // The next one waits in the server while this one works, so that no time is lost.
        drop(pass);
        Ok(())
    }

    /// Takes an advisory lock of the schema, by its number, until the transaction ends.
    pub(crate) async fn lock(&self, number: i32) -> Outcome<()> {
        let lock_class = self.statements.lock_class();
        self.query(Sql::LockQueue, params![number, lock_class]).await.map(drop)
    }

    pub(crate) async fn commit(&self) -> Outcome<()> {
        if let Link::Own(client, _) = self.link {
            self.doubt.store(true, Ordering::Release);
            let committed = client.batch_execute(self.statements.text(Sql::Commit)).await;
            self.open.store(false, Ordering::Release);
            self.answered(&committed);
            committed?;
        }
        Ok(())
    }

    /// Undoes an open transaction; false if the connection must not be used again.
    pub(crate) async fn rollback(&self) -> bool {
        match self.link {
            Link::Own(client, _) if self.open.swap(false, Ordering::AcqRel) => {
                client.batch_execute(self.statements.text(Sql::Rollback)).await.is_ok()
            }
            _ => true,
        }
    }

    /// Drops the plans of this connection, so that they are made anew when needed. Nobody waits for
    /// that, so that an answer that is ready does not miss its time limit; the connection runs its
    /// next statement after it.
    pub(crate) fn discard_plans(&self) {
        if let Link::Own(client, Prepared::Auto) = self.link {
            let discard = client.batch_execute(self.statements.text(Sql::DiscardPlans));
            drop(discard.now_or_never());
        }
    }

    pub(crate) async fn execute(&self, text: &str) -> Outcome<()> {
        match self.link {
            Link::Own(client, _) => Ok(client.batch_execute(text).await?),
            Link::Foreign(tx) => Ok(tx.batch_execute(text).await?),
        }
    }

    /// Runs a statement that has no parameters and no result.
    pub(crate) async fn control(&self, sql: Sql) -> Outcome<()> {
        self.execute(self.statements.text(sql)).await
    }

    /// Runs two such statements in one round trip.
    pub(crate) async fn controls(&self, [first, second]: [Sql; 2]) -> Outcome<()> {
        let text = |sql| self.statements.text(sql).trim_end();
        self.execute(&format!("{}; {}", text(first), text(second))).await
    }

    async fn begin_with(&self, begin: &str) -> Outcome<()> {
        if let Link::Own(client, _) = self.link {
            self.open.store(true, Ordering::Release);
            if let Some(locks) = &self.locks {
                locks.begin();
            }
            client.batch_execute(begin).await?;
        }
        Ok(())
    }

    async fn wrapped(
        &self,
        begin: &str,
        wrap: bool,
        sql: Sql,
        params: &[Typed<'_>],
    ) -> Outcome<Vec<Row>> {
        let client = match self.link {
            Link::Own(client, _) if !self.open.load(Ordering::Acquire) => client,
            _ => return self.query(sql, params).await,
        };
        let statement = self.prepare(sql, params).await?;
        self.doubt.store(true, Ordering::Release);
        if !wrap {
            let rows = self.send(sql, statement.as_ref(), params).await;
            // An error that the server reports is certain.
            let lost = matches!(&rows, Err(failure) if failure.class == crate::error::Class::Lost);
            self.doubt.store(lost, Ordering::Release);
            return rows;
        }
        let (begun, rows, committed) = self.sandwich(client, begin, sql, statement, params).await;
        self.answered(&committed);
        begun?;
        let rows = rows?;
        committed?;
        Ok(rows)
    }

    /// Runs a statement with a transaction around it. All three are sent at once; if the statement
    /// fails, the commit rolls back.
    async fn sandwich(
        &self,
        client: &ClientWrapper,
        begin: &str,
        sql: Sql,
        statement: Option<Statement>,
        params: &[Typed<'_>],
    ) -> (Answer<()>, Outcome<Vec<Row>>, Answer<()>) {
        let commit = client.batch_execute(self.statements.text(Sql::Commit));
        join3(client.batch_execute(begin), self.send(sql, statement.as_ref(), params), commit).await
    }

    fn answered(&self, committed: &Answer<()>) {
        // An error with a code is the server's own answer: it has rolled back.
        let lost = matches!(committed, Err(error) if error.code().is_none());
        self.doubt.store(lost, Ordering::Release);
    }
}
