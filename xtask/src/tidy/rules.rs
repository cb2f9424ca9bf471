use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};
use crate::tidy::tree::SEMANTICS;

/// The document that states the rules names the same tests as the code that shows them, in every
/// crate: the cases of the suite, and the tests of one store, of the worker and of the server.
///
/// A promise whose test was renamed or dropped is a promise nobody keeps, and a test that no rule
/// mentions could be dropped unseen.
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

/// Mentioned in the document, but no function has this name.
fn missing_cases(semantics: &str, sources: &[Source]) -> Vec<Finding> {
    let functions: BTreeSet<&str> =
        sources.iter().flat_map(case_functions).map(|(_, name)| name).collect();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(semantics.lines()) {
        let missing = words(line).filter(|word| is_case(word) && !functions.contains(word));
        findings.extend(missing.map(|name| {
            let message = format!("names the test `{name}`, and no crate has such a fn");
            Finding::at(SEMANTICS, number, message)
        }));
    }
    findings
}

/// A function that is named by rule and that the document does not name.
fn unmentioned_cases(semantics: &str, sources: &[Source]) -> Vec<Finding> {
    let mentioned: BTreeSet<&str> = words(semantics).filter(|word| is_case(word)).collect();
    let unmentioned = sources.iter().flat_map(|source| {
        let unmentioned = case_functions(source).filter(|(_, name)| !mentioned.contains(name));
        unmentioned.map(|(number, name)| {
            let message = format!("test `{name}` is not named in {SEMANTICS}; add it to its rule");
            Finding::at(&source.path, number, message)
        })
    });
    unmentioned.collect()
}

/// A row of a table that begins with a rule, where no test of this rule is named.
fn rules_without_case(semantics: &str) -> Vec<Finding> {
    let rows = (1..).zip(semantics.lines()).filter_map(|(number, line)| {
        let rule = rule_of_row(line)?;
        let prefix = format!("{}_", rule.to_ascii_lowercase().replace('.', "_"));
        let has_case = words(line).any(|word| is_case(word) && word.starts_with(&prefix));
        let message = format!("{rule} names no test that begins with `{prefix}`");
        (!has_case).then(|| Finding::at(SEMANTICS, number, message))
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
    fn a_comment_is_no_test() {
        let commented = suite("// fn r3_3_twice() {}\nfn r3_3_stale_ack() {}");
        assert_eq!(check(Some(TABLE), &commented).len(), 1);
    }

    #[test]
    fn a_test_of_any_crate_shows_a_rule_and_has_to_be_named() {
        let text = "fn r3_3_stale_ack() {}\nfn r3_3_twice() {}\nfn r3_3_over_http() {}";
        let sources = [Source::new("queuekit-server/tests/server/http/work.rs", text)];
        let findings = check(Some(TABLE), &sources);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("r3_3_over_http"), "{}", findings[0].message);
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
    fn a_rule_without_a_test_fails() {
        let findings = check(Some("| **R3.4** | none yet |\n| R3.4 | see `r3_3_...` |"), &[]);
        assert_eq!(findings.len(), 2);
        assert!(findings.iter().all(|finding| finding.severity == Severity::Failure));
    }

    #[test]
    fn no_document_is_said_but_is_no_failure() {
        let findings = check(None, &suite("fn r3_3_stale_ack() {}"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Warning);
    }
}
