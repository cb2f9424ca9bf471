use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};
use crate::tidy::tree::{SEMANTICS, SEMANTICS_TESTS};

/// The contract, its list of tests and the code name the same rules and tests, in every crate: the
/// cases of the suite, and the tests of one store, of the worker and of the server.
///
/// A promise whose test was renamed or dropped is a promise nobody keeps, and a test that no rule
/// mentions could be dropped unseen.
pub(crate) fn check(
    semantics: Option<&str>,
    tests: Option<&str>,
    sources: &[Source],
) -> Vec<Finding> {
    let (Some(semantics), Some(tests)) = (semantics, tests) else {
        let missing = if semantics.is_none() { SEMANTICS } else { SEMANTICS_TESTS };
        return vec![Finding::file(missing, "does not exist; rules and tests are not compared")];
    };
    [
        malformed_headings(semantics),
        missing_tests(SEMANTICS, semantics, sources),
        missing_tests(SEMANTICS_TESTS, tests, sources),
        unmentioned_tests(tests, sources),
        rules_without_case(semantics, tests),
        entries_of_another_rule(semantics, tests),
    ]
    .concat()
}

/// A rule has one heading, `### R5.7 Title <a id="r5-7"></a>`: other pages link to the id, which
/// stays when the title changes.
fn malformed_headings(semantics: &str) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let headings = rules(semantics).filter_map(|Heading { rule, line, text }| {
        let id = format!("<a id=\"{}\"></a>", rule.to_ascii_lowercase().replace('.', "-"));
        let message = if !text.ends_with(&id) {
            format!("the heading of {rule} has to end in `{id}`")
        } else if !seen.insert(rule) {
            format!("{rule} has two headings")
        } else {
            return None;
        };
        Some(Finding::at(SEMANTICS, line, message))
    });
    headings.collect()
}

/// Named in a document, but no function has this name.
fn missing_tests(path: &str, document: &str, sources: &[Source]) -> Vec<Finding> {
    let functions: BTreeSet<&str> =
        sources.iter().flat_map(test_functions).map(|(_, name)| name).collect();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(document.lines()) {
        let missing = words(line).filter(|word| is_test(word) && !functions.contains(word));
        findings.extend(missing.map(|name| {
            let message = format!("names the test `{name}`, and no crate has such a fn");
            Finding::at(path, number, message)
        }));
    }
    findings
}

/// A function that is named by rule and that the list does not name.
fn unmentioned_tests(tests: &str, sources: &[Source]) -> Vec<Finding> {
    let mentioned: BTreeSet<&str> = entries(tests).filter_map(|entry| entry.test).collect();
    let unmentioned = sources.iter().flat_map(|source| {
        let unmentioned = test_functions(source).filter(|(_, name)| !mentioned.contains(name));
        unmentioned.map(|(number, name)| {
            let message = format!("test `{name}` is not in {SEMANTICS_TESTS}; add it to its rule");
            Finding::at(&source.path, number, message)
        })
    });
    unmentioned.collect()
}

/// A rule of the contract for which the list has no case that runs on every store.
fn rules_without_case(semantics: &str, tests: &str) -> Vec<Finding> {
    let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries(tests).filter(|entry| entry.is_case_of_every_store()) {
        *cases.entry(entry.rule).or_default() += 1;
    }
    let without = rules(semantics).filter(|heading| !cases.contains_key(heading.rule));
    let finding = |Heading { rule, line, .. }: Heading<'_>| {
        let prefix = prefix(rule);
        let message = format!("{SEMANTICS_TESTS} names no case for {rule}, `{prefix}..`");
        Finding::at(SEMANTICS, line, message)
    };
    without.map(finding).collect()
}

