//! The HTTP API, against the real server.

mod audit;
mod auth;
mod bound_keys;
mod clients;
mod connections;
mod csrf;
mod errors;
mod fair_share;
mod fence;
mod flood;
mod history;
mod invalid_requests;
mod jobs;
mod kill;
mod limits;
mod page_bytes;
mod page_time;
mod queues;
mod quotas;
mod recent;
mod reload;
mod schemathesis;
mod searches;
mod slow_readers;
mod work;
mod workers;
