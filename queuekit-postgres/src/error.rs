//! The errors of Postgres in the terms of the contract (R10).

use deadpool_postgres::PoolError;
use futures_util::future::join;
use queuekit_core::{Error, ErrorKind};
use tokio_postgres::error::SqlState;

/// An error, and what the store itself may do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Trying again will not help.
    Final,
    /// The time for the call was up before there was an answer.
    CutOff,
    /// Nothing was applied; it may work soon.
    Transient,
    /// Likewise: an open transaction held what was needed for longer than the lock timeout.
    HeldUp,
    /// Nothing was applied: other calls of this process wait for the lock of this queue, and the
    /// call has to wait behind them without a connection.
    AtGate(i32),
    /// The connection is gone; whether a commit that was under way took effect is unknown.
    Lost,
    /// The log of events has no partition for today.
    MissingPartition,
    /// The id of a job is taken.
    Taken,
    /// An earlier statement of the transaction failed: that one's error says why.
    Aborted,
}

pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn held_up(message: &str) -> Self {
        let error = Error::new(ErrorKind::Unavailable, message).held_up();
        Self { error, class: Class::HeldUp }
    }

    pub(crate) fn at_gate(queue: i32) -> Self {
        let message = "other calls of a queue with partition keys were before this one for all of \
                       op_timeout; make fewer calls at a time, each for more jobs";
        Self { class: Class::AtGate(queue), ..Self::transient(message) }
    }

    pub(crate) fn transient(message: &str) -> Self {
        Self { error: Error::new(ErrorKind::Unavailable, message), class: Class::Transient }
    }
}

/// Runs two statements of a transaction that are sent together. If the one that the server runs
/// first fails, the other is refused, so the answer is the error of the first.
pub(crate) async fn together<A, B>(
    one: impl Future<Output = Outcome<A>>,
    other: impl Future<Output = Outcome<B>>,
) -> Outcome<(A, B)> {
    // Boxed: the larger one is not copied along with both answers.
    match join(one, Box::pin(other)).await {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(failure), Err(first)) if failure.class == Class::Aborted => Err(first),
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, class: Class::Final }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) if is_of_tls(&error) => {
                let message = format!(
                    "no encrypted connection to Postgres: {}; check sslmode, sslrootcert and the \
                     server's certificate",
                    causes(&error)
                );
                Error::new(ErrorKind::Unavailable, message).caused_by(error).into()
            }
            PoolError::Backend(error) if is_of_settings(&error) => {
                let message = format!("{}; correct the URL of the store", causes(&error));
                Error::new(ErrorKind::Unavailable, message).caused_by(error).into()
            }
            // Whatever the error: without a connection no statement was sent.
            PoolError::Backend(error) => {
                let failure = Self::from(error);
                match failure.class {
                    Class::Lost => Self { class: Class::Transient, ..failure },
                    _ => failure,
                }
            }
            PoolError::Closed => closed().into(),
            error => {
                let message = "could not get a connection from the pool";
                Error::new(ErrorKind::Unavailable, message).caused_by(error).into()
            }
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(state) = error.code().cloned() else {
            if !is_of_connection(&error) {
                let message = format!("the protocol of Postgres failed: {}", causes(&error));
                return Error::new(ErrorKind::Corrupt, message).caused_by(error).into();
            }
            let message = format!(
                "the connection to Postgres failed: {}; check that the server runs, and host and \
                 port",
                causes(&error)
            );
            let error = Error::new(ErrorKind::Unavailable, message).caused_by(error);
            return Self { error, class: Class::Lost };
        };
        let class = class(&state, &error);
        let (kind, message) = described(&state, &error);
        let error = Error::new(kind, message).caused_by(error);
        let error = if class == Class::HeldUp { error.held_up() } else { error };
        Self { error, class }
    }
}

fn class(state: &SqlState, error: &tokio_postgres::Error) -> Class {
    const TRANSIENT: [SqlState; 7] = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        // A standby, until it is promoted.
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    let no_partition = *state == SqlState::CHECK_VIOLATION
        && matches!(error.as_db_error().and_then(|error| error.table()), Some("events"));
    let constraint = error.as_db_error().and_then(|error| error.constraint());
    if no_partition {
        Class::MissingPartition
    } else if *state == SqlState::UNIQUE_VIOLATION && constraint == Some("jobs_pkey") {
        Class::Taken
    } else if *state == SqlState::IN_FAILED_SQL_TRANSACTION {
        Class::Aborted
    } else if *state == SqlState::LOCK_NOT_AVAILABLE {
        Class::HeldUp
    } else if TRANSIENT.contains(state) || state.code().starts_with("08") {
        Class::Transient
    } else {
        Class::Final
    }
}

