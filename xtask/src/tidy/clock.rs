use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

const ALLOWED: &str = "queuekit-core/src/clock.rs";

/// The ways to read the wall clock, in std and in the crates we use or might.
const READS: &[&str] = &[
    "SystemTime::now",
    "UNIX_EPOCH.elapsed",
    "Timestamp::now",
    "Zoned::now",
    "Utc::now",
    "Local::now",
    "Uuid::now_v",
];

/// The wall clock is read in one file: everything else is handed the time, and a test can set it.
/// `Instant::now` is free: it measures how long something took and decides about no job.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let others = sources.iter().filter(|source| source.path != ALLOWED);
    others.flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let reads = source.code_lines().filter_map(|(number, line)| {
        let read = READS.iter().find(|read| line.contains(*read))?;
        let message = format!("`{read}` reads the wall clock outside of {ALLOWED}; use the clock");
        Some(Finding::at(&source.path, number, message))
    });
    reads.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: &str = "fn f() {\n    let now = std::time::SystemTime::now();\n}";

    #[test]
    fn a_read_anywhere_else_fails_with_its_line() {
        for path in ["queuekit-worker/src/beat.rs", "integration-tests/tests/memory.rs"] {
            let findings = check(&[Source::new(path, READ)]);
            assert_eq!(findings.len(), 1, "{path}");
            assert_eq!(findings[0].line, Some(2));
        }
    }

    #[test]
    fn the_clock_itself_instants_and_prose_pass() {
        assert_eq!(check(&[Source::new(ALLOWED, READ)]), []);
        let text = "// SystemTime::now is not for us\nlet started = Instant::now();";
        assert_eq!(check(&[Source::new("queuekit-worker/src/run.rs", text)]), []);
    }
}
