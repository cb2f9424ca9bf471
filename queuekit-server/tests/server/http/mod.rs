//! The HTTP API, against the real server.

mod audit;
mod bound_keys;
mod clients;
mod fence;
mod flood;
mod jobs;
mod kill;
mod limits;
mod other_sites;
mod queues;
mod quotas;
mod refusals;
mod reload;
mod schemathesis;
mod security;
mod share;
mod work;
