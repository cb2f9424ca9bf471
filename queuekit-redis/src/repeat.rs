//! Which calls may be repeated, and on which connection they go.

use std::time::Duration;

/// Whether and how a call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It changes nothing.
    Read,
    /// It changes nothing more when made again.
    Repeatable,
    /// As `Repeatable`, and it ends only when the number of replicas in the settings has the write.
    Stored,
    /// A repeated call would do more: if its answer is lost, the caller gets `Indeterminate`.
    Once,
    /// As `Once`, but it fails at once instead of waiting, so that other nodes can be asked.
    Glance,
    /// As `Repeatable`, on the connection that only heartbeats use.
    Heartbeat,
    /// As `Glance`, on that connection.
    HeartbeatGlance,
}

impl Call {
    pub(crate) fn is_glance(self) -> bool {
        matches!(self, Self::Glance | Self::HeartbeatGlance)
    }
}

/// Whether an attempt is begun after one that failed and this wait, if this much time is left. With
/// less than a twentieth of the call's time, its answer would likely come too late, and a call that
/// was certainly not applied would end in doubt.
pub(crate) fn is_worth_a_try(wait: Duration, left: Duration, op_timeout: Duration) -> bool {
    wait + op_timeout / 20 < left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_2_no_attempt_is_begun_in_the_last_twentieth_of_a_call() {
        let ms = Duration::from_millis;
        for (wait, left, begins) in [
            (0, 10_000, true),
            (0, 501, true),
            (0, 500, false),
            (100, 601, true),
            (100, 600, false),
            (600, 500, false),
            (0, 0, false),
        ] {
            assert_eq!(is_worth_a_try(ms(wait), ms(left), ms(10_000)), begins, "{wait} {left}");
        }
    }
}
