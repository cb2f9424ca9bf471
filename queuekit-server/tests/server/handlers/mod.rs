//! The handlers that are built in, through the binary: what becomes of jobs, and of workers that
//! are killed.

mod email;
mod exec;
mod fixture;
mod http;
mod kill;
mod settings;
mod smtp_server;
mod ssrf_guard;
pub(crate) mod tcp;
pub(crate) mod webhook_receiver;
