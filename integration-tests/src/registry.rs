//! The list of cases: it exists once, here.

use futures_util::future::BoxFuture;

use crate::{Level, Need, World, cases};

/// One case of the suite.
#[derive(Clone, Copy, Debug)]
pub struct CaseInfo {
    /// The function's name: the rule, then what holds.
    pub name: &'static str,
    /// The subject it stands under.
    pub module: &'static str,
    /// How much of the contract a store must keep for it.
    pub level: Level,
    /// What else it needs.
    pub needs: &'static [Need],
    /// Runs it; panics if the store breaks the rule.
    pub run: for<'w> fn(&'w dyn World) -> BoxFuture<'w, ()>,
}

impl CaseInfo {
    /// The rule it shows, e.g. `R3.3`, or `R12` for a rule without parts.
    pub fn rule(&self) -> String {
        let mut parts = self.name.trim_start_matches('r').split('_');
        let major = parts.next().unwrap_or_default();
        match parts.next().filter(|minor| minor.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(minor) => format!("R{major}.{minor}"),
            None => format!("R{major}"),
        }
    }
}

/// Makes each case of the suite a named test of one store.
///
/// `conformance!(module, harness, core | full)`: the name of a module to make, an expression that
/// is a [`Harness`](crate::Harness), and how much of the contract the store keeps. At `core` the
/// cases that need capability traits are not made.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $harness:expr, $level:ident) => {
        #[doc = "Each case of the suite as a test."]
        mod $name {
            #[allow(unused_imports, reason = "the harness may be named in full")]
            use super::*;

            fn harness() -> impl $crate::Harness {
                $harness
            }

            $crate::__for_each_case! { $crate::__case_tests, $level }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __case_tests {
    ([$level:ident] $($module:ident { $($needed:ident $(($($need:ident)+))? $case:ident)+ })+) => {
        $(mod $module {
            $($crate::__case_test! { $level $needed $case })+
        })+
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __case_test {
    (core full $case:ident) => {};
    ($level:ident $needed:ident $case:ident) => {
        #[test]
        fn $case() {
            $crate::test_case(&super::harness(), stringify!($case));
        }
    };
}

macro_rules! level {
    (core) => {
        Level::Core
    };
    (full) => {
        Level::Full
    };
}

macro_rules! case_table {
    ([] $($module:ident { $($level:ident $(($($need:ident)+))? $case:ident)+ })+) => {
        /// Every case, by subject.
        pub const CASES: &[CaseInfo] = &[$($(
            CaseInfo {
                name: stringify!($case),
                module: stringify!($module),
                level: level!($level),
                needs: &[$($(Need::$need),+)?],
                run: |world| Box::pin(cases::$module::$case(world)),
            },
        )+)+];
    };
}

crate::__for_each_case! { case_table, }
