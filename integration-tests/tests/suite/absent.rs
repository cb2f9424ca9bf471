//! A harness whose server is not installed: its cases are skipped, with its reason.

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_conformance::{CASES, Harness, Verdict, World, run_case};

struct Absent;

#[async_trait]
impl Harness for Absent {
    async fn open(&self) -> Arc<dyn World> {
        panic!("opened a store that is not here");
    }

    async fn why_absent(&self) -> Option<String> {
        Some("no server is installed".to_owned())
    }
}

#[tokio::test]
async fn a_case_of_an_absent_store_is_skipped_with_the_reason() {
    let verdict = run_case(&Absent, &CASES[0]).await;
    assert_eq!(verdict, Verdict::Skipped("no server is installed".to_owned()));
}
