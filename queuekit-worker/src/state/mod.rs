//! What the parts of one worker share: its settings, its runs, its counters.

pub(crate) mod health;
pub(crate) mod meters;
pub(crate) mod ordered;
pub(crate) mod registry;
pub(crate) mod rest;
pub(crate) mod run_events;
pub(crate) mod run_history;
pub(crate) mod settings;
pub(crate) mod shared;
pub(crate) mod snapshot;
pub(crate) mod summary;
pub(crate) mod undecodable;
