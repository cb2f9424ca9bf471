//! The SQLite store keeps the whole contract.

mod common;

use common::sqlite::SqliteHarness;
use queuekit_integration_tests::conformance;

conformance!(sqlite, SqliteHarness, full);
