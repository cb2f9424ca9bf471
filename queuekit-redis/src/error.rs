//! What Redis says, as the contract says it (R10).

use queuekit_core::{Error, ErrorKind};
use redis::RedisError;

/// An error, and what the store may do about it itself.
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
    /// Likewise, on another connection: the server is no longer the one to ask.
    Moved,
    /// Nothing was applied: another node of the Cluster, which the answer names, is to be asked.
    Redirected,
    /// The server does not know the script: it is sent whole.
    NoScript,
    /// The connection is gone; whether what was under way took effect is unknown.
    Lost,
}

pub(crate) type Outcome<T> = Result<T, Failure>;

/// A port that encrypts says nothing to who does not, and the other way round.
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
        let message = format!("the server says nothing; {TO_CHECK}");
        Self { error: Error::new(ErrorKind::Unavailable, message), class: Class::Lost }
    }

    /// The slot and the address that a node of a Cluster names, and whether only for this once.
    pub(crate) fn redirect(&self) -> Option<(u16, &str, bool)> {
        let cause = redis_error(&self.error)?;
        let (address, slot) = cause.redirect_node()?;
        Some((slot, address, cause.code() == Some("ASK")))
    }

    /// There is no connection: certainly nothing took effect.
    pub(crate) fn to_connect(error: RedisError) -> Self {
        if !is_of_connection(&error) {
            return Self::from(error).before_sending();
        }
        let message = format!("no connection to Redis: {error}; {TO_CHECK}");
        let error = Error::new(ErrorKind::Unavailable, message).caused_by(error);
        Self { error, class: Class::Transient }
    }

    /// It happened before anything was sent: certainly nothing took effect.
    pub(crate) fn before_sending(self) -> Self {
        match self.class {
            Class::Lost => Self { class: Class::Transient, ..self },
            _ => self,
        }
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
    fn from(error: RedisError) -> Self {
        if is_of_connection(&error) {
            let message = format!(
                "the connection to Redis failed: {error}; check that the server runs, and host \
                 and port"
            );
            let error = Error::new(ErrorKind::Unavailable, message).caused_by(error);
            return Self { error, class: Class::Lost };
        }
        // Of what happens in a script, older servers say the code in their text only.
        let says = error.to_string();
        let is = |code: &str| error.code() == Some(code) || says.contains(&format!("-{code} "));
        let is_stale = says.contains(STALE);
        let known = KNOWN.iter().find(|(code, ..)| is(code) || (is_stale && *code == MASTERDOWN));
        let (class, kind, remedy) = known.map_or(
            (Class::Final, ErrorKind::Unavailable, "see the server's log"),
            |(_, class, kind, remedy)| (*class, kind.clone(), remedy),
        );
        let message = format!("Redis refused: {says}; {remedy}");
        Self { error: Error::new(kind, message).caused_by(error), class }
    }
}

const MASTERDOWN: &str = "MASTERDOWN";
/// What a script says, without a code, on a replica that has lost its master.
const STALE: &str = "on a stale replica";

/// By the code of the answer: what it means, and what to do.
const KNOWN: [(&str, Class, ErrorKind, &str); 19] = {
    use Class::{Final, Moved, NoScript, Redirected, Transient};
    use ErrorKind::{StorageFull, Unavailable, Unsupported};
    let wait = "it is tried again until op_timeout";
    [
        ("NOSCRIPT", NoScript, Unavailable, wait),
        ("LOADING", Transient, Unavailable, "the server loads its data; wait"),
        ("TRYAGAIN", Transient, Unavailable, wait),
        ("CLUSTERDOWN", Transient, Unavailable, "a part of the cluster has no master; wait"),
        ("BUSY", Transient, Unavailable, "somebody's script runs for long; SCRIPT KILL ends it"),
        ("NOREPLICAS", Transient, Unavailable, "too few replicas for min-replicas-to-write"),
        (MASTERDOWN, Moved, Unavailable, "the replica has lost its master; wait"),
        ("READONLY", Moved, Unavailable, "this is a replica; connect to the master"),
        ("OOM", Final, StorageFull, "raise maxmemory, or let workers drain the queues"),
        ("MISCONF", Final, StorageFull, "the server cannot write to its disk; make room there"),
        ("NOAUTH", Final, Unavailable, "put user and password into the URL"),
        ("WRONGPASS", Final, Unavailable, "check user and password"),
        ("NOPERM", Final, Unavailable, "grant this user what docs/redis.md lists"),
        ("MOVED", Redirected, Unavailable, "this is a Cluster: open it as redis-cluster:"),
        ("ASK", Redirected, Unavailable, "the slot is being moved to another node; wait"),
        ("UNBLOCKED", Moved, Unavailable, "the server became a replica; wait"),
        ("CROSSSLOT", Final, Unsupported, "this is a Cluster: open it as redis-cluster:"),
        ("WRONGTYPE", Final, ErrorKind::Corrupt, "a key is not the store's; take another prefix"),
        ("NOPROTO", Final, Unsupported, "the server is too old"),
    ]
};

fn is_of_connection(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}

/// Whether the user may not do that.
pub(crate) fn is_forbidden(error: &Error) -> bool {
    redis_error(error).and_then(RedisError::code) == Some("NOPERM")
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

/// What was stored, or answered, cannot be read.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{what} cannot be read; it was not written by queuekit"))
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    /// What the server says, as a failure.
    fn said(line: &str) -> Failure {
        let answer = redis::parse_redis_value(format!("-{line}\r\n").as_bytes());
        answer.and_then(Value::extract_error).expect_err("an error").into()
    }

    /// R10.2: what passes is tried again. Guard: the class of each row.
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

    /// R10.2: a server without room is told as that. Guard: the kind of each row.
    #[test]
    fn r10_2_a_server_without_room_is_full() {
        for line in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "MISCONF Redis is configured to save RDB snapshots, but it is unable to persist.",
            // Redis 6.2 says of what happens in a script only this.
            "ERR Error running script (call to f_1): @user_script:9: -OOM command not allowed",
            "ERR Error running script (call to f_1): @user_script:9: -MISCONF unable to persist",
        ] {
            let failure = said(line);
            assert_eq!(failure.class, Class::Final, "{line}");
            assert_eq!(*failure.error.kind(), ErrorKind::StorageFull, "{line}");
        }
    }

    /// Nothing that the contract does not name is tried again.
    #[test]
    fn r10_2_what_does_not_pass_is_told_at_once() {
        for code in ["NOAUTH", "WRONGPASS", "NOPERM", "CROSSSLOT", "WRONGTYPE", "ERR", "NEWER"] {
            assert_eq!(said(&format!("{code} no")).class, Class::Final, "{code}");
        }
    }
}