/// An entry below the wrong rule, below one that the contract lacks, or that names no test.
fn entries_of_another_rule(semantics: &str, tests: &str) -> Vec<Finding> {
    let rules: BTreeSet<&str> = rules(semantics).map(|heading| heading.rule).collect();
    let wrong = entries(tests).filter_map(|Entry { rule, test, line, .. }| {
        let message = match test {
            _ if !rules.contains(rule) => format!("{SEMANTICS} has no rule `{rule}`"),
            None => "an entry names one test, in backticks".to_owned(),
            Some(test) if !test.starts_with(&prefix(rule)) => {
                format!(
                    "`{test}` is listed below {rule}, whose tests begin with `{}`",
                    prefix(rule)
                )
            }
            Some(_) => return None,
        };
        Some(Finding::at(SEMANTICS_TESTS, line, message))
    });
    wrong.collect()
}

/// `### R3.3 ..`, or `### R12 ..` for a rule without parts.
struct Heading<'a> {
    rule: &'a str,
    line: usize,
    text: &'a str,
}

fn rules(semantics: &str) -> impl Iterator<Item = Heading<'_>> {
    (1..).zip(semantics.lines()).filter_map(|(line, text)| {
        let rule = text.strip_prefix("### ")?.split_whitespace().next()?;
        is_rule(rule).then_some(Heading { rule, line, text })
    })
}

/// A line of the list of tests below `**R3.3**`: a case of every store, `` - `r3_3_..` ``, or with
/// the place of the test, `` - Redis: `r3_3_..` ``.
struct Entry<'a> {
    rule: &'a str,
    test: Option<&'a str>,
    line: usize,
    text: &'a str,
}

impl Entry<'_> {
    fn is_case_of_every_store(&self) -> bool {
        self.test
            .is_some_and(|test| self.text.starts_with('`') && test.starts_with(&prefix(self.rule)))
    }
}

fn entries(tests: &str) -> impl Iterator<Item = Entry<'_>> {
    let mut rule = "";
    (1..).zip(tests.lines()).filter_map(move |(line, text)| {
        if let Some(bold) = text.strip_prefix("**").and_then(|text| text.strip_suffix("**")) {
            rule = bold;
        }
        let text = text.strip_prefix("- ")?;
        let named = text.split('`').nth(1).filter(|name| is_test(name));
        Some(Entry { rule, test: named, line, text })
    })
}

/// `r3_3_` of `R3.3`: what the names of its tests begin with.
fn prefix(rule: &str) -> String {
    format!("{}_", rule.to_ascii_lowercase().replace('.', "_"))
}

/// The functions of a file that are named by rule, with their lines.
fn test_functions(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source.code_lines().filter_map(|(number, line)| {
        let mut words = words(line).skip_while(|word| *word != "fn");
        let name = words.nth(1)?;
        is_test(name).then_some((number, name))
    })
}

/// `r<n>_<m>_<what it shows>`, or `r<n>_<what it shows>` for a rule without parts.
fn is_test(word: &str) -> bool {
    let rest = word.strip_prefix('r').and_then(|rest| rest.split_once('_'));
    let says = |shows: &str| shows.bytes().any(|byte| byte.is_ascii_alphabetic());
    rest.is_some_and(|(chapter, shows)| is_number(chapter) && says(shows))
}

