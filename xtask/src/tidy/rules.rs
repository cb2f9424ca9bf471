use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};
use crate::tidy::tree::{SEMANTICS, SEMANTICS_TESTS};

/// Says why some rules have no case that runs on every store.
const STORE_RULES: &str = "queuekit-conformance/src/rules.rs";

/// Where tests are, and the label that the list gives those below this path: none for cases that
/// run on every store. The first row that fits counts.
const LABELS: &[(&str, Option<&str>)] = &[
    ("queuekit-conformance/src/cases/", None),
    ("queuekit-conformance/src/worker/cases/", None),
    ("queuekit-core/", Some("Core")),
    ("queuekit-worker/", Some("The worker")),
    ("queuekit-server/", Some("The server")),
    ("queuekit-sqlite/", Some("SQLite")),
    ("queuekit-postgres/", Some("Postgres")),
    ("queuekit-redis/", Some("Redis")),
    ("integration-tests/tests/sqlite/", Some("SQLite")),
    ("integration-tests/tests/postgres/", Some("Postgres")),
    ("integration-tests/tests/redis/", Some("Redis")),
    ("integration-tests/tests/suite/", Some("Memory")),
    ("integration-tests/tests/common/", Some("Postgres and Redis")),
];

/// The contract, its list of tests and the code name the same rules and tests, in every crate: the
/// cases of the suite, and the tests of one store, of the worker and of the server.
///
/// A rule whose test was renamed or dropped is no longer checked, and a test that no rule mentions
/// could be dropped unnoticed. Stores may have tests of one name: each has its own entry.
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
        missing_tests(semantics, sources),
        missing_entries(tests, sources),
        unmentioned_tests(tests, sources),
        rules_without_case(semantics, tests, sources),
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

/// Named in the contract, but no function has this name.
fn missing_tests(semantics: &str, sources: &[Source]) -> Vec<Finding> {
    let functions: BTreeSet<&str> =
        sources.iter().flat_map(test_functions).map(|(_, name)| name).collect();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(semantics.lines()) {
        let missing = words(line).filter(|word| is_test(word) && !functions.contains(word));
        findings.extend(missing.map(|name| {
            let message = format!("names the test `{name}`, and no crate has such a fn");
            Finding::at(SEMANTICS, number, message)
        }));
    }
    findings
}

/// An entry of the list for a test that is not where its label says.
fn missing_entries(tests: &str, sources: &[Source]) -> Vec<Finding> {
    let there: BTreeSet<(&str, &str)> = sources.iter().flat_map(labelled_tests).collect();
    let missing = entries(tests).filter_map(|Entry { test, line, text, .. }| {
        let (label, test) = (label_of(text), test?);
        let place = if label.is_empty() { "the cases of the suite have" } else { label };
        let message = format!("names the test `{test}`, and there is no such fn: {place}");
        (!there.contains(&(label, test))).then(|| Finding::at(SEMANTICS_TESTS, line, message))
    });
    missing.collect()
}

/// A function that is named by rule and that the list does not name, with the label of its place.
fn unmentioned_tests(tests: &str, sources: &[Source]) -> Vec<Finding> {
    let mentioned: BTreeSet<(&str, &str)> =
        entries(tests).filter_map(|entry| Some((label_of(entry.text), entry.test?))).collect();
    let mentioned = &mentioned;
    let unmentioned = sources.iter().flat_map(|source| {
        let label = label(&source.path);
        let is_mentioned =
            move |name| label.is_some_and(|label| mentioned.contains(&(label, name)));
        let unmentioned = test_functions(source).filter(move |(_, name)| !is_mentioned(*name));
        unmentioned.map(move |(number, name)| {
            let entry = match label {
                Some("") => format!("`{name}`"),
                Some(label) => format!("{label}: `{name}`"),
                None => format!("`{name}`, with a label for this place in {}", file!()),
            };
            let message = format!("{SEMANTICS_TESTS} lacks the entry {entry}");
            Finding::at(&source.path, number, message)
        })
    });
    unmentioned.collect()
}

