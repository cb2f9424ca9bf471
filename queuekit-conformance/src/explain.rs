//! What a failed case prints in addition to its assertion.

use crate::CaseInfo;
use crate::rules::place;

const GUARD: &str = "Guard: ";

/// What the case shows, in the words of its documentation, its guard, and where the rule is.
pub(crate) fn explanation(case: &CaseInfo) -> String {
    let documentation = documentation(case);
    let (shows, guard) = documentation.split_once(GUARD).unwrap_or((&documentation, ""));
    let mut lines = vec![format!("{} failed.", case.name), format!("  {}", shows.trim())];
    if !guard.is_empty() {
        lines.push(format!("  What keeps it in a store: {}", guard.trim()));
    }
    lines.push(format!("  The rule: {} in {}", case.rule(), place(&case.rule())));
    lines.join("\n")
}

/// The doc comment above the case in its source, on one line.
fn documentation(case: &CaseInfo) -> String {
    let function = format!("pub async fn {}(", case.name);
    let above = case.source.split_once(&function).map_or("", |(above, _)| above);
    let comment = above.trim_end().lines().rev().map_while(|line| line.strip_prefix("///"));
    let mut lines: Vec<&str> = comment.map(str::trim).collect();
    lines.reverse();
    lines.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CASES;

    #[test]
    fn a_failure_names_the_promise_the_guard_and_the_rule() {
        let case = CASES.iter().find(|case| case.name == "r3_3_stale_ack_changes_nothing");
        let told = explanation(case.unwrap());
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "r3_3_stale_ack_changes_nothing failed.");
        assert!(lines[1].starts_with("  R3.3: "), "{told}");
        assert!(lines[2].starts_with("  What keeps it in a store: "), "{told}");
        assert_eq!(lines[3], "  The rule: R3.3 in docs/semantics.md#r3-ack-and-the-fence");
    }

    #[test]
    fn every_case_is_documented() {
        let silent = CASES.iter().filter(|case| documentation(case).is_empty());
        assert_eq!(silent.map(|case| case.name).collect::<Vec<_>>(), [""; 0]);
    }
}
