//! Keeps the tables of `docs/observability.md` equal to the lists of metrics.

use queuekit::metrics::{METRICS, Metric, MetricKind, MetricUnit};

use super::catalog::{SERVER, STORE};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/observability.md");

#[test]
fn docs_observability_md_lists_every_metric() {
    let found = std::fs::read_to_string(PATH).unwrap();
    let tables = [("workers", METRICS), ("servers", SERVER), ("stores", STORE)];
    let wanted = tables.iter().fold(found.clone(), |page, (name, metrics)| {
        let (before, rest) = page.split_once(&format!("<!-- metrics of {name} -->\n")).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        let table = table(metrics);
        format!("{before}<!-- metrics of {name} -->\n\n{table}\n<!-- end -->{after}")
    });
    if std::env::var_os("QUEUEKIT_WRITE_DOCS").is_some() {
        std::fs::write(PATH, &wanted).unwrap();
    } else {
        let how = "run this test with QUEUEKIT_WRITE_DOCS=1";
        assert!(found == wanted, "docs/observability.md is outdated: {how}");
    }
}

/// Guard: a name that differs from its unit or kind misleads people who write queries.
#[test]
fn a_name_says_what_a_metric_is_and_is_there_once() {
    let all: Vec<&Metric> = [METRICS, SERVER, STORE].concat().leak().iter().collect();
    for metric in &all {
        let Metric { name, kind, .. } = metric;
        assert!(name.starts_with("queuekit_"), "{name}");
        assert_eq!(*kind == MetricKind::Counter, name.ends_with("_total"), "{name}");
        assert_eq!(all.iter().filter(|other| other.name == *name).count(), 1, "{name}");
        assert!(!metric.help.ends_with('.') && !metric.help.contains('|'), "{name}");
    }
}

fn table(metrics: &[Metric]) -> String {
    let row = |metric: &Metric| {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram(_) => "histogram",
        };
        let unit = if metric.unit() == MetricUnit::Seconds { "seconds" } else { "number" };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, labels, help) = (metric.name, labels.join(", "), metric.help);
        format!("| `{name}` | {kind} | {unit} | {labels} | {help} |\n")
    };
    let rows: String = metrics.iter().map(row).collect();
    format!("| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n{rows}")
}
