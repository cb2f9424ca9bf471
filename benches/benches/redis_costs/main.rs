//! What jobs cost a Redis server: the memory of each, and the time of calls beside others that
//! wait: `cargo bench -p queuekit-benches --bench redis_costs`. The servers are those of the
//! benchmark `redis`.
#![expect(clippy::expect_used, reason = "a measurement that fails has no figure to give")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

mod calls;
mod memory;
#[path = "../redis/server.rs"]
mod server;

use queuekit_benches::is_asked_for;
use tokio::runtime::Runtime;

fn main() {
    let runtime = Runtime::new().expect("a runtime can be made");
    let (memory, calls) =
        (is_asked_for("redis/costs of memory"), is_asked_for("redis/costs of calls"));
    if !(memory || calls) || !runtime.block_on(server::is_there()) {
        return;
    }
    if memory {
        runtime.block_on(memory::print());
    }
    if calls {
        runtime.block_on(calls::print());
    }
}
