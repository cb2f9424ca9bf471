//! The binary, as people and scripts use it.

mod dev;
mod doctor;
mod enqueue;
mod key;
mod migrate;
mod production;
mod secrets;
mod serve;
mod settings;
mod tls;
mod work;
