//! The Postgres store keeps the whole contract.

mod common;

use common::postgres::PostgresHarness;
use queuekit_integration_tests::conformance;

conformance!(postgres, PostgresHarness, full);
