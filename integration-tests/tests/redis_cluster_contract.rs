//! The Redis store keeps the contract in a Cluster too.

#![cfg(unix)]

mod common;

use common::redis::ClusterHarness;
use queuekit_integration_tests::conformance;

conformance!(redis_cluster, ClusterHarness, full);