/// The tests of a file with the label of their place.
fn labelled_tests(source: &Source) -> impl Iterator<Item = (&str, &str)> {
    let label = label(&source.path);
    test_functions(source).filter_map(move |(_, name)| Some((label?, name)))
}

/// The label of tests in this file, empty for cases of every store; none if it has no row.
fn label(path: &str) -> Option<&'static str> {
    let row = LABELS.iter().find(|(below, _)| path.starts_with(below));
    row.map(|(_, label)| label.unwrap_or_default())
}

/// `Redis` of `` Redis: `r3_3_..` ``, and nothing of `` `r3_3_..` ``.
fn label_of(entry: &str) -> &str {
    entry.split_once('`').map_or(entry, |(label, _)| label).trim_end_matches([':', ' '])
}

/// A rule of the contract for which the list has no case that runs on every store, or, where the
/// suite says why there can be none, no test at all.
fn rules_without_case(semantics: &str, tests: &str, sources: &[Source]) -> Vec<Finding> {
    let excused = sources.iter().filter(|source| source.path == STORE_RULES);
    let excused: BTreeSet<&str> = excused.flat_map(excused_rules).collect();
    let shown = entries(tests).filter(|entry| {
        entry.is_case_of_every_store() || (entry.test.is_some() && excused.contains(entry.rule))
    });
    let shown: BTreeSet<&str> = shown.map(|entry| entry.rule).collect();
    let without = rules(semantics).filter(|heading| !shown.contains(heading.rule));
    let finding = |Heading { rule, line, .. }: Heading<'_>| {
        let prefix = prefix(rule);
        let message = format!("{SEMANTICS_TESTS} names no case for {rule}, `{prefix}..`");
        Finding::at(SEMANTICS, line, message)
    };
    without.map(finding).collect()
}

