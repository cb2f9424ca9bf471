//! Errors and outcomes of calls that may have taken effect (contract R10.1, R2.6).

use std::time::Duration;

use queuekit_core::{Error, ErrorKind};
use redis::Value;
use tokio::time::Instant;

use crate::error::{Class, Failure};
use crate::repeat::Call;

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) value: Value,
    /// When it came.
    pub(crate) at: Instant,
    /// When the first attempt was made, if its answer was lost.
    pub(crate) doubt: Option<Instant>,
}

impl Answered {
    /// How long ago the first attempt was made, if its answer was lost: jobs that are found stored
    /// now may be the call's own.
    pub(crate) fn repeats(&self) -> Option<Duration> {
        self.doubt.map(|since| self.at - since)
    }
}

/// The error that the caller gets: `Indeterminate` if the call is in doubt.
pub(crate) fn told(failure: Failure, call: Call, doubt: bool) -> Error {
    let Failure { error, class } = failure;
    let broken = class == Class::Broken;
    if !(doubt || broken) || call == Call::Read || *error.kind() == ErrorKind::Closed {
        return error;
    }
    let message = match broken {
        true => format!(
            "a script failed in the middle, and its earlier changes stay: {error}; repeat \
             it, which is safe"
        ),
        false => "the connection was lost during the call; whether it took effect is unknown: \
                  repeat it, which is safe"
            .to_owned(),
    };
    Error::new(ErrorKind::Indeterminate, message).caused_by(error)
}

pub(crate) fn reached_few(reached: i64, replicas: u32) -> Error {
    let message = format!(
        "{reached} of {replicas} replicas had it in time; whether it survives a failover is \
         unknown: repeat it, which is safe"
    );
    Error::new(ErrorKind::Indeterminate, message)
}

pub(crate) fn timed_out(call: Call, doubt: bool) -> Error {
    if doubt && call != Call::Read {
        let message = "no answer came within op_timeout; whether the call took effect is \
                       unknown: repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message);
    }
    let message = "the call did not get through within op_timeout; check server and network";
    Error::new(ErrorKind::Unavailable, message)
}

/// The error of a part that failed after another part of its call may have taken effect.
pub(crate) fn in_part(error: Error) -> Error {
    if !matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::StorageFull) {
        return error;
    }
    let message = format!("a part of the call took effect, the rest failed: {error}; repeat it");
    Error::new(ErrorKind::Indeterminate, message).caused_by(error)
}

/// Whether a record of the age `stored` may be from a call that was first made the time `call` ago.
/// The server counts whole milliseconds.
pub(crate) fn may_be_of(call: Duration, stored: Duration) -> bool {
    stored <= call + Duration::from_millis(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_1_what_may_have_taken_effect_is_never_called_certainly_not_applied() {
        let kind_of = |call, kind: ErrorKind, class, doubt| {
            let error = Error::new(kind, "no");
            told(Failure { error, class }, call, doubt).kind().as_str().to_owned()
        };
        let kind = |call, kind, doubt| kind_of(call, kind, Class::Final, doubt);
        for call in [Call::Repeatable, Call::Stored, Call::Once, Call::Glance, Call::Heartbeat] {
            assert_eq!(kind(call, ErrorKind::Unavailable, true), "indeterminate");
            assert_eq!(kind(call, ErrorKind::StorageFull, true), "indeterminate");
            assert_eq!(kind(call, ErrorKind::Unavailable, false), "unavailable");
            assert_eq!(kind(call, ErrorKind::Closed, true), "closed");
            let broken = kind_of(call, ErrorKind::Unavailable, Class::Broken, false);
            assert_eq!(broken, "indeterminate");
        }
        assert_eq!(kind(Call::Read, ErrorKind::Unavailable, true), "unavailable");
    }
}
