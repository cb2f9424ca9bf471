//! The handlers that are built in, through the binary: what becomes of jobs, and of workers that
//! are killed.

mod email;
mod exec;
mod http;
mod http_guard;
mod kill;
mod mail_server;
mod place;
pub(crate) mod receiver;
mod settings;
pub(crate) mod wire;
