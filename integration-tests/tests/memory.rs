//! The in-memory store keeps the whole contract.

use queuekit_integration_tests::{MemoryHarness, conformance};

conformance!(memory, MemoryHarness, full);
