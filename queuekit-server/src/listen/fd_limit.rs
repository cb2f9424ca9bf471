//! The limit on file descriptors: each connection needs one, and the default limit is often 1,024.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// File descriptors for other purposes: the store, logs, the runtime.
const OTHERS: u64 = 256;

/// Raises the limit of this process as far as allowed, if this many connections need it. Answers
/// how many connections fit: if more were admitted, the system would refuse new ones before the
/// server gives up silent ones for them.
pub(super) fn raise(connections: usize) -> usize {
    let wanted = connections as u64 + OTHERS;
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= wanted) {
        return connections;
    }
    let most = now.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: now.maximum });
    let files = if raised.is_ok() { most } else { now.current.unwrap_or(most) };
    let fit = connections_within(files).min(connections);
    if fit < connections {
        tracing::warn!(
            "this process may open {files} files, but {connections} connections need {wanted}: \
             at most {fit} are admitted; raise `ulimit -n`, or lower max_connections"
        );
    }
    fit
}

/// How many connections a process with this many files has. Where these are very few, half of them.
fn connections_within(files: u64) -> usize {
    usize::try_from(files - OTHERS.min(files / 2)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_others_need_are_left() {
        for (files, connections) in [(65_536, 65_280), (4096, 3840), (512, 256), (64, 32), (1, 1)] {
            assert_eq!(connections_within(files), connections, "{files} files");
        }
    }
}
