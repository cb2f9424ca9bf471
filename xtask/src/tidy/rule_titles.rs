use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::tree::SEMANTICS_TESTS;

/// Below each rule, the list of tests has the title of the rule, as a link to the contract: names
/// of tests alone do not say what the rule is about. The title is that of the contract.
pub(crate) fn check(semantics: Option<&str>, tests: Option<&str>) -> Vec<Finding> {
    let titles: BTreeMap<&str, &str> = semantics.unwrap_or("").lines().filter_map(title).collect();
    let lines: Vec<&str> = tests.unwrap_or("").lines().collect();
    let wrong = (1..).zip(&lines).filter_map(|(number, line)| {
        let rule = line.strip_prefix("**")?.strip_suffix("**")?;
        let id = rule.to_ascii_lowercase().replace('.', "-");
        let wanted = format!("[{}](semantics.md#{id})", titles.get(rule)?);
        let message = format!("below **{rule}** write {wanted}");
        (lines.get(number) != Some(&&*wanted))
            .then(|| Finding::at(SEMANTICS_TESTS, number, message))
    });
    wrong.collect()
}

/// The rule and the title of `### R3.3 Title <a id="r3-3"></a>`.
fn title(line: &str) -> Option<(&str, &str)> {
    let (heading, _) = line.strip_prefix("### ")?.split_once(" <a id=")?;
    heading.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_is_missing_or_another_fails() {
        let semantics = "### R3.3 Stale leases <a id=\"r3-3\"></a>";
        let link = "[Stale leases](semantics.md#r3-3)";
        let found = |tests: &str| check(Some(semantics), Some(tests));
        assert_eq!(found(&format!("**R3.3**\n{link}\n\n- `r3_3_stale_ack`")), []);
        for tests in ["**R3.3**\n", "**R3.3**\n\n- `a`", "**R3.3**\n[Old](semantics.md#r3-3)"] {
            let findings = found(tests);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert_eq!(findings[0].line, Some(1));
            assert!(findings[0].message.ends_with(link), "{}", findings[0].message);
        }
    }
}
