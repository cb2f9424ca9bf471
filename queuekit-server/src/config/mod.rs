//! Settings. A flag overrides the environment, which overrides `queuekit.toml`, which overrides a
//! default. Each group of settings has a file with its flags and how they are resolved.

mod announce;
mod dashboard;
mod did_you_mean;
mod environment;
mod file;
pub(crate) mod file_permissions;
mod handlers;
mod http;
mod listen;
mod plain_text;
mod secret;
mod settings_text;
mod sources;
mod store;
mod switch;
mod weak_key;
mod work;

pub(crate) use did_you_mean::nearest;
pub(crate) use environment::Environment;
pub(crate) use http::HttpFlags;
pub(crate) use listen::Listen;
pub(crate) use secret::StoreAddress;
pub(crate) use sources::Sources;
pub(crate) use store::store_address;
pub(crate) use work::{WorkFlags, WorkSettings};
