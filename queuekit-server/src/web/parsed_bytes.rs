//! The memory that parsed items take, which can be many times the JSON that they came in.
//!
//! A body is counted as it arrives. A list of small items takes up to 40 times its bytes once it is
//! parsed, and may then wait for its turn in the store. So a request takes memory for the most that
//! its body may become before it is parsed, and afterwards gives back what it does not hold.

use axum::http::StatusCode;
use queuekit::Metadata;
use queuekit::store::limits::METADATA_NAMES;

use super::memory_budget::RequestBudget;
use super::problem::Problem;
use crate::wire::BATCH;

/// A job or an event without its payload and metadata: its fields, their allocations, and the first
/// node of its metadata. Measured: 1.1 MB for 1,000 jobs with a name each.
const ITEM: usize = 1024;
/// A name of metadata and its value: its part of a node, and two allocations.
const NAME: usize = 128;
/// A report without its lines.
const REPORT: usize = 256;
/// A line of a log: its place in a list, and its allocation.
const LINE: usize = 64;

impl RequestBudget {
    /// Grows to the most that this body may take once it is parsed. If that is more than its key
    /// has, it is parsed if the key has nothing else.
    ///
    /// # Errors
    /// As for [`grow_to`](RequestBudget::grow_to).
    pub(crate) fn grow_to_parse(&mut self, body: &[u8]) -> Result<(), Problem> {
        self.grow_to(most_of(body).min(self.most_of_key()))
    }

    /// Sets the size to this: what a body takes now that it is parsed.
    ///
    /// # Errors
    /// 413 if it takes more than its key may ever have; else as for
    /// [`grow_to`](RequestBudget::grow_to).
    pub(crate) fn set_parsed(&mut self, bytes: usize) -> Result<(), Problem> {
        let most = self.most_of_key();
        if bytes > most {
            let detail = format!(
                "the items take {bytes} bytes of memory, and one key may have {most} \
                 (max_buffered_bytes): send fewer at once"
            );
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        self.shrink_to(bytes);
        self.grow_to(bytes)
    }
}

/// The most memory that a body may take once it is parsed: copies of what is in it, and what these
/// take besides. Each item has a brace, each name of metadata and its value four quotes, and each
/// line of a report two. The body is still there while it is parsed, but only few are at a time.
fn most_of(body: &[u8]) -> usize {
    let count = |wanted: u8| body.iter().filter(|byte| **byte == wanted).count();
    let items = count(b'{').min(BATCH);
    let names = (count(b'"') / 4).min(BATCH * METADATA_NAMES);
    body.len() + ITEM * items + NAME * names
}

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

    #[test]
    fn s6_what_a_body_may_become_is_never_less_than_what_it_becomes() {
        let name = |n: usize| format!(r#""{n}":"""#);
        let names: Vec<String> = (0..64).map(name).collect();
        let job = format!(r#"{{"kind":"t","payload":0,"metadata":{{{}}}}}"#, names.join(","));
        let metadata: Metadata = (0..64).map(|n| (n.to_string(), "")).collect();
        let jobs = |many: usize| format!(r#"{{"jobs":[{}]}}"#, vec![&*job; many].join(","));
        for many in [1, 10, 1000] {
            assert!(most_of(jobs(many).as_bytes()) >= many * of_item(b"0", &metadata), "{many}");
        }
        let lines = vec!["x".to_owned(); 100];
        let report = serde_json::json!({"token": "", "lines": lines}).to_string();
        let reports = format!(r#"{{"reports":[{}]}}"#, vec![&*report; 1000].join(","));
        assert!(most_of(reports.as_bytes()) >= 1000 * of_report(&lines));
        // A payload of many texts is one item.
        let texts = format!(r#"{{"kind":"t","payload":[{}""]}}"#, r#""{",""#.repeat(1 << 20));
        let most = texts.len() + BATCH * (ITEM + METADATA_NAMES * NAME);
        assert!(most_of(texts.as_bytes()) <= most);
    }
}
