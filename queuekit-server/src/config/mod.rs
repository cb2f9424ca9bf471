//! Settings: a flag goes before the environment, that before `queuekit.toml`, that before a
//! default. Each group of settings has a file with its flags and how they are resolved.

mod environment;
pub(crate) mod exposed;
mod file;
mod handlers;
mod http;
mod nearest;
mod plain_text;
mod secret;
mod sources;
mod store;
mod weak_key;
mod work;

pub(crate) use environment::Environment;
pub(crate) use http::HttpFlags;
pub(crate) use nearest::nearest;
pub(crate) use secret::StoreAddress;
pub(crate) use sources::Sources;
pub(crate) use store::store_address;
pub(crate) use work::{WorkFlags, WorkSettings};
