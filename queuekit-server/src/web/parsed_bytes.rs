//! The memory that parsed items take, which can be many times the JSON that they came in.
//!
//! A body is counted as it arrives. A list of small items takes up to 40 times its bytes once it is
//! parsed, and may then wait for its turn in the store. So a request grows its budget to what it
//! holds by then.

use queuekit::Metadata;

/// A job or an event without its payload and metadata: its fields, their allocations, and the first
/// node of its metadata. Measured: 1.1 MB for 1,000 jobs with a name each.
const ITEM: usize = 1024;
/// A name of metadata and its value: its part of a node, and two allocations.
const NAME: usize = 128;
/// A report without its lines.
const REPORT: usize = 256;
/// A line of a log: its place in a list, and its allocation.
const LINE: usize = 64;

/// The memory that a job or an event takes.
pub(crate) fn of_item(payload: &[u8], metadata: &Metadata) -> usize {
    ITEM + payload.len() + metadata.bytes() + NAME * metadata.len()
}

/// The memory that a report takes.
pub(crate) fn of_report(lines: &[String]) -> usize {
    REPORT + lines.iter().map(|line| LINE + line.len()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_small_items_count_far_more_than_their_bytes() {
        let names: Metadata = (0..64).map(|n| (n.to_string(), "")).collect();
        assert_eq!(of_item(b"null", &names), ITEM + 4 + 118 + 64 * NAME);
        let lines = vec!["x".to_owned(); 100];
        assert_eq!(of_report(&lines), REPORT + 100 * (LINE + 1));
    }
}
