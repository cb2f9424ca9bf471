//! What jobs cost a Postgres server, beside their time, and what a held snapshot costs:
//! `cargo bench -p queuekit-benches --bench postgres_costs`. The server is that of the benchmark
//! `postgres`.
#![expect(clippy::expect_used, reason = "a measurement that fails has no figure to give")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

mod dead_rows;
#[path = "../postgres/meter.rs"]
mod meter;
mod parts;
#[path = "../postgres/server.rs"]
mod server;

use queuekit_benches::is_asked_for;
use tokio::runtime::Runtime;

fn main() {
    let runtime = Runtime::new().expect("a runtime can be made");
    let (parts, dead_rows) =
        (is_asked_for("postgres/costs of parts"), is_asked_for("postgres/costs of dead rows"));
    if !(parts || dead_rows) || !runtime.block_on(server::is_there()) {
        return;
    }
    if parts {
        runtime.block_on(parts::print());
    }
    if dead_rows {
        runtime.block_on(dead_rows::print());
    }
}
