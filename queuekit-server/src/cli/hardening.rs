//! Keeps other processes of this user from reading the memory and environment of this one.

/// The environment and memory of this process hold passwords and keys. A command of the handler
/// `exec` runs as the same user, and could read both in `/proc` or with a debugger. After this call
/// only root can, and no core dump is written. Child processes are not affected.
pub(super) fn forbid_memory_reads() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other programs of this user can read this process's secrets");
        }
    }
}
