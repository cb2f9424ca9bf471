//! The HTTP API, against the real server.

mod bound_keys;
mod clients;
mod fence;
mod jobs;
mod kill;
mod limits;
mod queues;
mod schemathesis;
mod security;
mod work;
