//! Keeps this process from being read by others of its user.

/// The environment and the memory of this process hold passwords and keys. A command of the handler
/// `exec` is of the same user, and could read both in `/proc`, or as a debugger; from now on only
/// root can, and no core dump is written. What this process starts is readable again by itself.
pub(super) fn make_unreadable() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other programs of this user can read the secrets of this one");
        }
    }
}
