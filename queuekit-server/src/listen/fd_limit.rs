//! The limit on file descriptors: each connection needs one, and the default limit is often 1,024.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// File descriptors for other purposes: the store, logs, the runtime.
const OTHERS: u64 = 256;

/// Raises the limit of this process as far as allowed, if this many connections need it.
pub(super) fn raise(connections: usize) {
    let wanted = connections as u64 + OTHERS;
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let most = now.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    if raised.is_err() || most < wanted {
        tracing::warn!(
            "this process may open {most} files, but {connections} connections need {wanted}; \
             raise `ulimit -n`, or lower max_connections"
        );
    }
}
