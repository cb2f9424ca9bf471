use std::collections::BTreeMap;

/// How many reasons for skips the summary shows.
const REASONS_SHOWN: usize = 20;

/// What tests have said of themselves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub passed: usize,
    /// Their names.
    pub failed: Vec<String>,
    /// Each with its reason: those that passed without having run. They count as passed too.
    pub skipped: Vec<String>,
}

impl Report {
    /// Reads what libtest prints of each test, and what the tests themselves say.
    pub(crate) fn of(output: &str) -> Self {
        let mut report = Self::default();
        for line in output.lines() {
            if let Some(at) = line.find("SKIPPED ") {
                report.skipped.push(line[at + "SKIPPED ".len()..].to_owned());
            }
            let Some(test) = line.strip_prefix("test ") else { continue };
            if test.ends_with(" ok") {
                report.passed += 1;
            } else if let Some((name, _)) = test.split_once(" ... FAILED") {
                report.failed.push(name.to_owned());
            }
        }
        report
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// For the summary: how many there were, and why some were skipped.
    pub(crate) fn lines(&self) -> Vec<String> {
        let skipped = self.skipped.len();
        let mut lines = vec![format!(
            "tests: {} passed, {} failed, {skipped} skipped",
            self.passed - skipped.min(self.passed),
            self.failed.len()
        )];
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for skipped in &self.skipped {
            let why = skipped.split_once(": ").map_or(skipped.as_str(), |(_, why)| why);
            *reasons.entry(why).or_default() += 1;
        }
        let shown = reasons.iter().take(REASONS_SHOWN);
        lines.extend(shown.map(|(why, times)| format!("WARNING: SKIPPED {times}: {why}")));
        if reasons.len() > REASONS_SHOWN {
            lines.push(format!("WARNING: and for {} more reasons", reasons.len() - REASONS_SHOWN));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 4 tests
test conformance::fence::r3_3_one ... ok
test conformance::fence::r3_3_two ... FAILED
SKIPPED model::redis: there is no Redis server
test model::redis ... ok
test kill ... SKIPPED kill: there is no Redis server
ok
failures:
";

    #[test]
    fn each_test_is_counted_and_a_skip_is_seen_wherever_it_stands() {
        let report = Report::of(OUTPUT);
        assert_eq!(report.passed, 2);
        assert_eq!(report.failed, ["conformance::fence::r3_3_two"]);
        assert_eq!(report.skipped.len(), 2);
    }

    #[test]
    fn the_summary_counts_skips_by_their_reason_and_not_as_passed() {
        let lines = Report::of(OUTPUT).lines();
        assert_eq!(lines[0], "tests: 0 passed, 1 failed, 2 skipped");
        assert_eq!(lines[1], "WARNING: SKIPPED 2: there is no Redis server");
    }
}
