use std::fs;
use std::path::Path;

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

const ALERTS: &str = "deploy/monitoring/alerts.yaml";
const TESTS: &str = "deploy/monitoring/alerts_test.yaml";
const DASHBOARD: &str = "deploy/monitoring/dashboard.json";
/// Has the tables of metrics, which a test keeps equal to the code, and the runbooks.
const METRICS_PAGE: &str = "docs/observability.md";
/// Has the help of every command, which a test keeps equal to the program.
const COMMANDS_PAGE: &str = "docs/cli.md";

/// What Prometheus adds to each series.
const LABELS_OF_PROMETHEUS: [&str; 2] = ["job", "instance"];

/// Alerts and the dashboard use metrics, labels and commands that exist: Prometheus takes a query
/// of a metric that does not exist, and its alert never fires.
pub(crate) fn check(root: &Path, tree: &Tree) -> Vec<Finding> {
    let page = |path| tree.page(path).unwrap_or_default();
    let metrics = metrics(page(METRICS_PAGE));
    let read = |path: &'static str| fs::read_to_string(root.join(path)).map_err(|_| path);
    let files = [ALERTS, TESTS, DASHBOARD].map(|path| read(path).map(|text| (path, text)));
    let mut findings = Vec::new();
    for file in &files {
        match file {
            Ok((path, text)) => findings.extend(unknown_metrics(path, text, &metrics)),
            Err(path) => findings.push(Finding::file(path, "cannot be read")),
        }
    }
    if let [Ok((_, alerts)), Ok((_, tests)), _] = &files {
        findings.extend(unknown_commands(alerts, page(COMMANDS_PAGE)));
        findings.extend(incomplete_alerts(alerts, tests, page(METRICS_PAGE)));
    }
    findings
}

/// A row of a table of metrics.
struct Metric<'a> {
    name: &'a str,
    is_histogram: bool,
    labels: Vec<&'a str>,
}

fn metrics(page: &str) -> Vec<Metric<'_>> {
    let rows = page.lines().filter(|line| line.starts_with("| `queuekit_"));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (name, kind, _unit) = (cells.next()?, cells.next()?, cells.next()?);
        let labels = cells.next()?.split(", ").map(|label| label.trim_matches('`'));
        let labels = labels.filter(|label| !label.is_empty()).collect();
        Some(Metric { name: name.trim_matches('`'), is_histogram: kind == "histogram", labels })
    })
    .collect()
}

impl Metric<'_> {
    /// Whether a series of this name is one of this metric.
    fn has_series(&self, name: &str) -> bool {
        match name.strip_prefix(self.name) {
            Some("_bucket" | "_sum" | "_count") => self.is_histogram,
            Some("") => !self.is_histogram,
            _ => false,
        }
    }

    fn labels_of(&self, series: &str) -> Vec<&str> {
        let le = series.ends_with("_bucket").then_some("le");
        self.labels.iter().copied().chain(LABELS_OF_PROMETHEUS).chain(le).collect()
    }
}

fn unknown_metrics(path: &str, text: &str, metrics: &[Metric<'_>]) -> Vec<Finding> {
    let found = expressions(text).into_iter().flat_map(|(first, expression)| {
        let messages = unknown_in(&expression, metrics);
        let at_line = move |(at, message): (usize, String)| {
            Finding::at(path, first + lines_before(&expression, at), message)
        };
        messages.into_iter().map(at_line).collect::<Vec<_>>()
    });
    found.collect()
}

/// What an expression names and no metric has, and where.
fn unknown_in(expression: &str, metrics: &[Metric<'_>]) -> Vec<(usize, String)> {
    let mut unknown = Vec::new();
    let mut known = Vec::new();
    for (at, name) in series(expression) {
        let Some(metric) = metrics.iter().find(|metric| metric.has_series(name)) else {
            unknown.push((at, format!("{METRICS_PAGE} has no series `{name}`")));
            continue;
        };
        let labels = metric.labels_of(name);
        let mut selected = labels_in_braces(&expression[at + name.len()..]);
        selected.retain(|label| !labels.contains(label));
        let message = |label| (at, format!("`{name}` has no label `{label}`"));
        unknown.extend(selected.into_iter().map(message));
        known.extend(labels);
    }
    if !known.is_empty() {
        let mut grouped = labels_of_groups(expression);
        grouped.retain(|(_, label)| !known.contains(label));
        let message = |label| format!("no metric of this expression has the label `{label}`");
        unknown.extend(grouped.into_iter().map(|(at, label)| (at, message(label))));
    }
    unknown
}

/// The expressions with their first lines: from a line to the next that is not indented more. What
/// is in no expression is one of a line.
fn expressions(text: &str) -> Vec<(usize, String)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = None;
    for (number, line) in (1..).zip(text.lines()) {
        let continues = open.is_some_and(|start| indent(line) > start);
        if continues && let Some((_, last)) = found.last_mut() {
            last.push('\n');
            last.push_str(line);
            continue;
        }
        open = line.trim_start_matches([' ', '-']).starts_with("expr:").then(|| indent(line));
        found.push((number, line.to_owned()));
    }
    found
}

/// Where names of our series begin.
fn series(text: &str) -> Vec<(usize, &str)> {
    let begins = text.match_indices("queuekit_").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| is_of_name(c) || c == '.' || c == '/')
    });
    begins.map(|(at, _)| (at, name_at(&text[at..]))).collect()
}

