//! The real binary, started for a test, and what asks it.
#![allow(unreachable_pub, reason = "it is one module of a test program")]

mod description;
mod keys;
mod request;
mod server;
mod store;

pub use keys::{KEYS, by, digest, guarded, guarded_on, guarded_with, secret};
pub use request::{Ask, Reply};
pub use server::{Server, command};
pub use store::{Store, on};

/// Each of these cases as a test of its own on each store.
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
pub(crate) use on_every_store;
