//! Which calls may be repeated, and on which connection they go.

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
