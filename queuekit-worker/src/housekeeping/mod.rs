//! What a worker does beside its jobs: upkeep, schedules, and listening for wake-ups.

pub(crate) mod caretaker;
mod schedules;
mod upkeep;
pub(crate) mod wakeups;
