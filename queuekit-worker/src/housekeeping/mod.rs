//! What a worker does beside its jobs: upkeep, schedules, listening for wake-ups, and warning of
//! queues that no worker serves.

pub(crate) mod caretaker;
mod schedules;
pub(crate) mod unserved;
mod upkeep;
pub(crate) mod wakeups;
