//! Commands of operators: on a store of each kind and through a server, with the same output.

mod bench;
mod bulk;
mod cron;
mod doctor;
mod events;
mod inside;
mod jobs;
mod looking;
mod pages;
mod place;
mod queues;
mod refusals;
mod remote;
mod stub;
mod watching;
