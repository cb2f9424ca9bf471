//! The worker suite on the in-memory store.

use queuekit_integration_tests::worker::LiveMemoryHarness;
use queuekit_integration_tests::worker_suite;

worker_suite!(memory, LiveMemoryHarness);
