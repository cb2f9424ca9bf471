//! Listening: connections, TLS, reloads and the shutdown. The routes are in [`api`](crate::api).

mod connections;
mod discard_body;
mod disconnect;
#[cfg(unix)]
mod fd_limit;
mod handshakes;
mod of_address;
mod reload;
mod server;
mod tls;
mod turns;

pub(crate) use reload::Reloader;
pub(crate) use server::Server;
