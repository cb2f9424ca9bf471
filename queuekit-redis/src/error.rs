//! The errors of Redis in the terms of the contract (R10).

use queuekit_core::{Error, ErrorKind};
use redis::RedisError;

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
    /// Nothing was applied; it may work soon.
    Transient,
    /// The same, but on another connection: this server is no longer the one to ask.
    Moved,
    /// Nothing was applied: ask the other node of the Cluster that the answer names.
    Redirected,
    /// The server does not know the script: send its text.
    NoScript,
    /// The connection is gone; whether what was under way took effect is unknown.
    Lost,
    /// The script failed in the middle: its earlier changes stay.
    Broken,
}

pub(crate) type Outcome<T> = Result<T, Failure>;

/// An encrypting port does not answer a client in plain text, and the other way round.
const TO_CHECK: &str = "check that the server runs, host and port, the network, and whether that \
                        port encrypts (rediss:) or not (redis:)";

impl Failure {
    /// Nothing was applied; it may work soon.
    pub(crate) fn for_now(message: impl Into<String>) -> Self {
        let error = Error::new(ErrorKind::Unavailable, message.into());
        Self { error, class: Class::Transient }
    }

    /// No answer came; whether what was under way took effect is unknown.
    pub(crate) fn hung() -> Self {
        let message = format!("the server does not answer; {TO_CHECK}");
        Self { error: Error::new(ErrorKind::Unavailable, message), class: Class::Lost }
    }

    /// The slot and the address that a node of a Cluster names, and whether for this request only.
    pub(crate) fn redirect(&self) -> Option<(u16, &str, bool)> {
        let cause = redis_error(&self.error)?;
        let (address, slot) = cause.redirect_node()?;
        Some((slot, address, cause.code() == Some("ASK")))
    }

    /// The error of a failed connect: certainly nothing took effect.
    pub(crate) fn to_connect(error: RedisError) -> Self {
        if !is_of_connection(&error) {
            return Self::refused(error);
        }
        let message = format!("no connection to Redis: {error}; {TO_CHECK}");
        let error = Error::new(ErrorKind::Unavailable, message).caused_by(error);
        Self { error, class: Class::Transient }
    }

    /// The error of a failure before anything was sent: certainly nothing took effect.
    pub(crate) fn before_sending(self) -> Self {
        match self.class {
            Class::Lost => Self { class: Class::Transient, ..self },
            _ => self,
        }
    }

    fn refused(error: RedisError) -> Self {
        // For an error inside a script, older servers have the code only in the text.
        let says = error.to_string();
        let is = |code: &str| error.code() == Some(code) || says.contains(&format!("-{code} "));
        let is_stale = says.contains(STALE);
        let known = KNOWN.iter().find(|(code, ..)| is(code) || (is_stale && *code == MASTERDOWN));
        let (class, kind, remedy) = known.map_or(
            (Class::Final, ErrorKind::Unavailable, "see the server's log"),
            |(_, class, kind, remedy)| (*class, kind.clone(), remedy),
        );
        // A server refuses a script that may not store before it begins, but other errors may end
        // it after any command.
        let broken = class == Class::Final && kind == ErrorKind::Unavailable;
        let class = if broken && says.contains(IN_SCRIPT) { Class::Broken } else { class };
        let message = format!("Redis refused: {says}; {remedy}");
        Self { error: Error::new(kind, message).caused_by(error), class }
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

impl From<RedisError> for Failure {
    /// Only an answer of the server shows that it did not do what it was asked. Any other failure,
    /// also an answer that broke off, leaves that unknown.
    fn from(error: RedisError) -> Self {
        if is_answer(&error) {
            return Self::refused(error);
        }
        let message = format!(
            "the connection to Redis failed: {error}; check that the server runs, and host and port"
        );
        let error = Error::new(ErrorKind::Unavailable, message).caused_by(error);
        Self { error, class: Class::Lost }
    }
}

const MASTERDOWN: &str = "MASTERDOWN";
/// The error of a script, without a code, on a replica that has lost its master.
const STALE: &str = "on a stale replica";
/// The name that the server gives to a script in errors.
const IN_SCRIPT: &str = "@user_script";

/// By error code: what the error means, and what to do.
const KNOWN: [(&str, Class, ErrorKind, &str); 19] = {
    use Class::{Final, Moved, NoScript, Redirected, Transient};
    use ErrorKind::{StorageFull, Unavailable, Unsupported};
    let wait = "the call is retried until op_timeout";
    [
        ("NOSCRIPT", NoScript, Unavailable, wait),
        ("LOADING", Transient, Unavailable, "the server is loading its data; wait"),
        ("TRYAGAIN", Transient, Unavailable, wait),
        ("CLUSTERDOWN", Transient, Unavailable, "a part of the cluster has no master; wait"),
        ("BUSY", Transient, Unavailable, "a script runs for too long; SCRIPT KILL ends it"),
        ("NOREPLICAS", Transient, Unavailable, "too few replicas for min-replicas-to-write"),
        (MASTERDOWN, Moved, Unavailable, "the replica has lost its master; wait"),
        ("READONLY", Moved, Unavailable, "this is a replica; connect to the master"),
        ("OOM", Final, StorageFull, "raise maxmemory, or let workers drain the queues"),
        ("MISCONF", Final, StorageFull, "the server cannot write to its disk; free space there"),
        ("NOAUTH", Final, Unavailable, "put user and password into the URL"),
        ("WRONGPASS", Final, Unavailable, "check user and password"),
        ("NOPERM", Final, Unavailable, "grant this user what docs/redis.md lists"),
        ("MOVED", Redirected, Unavailable, "this is a Cluster: open it as redis-cluster:"),
        ("ASK", Redirected, Unavailable, "the slot is being moved to another node; wait"),
        ("UNBLOCKED", Moved, Unavailable, "the server became a replica; wait"),
        ("CROSSSLOT", Final, Unsupported, "this is a Cluster: open it as redis-cluster:"),
        ("WRONGTYPE", Final, ErrorKind::Corrupt, "a key is another program's; use another prefix"),
        ("NOPROTO", Final, Unsupported, "the server is too old"),
    ]
};

/// Whether the error is an answer of the server.
fn is_answer(error: &RedisError) -> bool {
    use redis::ErrorKind::{Extension, Server};
    matches!(error.kind(), Server(_) | Extension)
}

/// Whether a connect failed without a refusal by the server. The driver gives errors about a
/// password a kind of their own, so this asks for the failures instead.
fn is_of_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.kind() == redis::ErrorKind::Parse
}

/// Whether the user lacks the right, or the command was renamed away.
pub(crate) fn is_forbidden(error: &Error) -> bool {
    redis_error(error).is_some_and(|error| {
        let renamed = |says: &str| says.starts_with("unknown command");
        error.code() == Some("NOPERM") || error.detail().is_some_and(renamed)
    })
}

fn redis_error(error: &Error) -> Option<&RedisError> {
    std::error::Error::source(error).and_then(|cause| cause.downcast_ref())
}

pub(crate) fn panicked() -> Error {
    let message = "the call panicked, and whether it took effect is unknown; its message is on \
                   standard error, please report it as a bug";
    Error::new(ErrorKind::Indeterminate, message)
}

pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "this handle was closed; open a new one")
}

