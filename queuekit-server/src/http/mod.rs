//! The HTTP server: who gets in, what is refused, and how it listens. What it answers is for
//! [`api`](crate::api) to say.

pub(crate) mod glob;
pub(crate) mod keys;
mod options;

pub(crate) use options::{HttpLimits, HttpOptions, TlsFiles};