/// The labels of `{queue="a", status=~"b|c"}` right at the start; quotes may be escaped.
fn labels_in_braces(text: &str) -> Vec<&str> {
    let Some(rest) = text.strip_prefix('{') else { return Vec::new() };
    let mut labels = Vec::new();
    for (n, part) in rest.split('"').enumerate() {
        let is_outside = n % 2 == 0;
        if is_outside && part.contains('}') {
            break;
        }
        let label = part.trim_start_matches(|c| !is_of_name(c));
        if is_outside && !label.is_empty() {
            labels.push(name_at(label));
        }
    }
    labels
}

/// Those of `by (a, b)` and `on (a)`.
fn labels_of_groups(text: &str) -> Vec<(usize, &str)> {
    let groups = ["by (", "on ("].into_iter().flat_map(|word| text.match_indices(word));
    let inside = groups.filter_map(|(at, word)| {
        let list = &text[at + word.len()..];
        Some((at, list.split_once(')')?.0))
    });
    let labels = inside.flat_map(|(at, list)| list.split(',').map(move |label| (at, label.trim())));
    labels.filter(|(_, label)| !label.is_empty()).collect()
}

fn unknown_commands(alerts: &str, page: &str) -> Vec<Finding> {
    let sections: Vec<(&str, &str)> =
        page.split("\n## ").filter_map(|section| section.split_once('\n')).collect();
    let lacks = |command: &str| -> Option<String> {
        let begins = |name: &str| {
            command.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let found =
            sections.iter().filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len());
        let is_group =
            |name: &str| sections.iter().any(|(other, _)| other.starts_with(&format!("{name} ")));
        match found {
            Some((name, help)) if !is_group(name) => {
                let mut flags = command.split(' ').filter(|word| word.starts_with("--"));
                let flag = flags.find(|flag| !help.contains(*flag))?;
                Some(format!("`{name}` has no flag `{flag}`"))
            }
            _ => Some(format!("{COMMANDS_PAGE} has no command `{command}`")),
        }
    };
    commands(alerts)
        .into_iter()
        .filter_map(|(line, command)| Some(Finding::at(ALERTS, line, lacks(&command)?)))
        .collect()
}

/// What stands in backticks and begins with the name of the program, also across lines.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (n, part) in text.split('`').enumerate() {
        let words: Vec<&str> = part.split_whitespace().collect();
        if n % 2 == 1 && words.len() > 1 && words[0] == "queuekit" {
            found.push((1 + lines_before(text, at), words.join(" ")));
        }
        at += part.len() + 1;
    }
    found
}

/// Each alert says what it is, names a command, and has a test and a runbook.
fn incomplete_alerts(alerts: &str, tests: &str, page: &str) -> Vec<Finding> {
    let mut at = 0;
    let mut findings = Vec::new();
    for (n, alert) in alerts.split("- alert: ").enumerate() {
        let line = 1 + lines_before(alerts, at);
        at += alert.len() + "- alert: ".len();
        let name = name_at(alert);
        let needs = [
            (alert.contains("severity: "), "a severity"),
            (alert.contains("summary: "), "a summary"),
            (alert.contains("description: "), "a description"),
            (!commands(alert).is_empty(), "a command that tells more, in backticks"),
            (tests.contains(&format!("alertname=\"{name}\"")), "a test in alerts_test.yaml"),
            (page.contains(&format!("\n### {name}\n")), "a runbook in docs/observability.md"),
        ];
        let missing = needs.iter().filter(|(is_there, _)| n > 0 && !is_there);
        let message = |what| format!("{name} needs {what}");
        findings.extend(missing.map(|(_, what)| Finding::at(ALERTS, line, message(what))));
    }
    findings
}

