//! The `queuekit` binary: a server, workers and a command line over every store.

mod api;
mod cli;
mod config;
mod handlers;
mod http;
mod tls;

fn main() -> std::process::ExitCode {
    cli::main()
}
