//! The feature of a store is not enabled.

use queuekit::postgres::PostgresStore;

fn main() {}
