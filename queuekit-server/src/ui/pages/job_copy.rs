//! Whether a form can enqueue a copy of a job.

use queuekit::Job;

use super::content::HIDDEN;
use crate::ui::viewer::Viewer;
use crate::web::Scope;

/// Longest payload that can be changed in a form.
const FORM_BYTES: usize = 256 * 1024;

/// Why no form enqueues a copy of the job for this viewer.
pub(super) fn why_no_copy(viewer: &Viewer, job: &Job) -> Option<&'static str> {
    if !viewer.caller().has(Scope::Enqueue) {
        Some("Your key lacks the scope enqueue")
    } else if is_hidden(viewer, job) {
        Some(HIDDEN)
    } else {
        editable(job).err()
    }
}

/// Whether the settings hide its contents.
pub(super) fn is_hidden(viewer: &Viewer, job: &Job) -> bool {
    viewer.is_redacted(job.queue.as_str(), job.kind.as_str())
}

/// The payload, if a form can change it.
pub(super) fn editable(job: &Job) -> Result<&str, &'static str> {
    match std::str::from_utf8(&job.payload) {
        Err(_) => Err("The payload is no text, so a form cannot change it"),
        Ok(payload) if payload.len() > FORM_BYTES => Err("The payload is too large for a form"),
        Ok(payload) => Ok(payload),
    }
}
