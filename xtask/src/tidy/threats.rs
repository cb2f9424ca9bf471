use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};
use crate::tidy::tree::Page;

const PAGE: &str = "docs/threats.md";

/// Each attack of the page names a test that there is: without its test, what stops the attack may
/// be taken out unnoticed.
pub(crate) fn check(pages: &[Page], sources: &[Source]) -> Vec<Finding> {
    let Some(page) = pages.iter().find(|page| page.path == PAGE) else { return Vec::new() };
    let functions: BTreeSet<&str> = sources.iter().flat_map(functions).collect();
    let wrong = attacks(&page.text).flat_map(|Attack { line, tests }| {
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        let none = named.is_empty().then(|| "this attack names no test, in backticks".to_owned());
        let missing = named.into_iter().filter(|test| !functions.contains(test));
        let missing =
            missing.map(|test| format!("names the test `{test}`, and there is no such fn"));
        none.into_iter().chain(missing).map(move |message| Finding::at(PAGE, line, message))
    });
    wrong.collect()
}

/// A row of a table.
struct Attack<'a> {
    line: usize,
    /// Its last cell.
    tests: &'a str,
}

fn attacks(text: &str) -> impl Iterator<Item = Attack<'_>> {
    (1..).zip(text.lines()).filter_map(|(line, text)| {
        let cells = text.strip_prefix("| ")?.strip_suffix(" |")?;
        let (_, tests) = cells.rsplit_once(" | ")?;
        (tests != "shown by").then_some(Attack { line, tests })
    })
}

fn functions(source: &Source) -> impl Iterator<Item = &str> {
    source.code_lines().filter_map(|(_, line)| words(line).skip_while(|word| *word != "fn").nth(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(row: &str) -> Vec<Finding> {
        let text = format!("# T\n\n| attack | what stops it | shown by |\n|---|---|---|\n{row}\n");
        let page = Page { path: PAGE.to_owned(), text };
        check(&[page], &[Source::new("a/src/b.rs", "async fn it_is_stopped() {}")])
    }

    #[test]
    fn an_attack_with_a_test_passes() {
        assert_eq!(findings("| it | a guard | `it_is_stopped` |"), []);
    }

    #[test]
    fn an_attack_without_a_test_that_there_is_fails() {
        for (row, says) in [
            ("| it | a guard | `it_is_stopped`, `it_was_stopped` |", "`it_was_stopped`"),
            ("| it | `it_is_stopped` | nothing |", "names no test"),
        ] {
            let found = findings(row);
            assert_eq!((found.len(), found[0].line), (1, Some(5)), "{found:?}");
            assert!(found[0].message.contains(says), "{}", found[0].message);
        }
    }
}
