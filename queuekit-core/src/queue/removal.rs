//! Which queues may be removed (contract R6.7).

use crate::error::{Error, ErrorKind, Result};
use crate::names::QueueName;

/// Whether a queue with this many jobs, of which this many run, may be removed.
///
/// # Errors
/// `Conflict` if a job runs, or if there are jobs and no `force`.
pub fn admit_removal(queue: &QueueName, jobs: u64, running: u64, force: bool) -> Result<()> {
    if running > 0 || (jobs > 0 && !force) {
        return Err(in_use(queue, jobs, running));
    }
    Ok(())
}

/// The error for a queue that may not be removed.
pub fn in_use(queue: &QueueName, jobs: u64, running: u64) -> Error {
    let message = match running {
        0 => format!("jobs in the queue: {jobs}; drain the queue, or use force to delete them"),
        _ => format!(
            "jobs in the queue: {jobs}, of which {running} run; cancel those, or wait until none \
             runs"
        ),
    };
    Error::new(ErrorKind::Conflict, message).on(queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_7_jobs_need_force_and_running_ones_forbid_it() {
        let queue = QueueName::default();
        for (jobs, running, force, may) in [
            (0, 0, false, true),
            (1, 0, false, false),
            (1, 0, true, true),
            (1, 1, true, false),
            (2, 1, false, false),
        ] {
            let admitted = admit_removal(&queue, jobs, running, force);
            assert_eq!(admitted.is_ok(), may, "{jobs} {running} {force}: {admitted:?}");
        }
    }
}
