//! The route of a job.

use queuekit::JobId;

pub(super) fn path(id: JobId) -> String {
    format!("/v1/jobs/{id}")
}
