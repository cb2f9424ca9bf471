//! Connections are files, of which systems give a process 1,024 as they come.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside connections: those of the store, of logs, of the runtime.
const OTHERS: u64 = 256;

/// Raises the bound of this process as far as it may, if so many connections need it.
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
            "the system lets this process open {most} files, and {connections} connections need \
             {wanted}; raise `ulimit -n`, or lower max_connections"
        );
    }
}
