//! Commands of operators: on a store of each kind and through a server, with the same output.

mod bench;
mod bulk;
mod cron;
mod doctor;
mod errors;
mod events;
mod failures;
mod init;
mod jobs;
mod man_pages;
mod no_writes;
mod queues;
mod read_only;
mod remote;
mod stored_data;
mod stub_server;
mod targets;
mod top;
mod watch;
