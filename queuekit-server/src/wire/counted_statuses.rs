use queuekit::Status;

/// The statuses whose number of jobs is shown of each queue, in tables and pages, in this order.
pub(crate) const COUNTED_STATUSES: [Status; 7] = [
    Status::Ready,
    Status::Running,
    Status::Failed,
    Status::Scheduled,
    Status::Blocked,
    Status::Dead,
    Status::Completed,
];
