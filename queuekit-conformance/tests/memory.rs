//! The store in memory: all cases, and those of the worker.

use queuekit_conformance::worker::LiveMemoryHarness;
use queuekit_conformance::{MemoryHarness, conformance, worker_suite};

conformance!(conformance, MemoryHarness);
// This clock advances by itself, and cases allow for it.
conformance!(slack, LiveMemoryHarness);
worker_suite!(worker, LiveMemoryHarness);
