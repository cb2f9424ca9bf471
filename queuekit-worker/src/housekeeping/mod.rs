//! What a worker does beside its jobs: upkeep, schedules, listening for wake-ups, telling what its
//! runs were like, and warning of queues that no worker serves.

pub(crate) mod caretaker;
pub(crate) mod history;
mod schedules;
pub(crate) mod unserved;
mod upkeep;
pub(crate) mod wakeups;
