use std::path::Path;
use std::process::Command;

use crate::tidy::finding::Finding;

/// The last commit whose subject is not checked.
const START: &str = "c8cd56576a404d90b1d9d450fe598a44b0fd9398";

/// A subject has fewer characters.
const SUBJECT_MAX: usize = 72;

/// Imperatives with the ending of another form, beside those in `-ss` and `-eed`.
const IMPERATIVES: &[&str] =
    &["Bias", "Bring", "Embed", "Focus", "Ping", "Ring", "Shed", "Shred", "String", "Swing"];

/// Subjects of commits are in the imperative, short, and without a period: they are read as a list.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let range = format!("{START}..HEAD");
    let git = Command::new("git")
        .args(["log", "--no-merges", "--format=%h %s", &range])
        .current_dir(root)
        .output();
    match git {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).lines().filter_map(check_line).collect()
        }
        _ => vec![not_checked()],
    }
}

/// A shallow clone, or a copy without its history.
fn not_checked() -> Finding {
    let message = format!("subjects are NOT CHECKED: this clone has no commit {START}");
    Finding::file("commits", message).into_warning()
}

/// `<hash> <subject>`.
fn check_line(line: &str) -> Option<Finding> {
    let (hash, subject) = line.split_once(' ').unwrap_or((line, ""));
    let why = wrong(subject)?;
    Some(Finding::file(&format!("commit {hash}"), format!("`{subject}` {why}")))
}

fn wrong(subject: &str) -> Option<String> {
    let first = subject.split_whitespace().next().unwrap_or_default();
    if subject.chars().count() >= SUBJECT_MAX {
        Some(format!("has {} characters; {SUBJECT_MAX} are too many", subject.chars().count()))
    } else if subject.ends_with('.') {
        Some("ends with a period".to_owned())
    } else if !first.starts_with(|c: char| c.is_ascii_uppercase()) {
        Some("does not begin with a capital letter".to_owned())
    } else if is_another_form(first) {
        Some(format!("begins with `{first}`; begin with an imperative, such as `Add`"))
    } else {
        None
    }
}

/// `Added`, `Adds`, `Adding`, and a prefix such as `Worker:`.
fn is_another_form(first: &str) -> bool {
    let ends = |endings: &[&str]| endings.iter().any(|ending| first.ends_with(ending));
    let is_imperative = ends(&["ss", "eed"]) || IMPERATIVES.contains(&first);
    !is_imperative && ends(&["s", "ed", "ing", ":"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::Severity;

    #[test]
    fn an_imperative_passes() {
        for subject in ["Add a rule", "Bypass it", "Embed SQL", "Feed it", "Bring it back", "A", ""]
        {
            assert_eq!(wrong(subject).is_some(), subject.is_empty(), "{subject}");
        }
    }

    #[test]
    fn another_form_a_period_and_a_long_subject_fail() {
        for subject in ["Added a rule", "Adds a rule", "Adding it", "add it", "Tests: one", "End."]
        {
            assert!(wrong(subject).is_some(), "{subject}");
        }
        assert_eq!(wrong(&"A".repeat(71)), None);
        assert!(wrong(&"A".repeat(72)).is_some());
    }

    #[test]
    fn the_commit_is_named() {
        let finding = check_line("abc123 added a rule").unwrap();
        assert_eq!((finding.severity, finding.path.as_str()), (Severity::Failure, "commit abc123"));
        assert!(finding.message.contains("added a rule"), "{}", finding.message);
    }

    #[test]
    fn a_tree_without_the_commit_says_so_and_does_not_fail() {
        let findings = check(Path::new("/"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].severity, Severity::Warning);
        assert!(findings[0].message.contains("NOT CHECKED"));
    }
}