/// The error for stored data or an answer that cannot be read.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{what} cannot be read; it was not written by queuekit"))
}

/// The error for the answer of a script that cannot be read.
pub(crate) fn answered(what: &str) -> Error {
    unreadable(&format!("the answer to {what}"))
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    /// The failure for an error line of the server.
    fn said(line: &str) -> Failure {
        let answer = redis::parse_redis_value(format!("-{line}\r\n").as_bytes());
        answer.and_then(Value::extract_error).expect_err("an error").into()
    }

    /// R10.2: temporary failures are tried again. Guard: the class of each row.
    #[test]
    fn r10_2_what_passes_is_tried_again() {
        let codes = ["LOADING", "TRYAGAIN", "CLUSTERDOWN", "BUSY", "NOREPLICAS"];
        let expected = codes.map(|code| (code, Class::Transient));
        let others = [
            ("MASTERDOWN", Class::Moved),
            ("READONLY", Class::Moved),
            ("NOSCRIPT", Class::NoScript),
            ("ERR Can not execute the command on a stale replica script: f_1", Class::Moved),
        ];
        for (code, class) in expected.into_iter().chain(others) {
            let failure = said(&format!("{code} not now"));
            assert_eq!(failure.class, class, "{code}");
            assert_eq!(*failure.error.kind(), ErrorKind::Unavailable, "{code}");
        }
    }

    /// R10.2: the error names a server without room as such. Guard: the kind of each row.
    #[test]
    fn r10_2_a_server_without_room_is_full() {
        for line in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "MISCONF Redis is configured to save RDB snapshots, but it is unable to persist.",
            // Redis 6.2 reports an error inside a script in this form only.
            "ERR Error running script (call to f_1): @user_script:9: -OOM command not allowed",
            "ERR Error running script (call to f_1): @user_script:9: -MISCONF unable to persist",
        ] {
            let failure = said(line);
            assert_eq!(failure.class, Class::Final, "{line}");
            assert_eq!(*failure.error.kind(), ErrorKind::StorageFull, "{line}");
        }
    }

    /// R11.2: settings that the server does not let us read are warned about. Guard: both ways to
    /// forbid it.
    #[test]
    fn r11_2_a_command_that_was_renamed_away_is_one_that_is_forbidden() {
        for line in ["NOPERM no right to 'info'", "ERR unknown command 'INFO', with args"] {
            assert!(is_forbidden(&said(line).error), "{line}");
        }
        assert!(!is_forbidden(&said("ERR no").error));
    }

    /// R10.1: a script that fails in the middle may have changed something. Guard: `Class::Broken`.
    #[test]
    fn r10_1_a_script_that_failed_on_its_way_is_in_doubt() {
        for line in [
            "ERR user_script:9: attempt to index a nil value script: f, on @user_script:9.",
            "ERR The user executing the script can't run this command script: f, on @user_script:9",
            // Redis 6.2.
            "ERR Error running script (call to f_1): @user_script:9: -NOPERM no such right",
        ] {
            assert_eq!(said(line).class, Class::Broken, "{line}");
        }
        assert_eq!(said("NOPERM no right to 'evalsha'").class, Class::Final);
    }

    /// R10.1: an answer that broke off proves nothing. Guard: `is_answer`.
    #[test]
    fn r10_1_an_answer_that_broke_off_is_as_a_lost_one() {
        let broken = RedisError::from(redis::ParsingError::from("unexpected end of input"));
        assert_eq!(Failure::from(broken.clone()).class, Class::Lost);
        let failure = Failure::to_connect(broken);
        assert_eq!(failure.class, Class::Transient, "a greeting that broke off is no refusal");
    }

    /// Errors that the contract does not name are not tried again.
    #[test]
    fn r10_2_what_does_not_pass_is_told_at_once() {
        for code in ["NOAUTH", "WRONGPASS", "NOPERM", "CROSSSLOT", "WRONGTYPE", "ERR", "NEWER"] {
            assert_eq!(said(&format!("{code} no")).class, Class::Final, "{code}");
        }
    }
}
