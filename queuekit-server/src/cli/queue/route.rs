//! The route of a queue.

use queuekit::QueueName;

pub(super) fn path(name: &QueueName) -> String {
    format!("/v1/queues/{name}")
}
