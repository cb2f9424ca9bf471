//! The real binary, started for a test, and what asks it.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "each test target uses a part of it, and a test that cannot go on has failed"
)]

mod ask;
mod keys;
mod server;
mod store;

pub use ask::{Ask, Reply};
pub use keys::{KEYS, digest, guarded, secret};
pub use server::Server;
pub use store::{Store, on};

/// Each of these cases as a test of its own on each store.
#[macro_export]
macro_rules! on_every_store {
    ($($case:ident),* $(,)?) => {
        on_every_store! { @ memory "memory" $($case)* }
        on_every_store! { @ sqlite "sqlite" $($case)* }
        on_every_store! { @ postgres "postgres" $($case)* }
        on_every_store! { @ redis "redis" $($case)* }
    };
    (@ $module:ident $store:literal $($case:ident)*) => {
        mod $module {
            $(
                #[test]
                fn $case() {
                    $crate::common::on($store, stringify!($case), super::$case);
                }
            )*
        }
    };
}