/// The rules for which the table `STORE_RULES` has a reason.
fn excused_rules(source: &Source) -> impl Iterator<Item = &str> {
    let table = source.text.split_once("STORE_RULES").map_or("", |(_, table)| table);
    table.split('"').filter(|text| is_rule(text))
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
        let is_of_rule = |test: &str| test.starts_with(&prefix(self.rule));
        label_of(self.text).is_empty() && self.test.is_some_and(is_of_rule)
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
    const CASES: &str = "queuekit-conformance/src/cases/fence.rs";
    const REDIS: &str = "integration-tests/tests/redis/fence.rs";
    const CODE: [(&str, &str); 2] = [
        (CASES, "pub async fn r3_3_stale_ack() {}"),
        (REDIS, "fn r3_3_twice() {}\nfn helper() {}"),
    ];

    fn findings(semantics: &str, tests: &str, code: &[(&str, &str)]) -> Vec<Finding> {
        let sources: Vec<Source> =
            code.iter().map(|(path, text)| Source::new(path, text)).collect();
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
        assert_eq!(findings(RULE, TESTS, &CODE), []);
        let rule = "### R12 Limits <a id=\"r12\"></a>";
        assert_eq!(findings(rule, "**R12**\n- `r12_keys`", &[(CASES, "fn r12_keys() {}")]), []);
    }

    #[test]
    fn a_name_that_no_function_has_fails() {
        assert_one(&findings(RULE, TESTS, &CODE[..1]), SEMANTICS_TESTS, 4, "r3_3_twice");
        let rule = format!("{RULE}See `r3_3_gone`.");
        assert_one(&findings(&rule, TESTS, &CODE), SEMANTICS, 4, "r3_3_gone");
    }

    #[test]
    fn a_comment_is_no_test() {
        let code = [CODE[0], (REDIS, "// fn r3_3_twice() {}")];
        assert_one(&findings(RULE, TESTS, &code), SEMANTICS_TESTS, 4, "r3_3_twice");
    }

    /// Deleted in one store, it must not hide behind the same test of another.
    #[test]
    fn a_test_that_two_stores_share_has_an_entry_for_each() {
        let postgres = ("integration-tests/tests/postgres/fence.rs", "fn r3_3_twice() {}");
        let both = [CODE[0], CODE[1], postgres];
        assert_one(&findings(RULE, TESTS, &both), postgres.0, 1, "Postgres: `r3_3_twice`");
        let tests = format!("{TESTS}- Postgres: `r3_3_twice`\n");
        assert_eq!(findings(RULE, &tests, &both), []);
        assert_one(&findings(RULE, &tests, &both[..2]), SEMANTICS_TESTS, 5, "r3_3_twice");
    }

    /// Without a label an entry says that the test runs on every store.
    #[test]
    fn a_test_of_one_store_without_a_label_fails() {
        let tests = TESTS.replace("Redis: ", "");
        let found = findings(RULE, &tests, &CODE);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_one(&found[..1], SEMANTICS_TESTS, 4, "r3_3_twice");
        assert_one(&found[1..], REDIS, 1, "Redis: `r3_3_twice`");
    }

    #[test]
    fn a_test_of_any_crate_that_the_list_does_not_name_fails() {
        let path = "queuekit-server/tests/server/http/work.rs";
        for name in ["r3_3_over_http", "r3_4_one_wins"] {
            let test = format!("fn {name}() {{}}");
            let code = [CODE[0], CODE[1], (path, &test)];
            assert_one(&findings(RULE, TESTS, &code), path, 1, name);
            let prose = format!("{TESTS}\nNot an entry: `{name}`.");
            assert_one(&findings(RULE, &prose, &code), path, 1, name);
        }
        let code = [CODE[0], CODE[1], ("benches/src/lib.rs", "fn r3_3_stale_ack() {}")];
        assert_one(
            &findings(RULE, TESTS, &code),
            "benches/src/lib.rs",
            1,
            "a label for this place",
        );
    }

    #[test]
    fn a_rule_without_a_case_of_every_store_fails() {
        let two = format!("{RULE}### R3.4 One outcome <a id=\"r3-4\"></a>");
        assert_one(&findings(&two, TESTS, &CODE), SEMANTICS, 4, "R3.4");
        let tests = "**R3.3**\n- Redis: `r3_3_twice`";
        assert_one(&findings(RULE, tests, &CODE[1..]), SEMANTICS, 1, "R3.3");
        let reason =
            "const RULES: &[&str] = &[\"R3.4\"];\nconst STORE_RULES: .. = &[(\"R3.3\", \"\")];";
        let excused = [CODE[1], (STORE_RULES, reason)];
        assert_eq!(findings(RULE, tests, &excused), []);
        assert_one(&findings(RULE, "**R3.3**\n", &excused[1..]), SEMANTICS, 1, "R3.3");
    }

    #[test]
    fn an_entry_below_another_rule_or_none_fails() {
        let code = [CODE[0], CODE[1], ("queuekit-core/src/a.rs", "fn r3_4_one_wins() {}")];
        let tests = format!("{TESTS}- Core: `r3_4_one_wins`\n");
        assert_one(&findings(RULE, &tests, &code), SEMANTICS_TESTS, 5, "below R3.3");
        let tests = format!("{TESTS}\n**R3.4**\n- Core: `r3_4_one_wins`\n");
        assert_one(&findings(RULE, &tests, &code), SEMANTICS_TESTS, 7, "no rule `R3.4`");
        let tests = format!("{TESTS}- `none_yet`\n");
        assert_one(&findings(RULE, &tests, &CODE), SEMANTICS_TESTS, 5, "names one test");
    }

    #[test]
    fn a_heading_without_its_id_and_one_that_comes_twice_fail() {
        let rule = "### R3.3 Stale leases <a id=\"r3-4\"></a>";
        assert_one(&findings(rule, TESTS, &CODE), SEMANTICS, 1, "<a id=\"r3-3\"></a>");
        let twice = format!("{RULE}{RULE}");
        assert_one(&findings(&twice, TESTS, &CODE), SEMANTICS, 4, "two headings");
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
