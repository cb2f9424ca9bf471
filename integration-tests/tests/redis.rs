//! The Redis store keeps the whole contract.

mod common;

use common::redis::RedisHarness;
use queuekit_integration_tests::conformance;

conformance!(redis, RedisHarness, full);