fn described(state: &SqlState, error: &tokio_postgres::Error) -> (ErrorKind, String) {
    let says = error.as_db_error().map_or_else(
        || error.to_string(),
        |error| format!("{} (SQLSTATE {})", error.message(), error.code().code()),
    );
    let (kind, remedy) = match state.code() {
        "53100" => (ErrorKind::StorageFull, "free some space on the server's disk"),
        "25006" => (
            ErrorKind::Unavailable,
            "the database accepts no writes: check whether it is a standby, and where \
             default_transaction_read_only is set",
        ),
        "57014" => (
            ErrorKind::Unavailable,
            "the statement took longer than statement_timeout; nothing of it was applied",
        ),
        "55P03" => (
            ErrorKind::Unavailable,
            "an open transaction holds what the call needs, such as the same idempotency key; \
             end it",
        ),
        "42P01" | "3F000" | "42883" | "42703" => (
            ErrorKind::Unsupported,
            "the schema is missing or of another version; run `queuekit migrate up`, or open the \
             store with migrate=on",
        ),
        "42501" => (ErrorKind::Unavailable, "grant this role what docs/postgres.md lists"),
        "28P01" | "28000" => (ErrorKind::Unavailable, "check user, password and pg_hba.conf"),
        "3D000" => (ErrorKind::Unavailable, "create the database, or name another in the URL"),
        "26000" | "42P05" => (
            ErrorKind::Unavailable,
            "a pooler gives each transaction another connection: open the store with prepared=off",
        ),
        _ => return (ErrorKind::Unavailable, format!("Postgres refused: {says}")),
    };
    (kind, format!("{says}; {remedy}"))
}

/// Whether the connection failed, not the statement sent on it.
fn is_of_connection(error: &tokio_postgres::Error) -> bool {
    let mut causes =
        std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    error.is_closed()
        || causes.any(|cause| cause.is::<std::io::Error>())
        || std::error::Error::source(error).is_none()
}

/// Whether client and server did not agree on encryption: trying again will not help.
fn is_of_tls(error: &tokio_postgres::Error) -> bool {
    let mut causes =
        std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let refused = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::InvalidData;
    let first = std::error::Error::source(error).is_some_and(|cause| !cause.is::<std::io::Error>());
    error.code().is_none()
        && !error.is_closed()
        && (causes.any(|cause| cause.downcast_ref().is_some_and(refused))
            || (first && error.to_string().contains("TLS")))
}

/// Whether the server asks for what the settings lack, such as a password: trying again will not
/// help.
fn is_of_settings(error: &tokio_postgres::Error) -> bool {
    error.code().is_none() && error.to_string().starts_with("invalid configuration")
}

/// The driver's own text says little; what caused it says what failed.
fn causes(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this handle was closed; open a new one")
}

pub(crate) fn closed_during_call() -> Error {
    let message = "this handle was closed during the call; whether it took effect is unknown: \
                   open a new one and repeat the call, which is safe";
    Error::new(ErrorKind::Closed, message)
}

/// The error for stored data that cannot be read.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{what} cannot be read; it was not written by queuekit"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use queuekit_core::ErrorKind;

    use crate::PostgresStore;

    /// `AuthenticationCleartextPassword`.
    const PASSWORD_PLEASE: &[u8] = b"R\0\0\0\x08\0\0\0\x03";

    #[tokio::test]
    async fn a_missing_password_is_named_with_where_to_add_it() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://ada@{}/jobs?sslmode=disable", server.local_addr().unwrap());
        std::thread::spawn(move || {
            for client in server.incoming() {
                let mut client = client.unwrap();
                let _ = client.read(&mut [0; 1024]).unwrap();
                client.write_all(PASSWORD_PLEASE).unwrap();
            }
        });
        let error = PostgresStore::connect_url(&url).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable);
        let says = error.to_string();
        assert!(says.contains("password missing; correct the URL of the store"), "{says}");
    }
}
