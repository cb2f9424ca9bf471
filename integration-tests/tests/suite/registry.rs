//! The list of cases and the rules of the contract answer for each other.

use std::collections::HashSet;

use queuekit_conformance::{CASES, RULES, STORE_RULES};

#[test]
fn every_rule_has_a_case_or_says_where_it_is_shown() {
    let shown: HashSet<String> = CASES.iter().map(|case| case.rule()).collect();
    let elsewhere = |rule: &str| STORE_RULES.iter().any(|(name, _)| *name == rule);
    let missing = RULES.iter().filter(|rule| !shown.contains(**rule) && !elsewhere(rule));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn every_case_is_of_a_rule() {
    let strays = CASES.iter().filter(|case| !RULES.contains(&case.rule().as_str()));
    assert_eq!(strays.map(|case| case.name).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn every_store_rule_is_a_rule_with_a_reason() {
    for (rule, why) in STORE_RULES {
        assert!(RULES.contains(rule) && !why.is_empty(), "{rule}");
    }
}

#[test]
fn no_two_cases_share_a_name() {
    let names: HashSet<&str> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), CASES.len());
}