fn lines_before(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count()
}

fn name_at(text: &str) -> &str {
    &text[..text.find(|c| !is_of_name(c)).unwrap_or(text.len())]
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Metrics\n\n\
        | `queuekit_jobs` | gauge | number | `queue`, `status` | Jobs |\n\
        | `queuekit_wait_seconds` | histogram | seconds | `queue` | Wait |\n\
        | `queuekit_up` | gauge | number |  | Up |\n\n### Gone\n\nAll is lost.\n";

    fn messages(expression: &str) -> Vec<String> {
        let text = format!("groups:\n  - expr: >-\n      {expression}\n    for: 5m\n");
        let found = unknown_metrics("a.yaml", &text, &metrics(PAGE)).into_iter();
        found.map(|finding| format!("{}: {}", finding.line.unwrap(), finding.message)).collect()
    }

    #[test]
    fn series_and_labels_of_the_tables_pass() {
        for expression in [
            "sum by (queue, le) (rate(queuekit_wait_seconds_bucket{le=\"1\", job=\"a\"}[5m]))",
            "min by (queue) (queuekit_jobs{status=~\"a|x=\",\n      queue!=\"b\"}) * queuekit_up",
            "\"queuekit_jobs{queue=~\\\"$queue\\\", status=\\\"a\\\"}\"",
            "up{job=~\"queuekit.*\"} == 0 and max by (alertname) (ALERTS)",
        ] {
            assert_eq!(messages(expression), [""; 0], "{expression}");
        }
    }

    #[test]
    fn a_series_or_a_label_that_does_not_exist_is_found_at_its_line() {
        let one = |expression, message: &str| assert_eq!(messages(expression), [message]);
        one("queuekit_job > 0", "3: docs/observability.md has no series `queuekit_job`");
        let bare = "3: docs/observability.md has no series `queuekit_wait_seconds`";
        one("rate(queuekit_wait_seconds[5m])", bare);
        one("queuekit_up_bucket", "3: docs/observability.md has no series `queuekit_up_bucket`");
        let label = "4: `queuekit_jobs` has no label `state`";
        one("1 +\n      queuekit_jobs{queue=\"a\", state=\"b\"}", label);
        let quoted = "\"queuekit_jobs{kind=\\\"a\\\"}\"";
        one(quoted, "3: `queuekit_jobs` has no label `kind`");
        let group = "3: no metric of this expression has the label `kind`";
        one("max by (queue,\n      kind) (queuekit_jobs)", group);
    }

    #[test]
    fn a_command_or_a_flag_that_does_not_exist_is_found() {
        let page =
            "# A\n\n## queuekit job\n\n## queuekit job why\n\n--json\n\n## queuekit work\n\n";
        let findings = |alert: &str| unknown_commands(&format!("a\n{alert}"), page);
        for alert in ["`queuekit job\n  why ID`", "`queuekit job why --json`", "queuekit, `read`"] {
            assert_eq!(findings(alert), [], "{alert}");
        }
        for alert in
            ["`queuekit job`", "`queuekit job whyever`", "`queuekit work --json`", "`queuekit x`"]
        {
            assert_eq!(findings(alert).len(), 1, "{alert}");
            assert_eq!(findings(alert)[0].line, Some(2));
        }
    }

    #[test]
    fn an_alert_has_a_severity_texts_a_command_a_test_and_a_runbook() {
        let alert = "rules:\n  - alert: Gone\n    severity: info\n    summary: a\n    \
                     description: run `queuekit stats`\n";
        let tests = "ALERTS{alertname=\"Gone\"}";
        assert_eq!(incomplete_alerts(alert, tests, PAGE), []);
        let lacking = |alert: &str, tests, page| incomplete_alerts(alert, tests, page).len();
        for part in ["severity: ", "summary: ", "description: ", "queuekit stats"] {
            assert_eq!(lacking(&alert.replace(part, ""), tests, PAGE), 1, "{part}");
        }
        assert_eq!(lacking(alert, "", PAGE), 1);
        assert_eq!(lacking(alert, tests, ""), 1);
        assert_eq!(incomplete_alerts(alert, "", PAGE)[0].line, Some(2));
    }
}