/// `R3.3`, or `R12`.
fn is_rule(word: &str) -> bool {
    word.strip_prefix('R').is_some_and(|numbers| numbers.split('.').all(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Severity;

    const RULE: &str = "### R3.3 Stale leases <a id=\"r3-3\"></a>\n\nNothing changes.\n";
    const TESTS: &str = "**R3.3**\n\n- `r3_3_stale_ack`\n- Redis: `r3_3_twice`\n";
    const CODE: &str = "pub async fn r3_3_stale_ack() {}\nfn r3_3_twice() {}\nfn helper() {}";

    fn findings(semantics: &str, tests: &str, code: &str) -> Vec<Finding> {
        let sources = [Source::new("queuekit-server/tests/server/http/work.rs", code)];
        check(Some(semantics), Some(tests), &sources)
    }

    /// Checks that there is one failure, in this place, and that it says this.
    #[track_caller]
    fn assert_one(findings: &[Finding], path: &str, line: usize, says: &str) {
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].severity, Severity::Failure);
        assert_eq!((findings[0].path.as_str(), findings[0].line), (path, Some(line)));
        assert!(findings[0].message.contains(says), "{}", findings[0].message);
    }

    #[test]
    fn contract_list_and_code_that_agree_pass() {
        assert_eq!(findings(RULE, TESTS, CODE), []);
        let rule = "### R12 Limits <a id=\"r12\"></a>";
        assert_eq!(findings(rule, "**R12**\n- `r12_keys`", "fn r12_keys() {}"), []);
    }

    #[test]
    fn a_name_that_no_function_has_fails() {
        let code = "async fn r3_3_stale_ack() {}";
        assert_one(&findings(RULE, TESTS, code), SEMANTICS_TESTS, 4, "r3_3_twice");
        let rule = format!("{RULE}See `r3_3_gone`.");
        assert_one(&findings(&rule, TESTS, CODE), SEMANTICS, 4, "r3_3_gone");
    }

    #[test]
    fn a_comment_is_no_test() {
        let code = "// fn r3_3_twice() {}\nfn r3_3_stale_ack() {}";
        assert_one(&findings(RULE, TESTS, code), SEMANTICS_TESTS, 4, "r3_3_twice");
    }

    #[test]
    fn a_test_of_any_crate_that_the_list_does_not_name_fails() {
        let path = "queuekit-server/tests/server/http/work.rs";
        for name in ["r3_3_over_http", "r3_4_one_wins"] {
            let code = format!("{CODE}\nfn {name}() {{}}");
            assert_one(&findings(RULE, TESTS, &code), path, 4, name);
            let prose = format!("{TESTS}\nNot an entry: `{name}`.");
            assert_one(&findings(RULE, &prose, &code), path, 4, name);
        }
    }

    #[test]
    fn a_rule_without_a_case_of_every_store_fails() {
        let two = format!("{RULE}### R3.4 One outcome <a id=\"r3-4\"></a>");
        assert_one(&findings(&two, TESTS, CODE), SEMANTICS, 4, "R3.4");
        let tests = "**R3.3**\n- Redis: `r3_3_twice`";
        assert_one(&findings(RULE, tests, "fn r3_3_twice() {}"), SEMANTICS, 1, "R3.3");
    }

    #[test]
    fn an_entry_below_another_rule_or_none_fails() {
        let code = format!("{CODE}\nfn r3_4_one_wins() {{}}");
        let tests = format!("{TESTS}- `r3_4_one_wins`\n");
        assert_one(&findings(RULE, &tests, &code), SEMANTICS_TESTS, 5, "below R3.3");
        let tests = format!("{TESTS}\n**R3.4**\n- `r3_4_one_wins`\n");
        assert_one(&findings(RULE, &tests, &code), SEMANTICS_TESTS, 7, "no rule `R3.4`");
        let tests = format!("{TESTS}- `none_yet`\n");
        assert_one(&findings(RULE, &tests, CODE), SEMANTICS_TESTS, 5, "names one test");
    }

    #[test]
    fn a_heading_without_its_id_and_one_that_comes_twice_fail() {
        let rule = "### R3.3 Stale leases <a id=\"r3-4\"></a>";
        assert_one(&findings(rule, TESTS, CODE), SEMANTICS, 1, "<a id=\"r3-3\"></a>");
        let twice = format!("{RULE}{RULE}");
        assert_one(&findings(&twice, TESTS, CODE), SEMANTICS, 4, "two headings");
    }

    #[test]
    fn a_missing_document_fails() {
        for (semantics, tests, path) in
            [(None, Some(TESTS), SEMANTICS), (Some(RULE), None, SEMANTICS_TESTS)]
        {
            let findings = check(semantics, tests, &[]);
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].path, path);
            assert_eq!(findings[0].severity, Severity::Failure);
        }
    }
}
