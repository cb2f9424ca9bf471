//! The program `queuekit`: a server, workers and a command line over every store.
//!
//! It is a library for programs with stores of their own, which register these and then run it:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! # mod mystore {
//! #     pub async fn open(_: &str) -> queuekit::Result<queuekit::Client> {
//! #         Ok(queuekit::Client::new(queuekit::memory::MemoryStore::new()))
//! #     }
//! # }
//! fn main() -> ExitCode {
//!     let open =
//!         |opening: queuekit::Opening| async move { mystore::open(&opening.url).await };
//!     if let Err(error) = queuekit::register("mystore", open) {
//!         eprintln!("{error}");
//!         return ExitCode::FAILURE;
//!     }
//!     queuekit_server::main() // such as `serve --url mystore://localhost`
//! }
//! ```

mod api;
mod cli;
mod config;
mod error;
mod grammar;
mod handlers;
mod listen;
mod loopback;
mod monitor;
mod peer_network;
mod production;
mod server_connector;
mod tls_client;
mod ui;
mod unseen;
mod web;
mod wire;

/// Runs the command that the arguments of this process name, and answers its exit code.
pub fn main() -> std::process::ExitCode {
    run(std::env::args_os())
}

/// Runs the command that these arguments name, the first of which is the program, and answers its
/// exit code.
pub fn run(
    arguments: impl IntoIterator<Item = impl Into<std::ffi::OsString>>,
) -> std::process::ExitCode {
    cli::run(arguments)
}
