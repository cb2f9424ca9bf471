//! The Redis store keeps the contract in a Cluster too.

use crate::common::redis::ClusterHarness;
use queuekit_conformance::conformance;

conformance!(every_case, ClusterHarness);
