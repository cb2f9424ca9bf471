//! The in-memory store: the specification, and what handlers are tested with.

/// To come.
#[derive(Debug, Default)]
pub struct MemoryStore;
