//! The one list of cases.

use futures_util::future::BoxFuture;

use crate::{Capability, Need, World, cases};

/// One case of the suite.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CaseInfo {
    /// The function's name: the rule, then what holds.
    pub name: &'static str,
    /// Its subject.
    pub module: &'static str,
    /// The capabilities that a store must have for it.
    pub capabilities: &'static [Capability],
    /// What else it needs.
    pub needs: &'static [Need],
    /// The source of its subject, with the documentation of the case.
    pub source: &'static str,
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

/// Turns each case of the suite into a named test of one store.
///
/// `conformance!(module, harness)` takes the name of a new module, and an expression that is a
/// [`Harness`](crate::Harness). If a case needs something that the harness does not state, the case
/// passes without running, and says so on stderr.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $harness:expr) => {
        #[doc = "Each case of the suite as a test."]
        mod $name {
            #[allow(unused_imports, reason = "the harness may be named in full")]
            use super::*;

            fn harness() -> impl $crate::Harness {
                $harness
            }

            $crate::__for_each_case! { $crate::__case_tests, }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __case_tests {
    ([] $($module:ident {
        $($([$($capability:ident)+])? $(($($need:ident)+))? $case:ident)+
    })+) => {
        $(mod $module {
            $(
                #[test]
                fn $case() {
                    $crate::test_case(&super::harness(), stringify!($case));
                }
            )+
        })+
    };
}

macro_rules! case_table {
    ([] $($module:ident {
        $($([$($capability:ident)+])? $(($($need:ident)+))? $case:ident)+
    })+) => {
        /// Every case, by subject.
        pub const CASES: &[CaseInfo] = &[$($(
            CaseInfo {
                name: stringify!($case),
                module: stringify!($module),
                capabilities: &[$($(Capability::$capability),+)?],
                needs: &[$($(Need::$need),+)?],
                source: include_str!(concat!("cases/", stringify!($module), ".rs")),
                run: |world| Box::pin(cases::$module::$case(world)),
            },
        )+)+];
    };
}

crate::__for_each_case! { case_table, }
