use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};
use crate::tidy::tree::SEMANTICS;

const SUITE: &str = "integration-tests/";
/// A store's own crate, where a case needs what is not public.
const STORES: &[&str] = &["queuekit-sqlite/"];
const CASES: &str = "integration-tests/src/";

/// The document that states the rules and the suite that shows them name the same cases.
///
/// A promise whose case was renamed or dropped is a promise nobody keeps, and a case that no rule
/// mentions is one nobody dares to change.
pub(crate) fn check(semantics: Option<&str>, sources: &[Source]) -> Vec<Finding> {
    let Some(semantics) = semantics else {
        let message = "does not exist yet: rules and cases are NOT compared";
        return vec![Finding::file(SEMANTICS, message).into_warning()];
    };
    [
        missing_cases(semantics, sources),
        unmentioned_cases(semantics, sources),
        rules_without_case(semantics),
    ]
    .concat()
}

/// Mentioned in the document, but no function of the suite has this name.
fn missing_cases(semantics: &str, sources: &[Source]) -> Vec<Finding> {
    let shows = |source: &&Source| {
        let mut folders = STORES.iter().chain([&SUITE]);
        folders.any(|folder| source.path.starts_with(folder))
    };
    let suite = sources.iter().filter(shows);
    let functions: BTreeSet<&str> = suite.flat_map(case_functions).map(|(_, name)| name).collect();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(semantics.lines()) {
        let missing = words(line).filter(|word| is_case(word) && !functions.contains(word));
        findings.extend(missing.map(|name| {
            let message =
                format!("names the case `{name}`, and {SUITE} has no such fn, nor a store");
            Finding::at(SEMANTICS, number, message)
        }));
    }
    findings
}

/// A function of the suite that the document does not name.
fn unmentioned_cases(semantics: &str, sources: &[Source]) -> Vec<Finding> {
    let mentioned: BTreeSet<&str> = words(semantics).filter(|word| is_case(word)).collect();
    let cases = sources.iter().filter(|source| source.path.starts_with(CASES));
    let unmentioned = cases.flat_map(|source| {
        let unmentioned = case_functions(source).filter(|(_, name)| !mentioned.contains(name));
        unmentioned.map(|(number, name)| {
            let message = format!("case `{name}` is not named in {SEMANTICS}; add it to its rule");
            Finding::at(&source.path, number, message)
        })
    });
    unmentioned.collect()
}

/// A row of a table that begins with a rule, where no case of this rule is named. A warning: a
/// rule may be promised before the crate that keeps it is written.
fn rules_without_case(semantics: &str) -> Vec<Finding> {
    let rows = (1..).zip(semantics.lines()).filter_map(|(number, line)| {
        let rule = rule_of_row(line)?;
        let prefix = format!("{}_", rule.to_ascii_lowercase().replace('.', "_"));
        let has_case = words(line).any(|word| is_case(word) && word.starts_with(&prefix));
        let message = format!("{rule} names no case that begins with `{prefix}`");
        (!has_case).then(|| Finding::at(SEMANTICS, number, message).into_warning())
    });
    rows.collect()
}

/// `R3.3` of `| R3.3 | .. |`, or `R12` of a rule without parts; also when it is bold, in
/// backticks or a link.
fn rule_of_row(line: &str) -> Option<&str> {
    let cell = line.trim_start().strip_prefix('|')?.split('|').next()?;
    let rule = cell.trim_matches(|c: char| !c.is_alphanumeric()).split(']').next()?;
    let mut numbers = rule.strip_prefix('R')?.split('.');
    numbers.all(is_number).then_some(rule)
}

/// The functions of a file that are named like a case, with their lines.
fn case_functions(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.code_lines().filter_map(|(number, line)| {
        let mut words = words(line).skip_while(|word| *word != "fn");
        let name = words.nth(1)?;
        is_case(name).then_some((number, name))
    })
}

/// `r<n>_<m>_<what it shows>`, or `r<n>_<what it shows>` for a rule without parts.
fn is_case(word: &str) -> bool {
    let rest = word.strip_prefix('r').and_then(|rest| rest.split_once('_'));
    let says = |shows: &str| shows.bytes().any(|byte| byte.is_ascii_alphabetic());
    rest.is_some_and(|(chapter, shows)| is_number(chapter) && says(shows))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Severity;

    const TABLE: &str = "\
| Rule | Cases |
|---|---|
| R3.3 | `r3_3_stale_ack`, `r3_3_twice` |
";

    fn suite(text: &str) -> Vec<Source> {
        vec![Source::new("integration-tests/src/fence.rs", text)]
    }

    #[test]
    fn document_and_suite_that_agree_pass() {
        let suite = suite("pub async fn r3_3_stale_ack() {}\nfn r3_3_twice() {}\nfn helper() {}");
        assert_eq!(check(Some(TABLE), &suite), []);
    }

    #[test]
    fn a_case_that_no_function_has_fails() {
        let findings = check(Some(TABLE), &suite("async fn r3_3_stale_ack() {}"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Failure);
        assert_eq!((findings[0].path.as_str(), findings[0].line), (SEMANTICS, Some(3)));
        assert!(findings[0].message.contains("r3_3_twice"));
    }

    #[test]
    fn a_comment_or_another_crate_is_no_case() {
        let commented = suite("// fn r3_3_twice() {}\nfn r3_3_stale_ack() {}");
        assert_eq!(check(Some(TABLE), &commented).len(), 1);
        let of_a_store = [Source::new("queuekit-sqlite/src/cost.rs", "fn r3_3_stale_ack() {}")];
        assert_eq!(check(Some(TABLE), &of_a_store).len(), 1);
        let elsewhere = [Source::new("queuekit-core/src/a.rs", "fn r3_3_stale_ack() {}")];
        assert_eq!(check(Some(TABLE), &elsewhere).len(), 2);
    }

    #[test]
    fn a_case_may_stand_in_a_test_target_but_only_those_of_the_library_have_to_be_named() {
        let text = "fn r3_3_stale_ack() {}\nfn r3_3_twice() {}\nfn r9_9_of_one_store() {}";
        let sources = [Source::new("integration-tests/tests/memory.rs", text)];
        assert_eq!(check(Some(TABLE), &sources), []);
    }

    #[test]
    fn a_function_the_document_does_not_name_fails() {
        let text = "fn r3_3_stale_ack() {}\nfn r3_3_twice() {}\nfn r3_4_one_wins() {}";
        let findings = check(Some(TABLE), &suite(text));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, Some(3));
        assert!(findings[0].message.contains("r3_4_one_wins"));
    }

    #[test]
    fn a_rule_without_a_case_warns() {
        let findings = check(Some("| **R3.4** | none yet |\n| R3.4 | see `r3_3_...` |"), &[]);
        assert_eq!(findings.len(), 2);
        assert!(findings.iter().all(|finding| finding.severity == Severity::Warning));
    }

    #[test]
    fn no_document_is_said_but_is_no_failure() {
        let findings = check(None, &suite("fn r3_3_stale_ack() {}"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Warning);
    }
}
