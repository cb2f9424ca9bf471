//! The worker suite on every store.

mod common;

use common::postgres::LivePostgresHarness;
use common::redis::LiveRedisHarness;
use common::sqlite::LiveSqliteHarness;
use queuekit_integration_tests::worker::LiveMemoryHarness;
use queuekit_integration_tests::worker_suite;

worker_suite!(memory, LiveMemoryHarness);
worker_suite!(sqlite, LiveSqliteHarness);
worker_suite!(postgres, LivePostgresHarness);
worker_suite!(redis, LiveRedisHarness);
