//! The `queuekit` binary: a server, workers and a command line over every store.

mod http;

fn main() {}
