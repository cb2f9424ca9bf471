//! `queuekit dev`

use std::time::Duration;

use queuekit::Status;
use queuekit::jobs::{JobFilter, StatusSet};

use crate::sandbox::Sandbox;

#[tokio::test]
async fn demo_jobs_of_every_fate_are_there_once_and_run() {
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", "sqlite://in-use.db");
    for _ in 0..2 {
        let mut dev = sandbox.start(&["dev", "--listen", "127.0.0.1:0"]);
        let line = dev.line();
        assert!(line.ends_with(" serves sqlite://queuekit-dev.db\n"), "{line}");
        dev.says("/ui in a browser");
        dev.says("/v1/jobs?queue=demo");
        dev.says("/v1/queues/demo");
        let client = sandbox.store("queuekit-dev.db").await;
        let demo = JobFilter::default().queue("demo");
        let jobs = async || client.jobs().list(&demo).await.unwrap().items;
        assert_eq!(jobs().await.len(), 7);
        let dead = async || jobs().await.iter().any(|job| job.status == Status::Dead);
        while !dead().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let sold = async || client.queues().get("emails").await.unwrap().unwrap().totals;
        while sold().await.enqueued == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        dev.signal("INT");
        let (code, said) = dev.ended();
        assert_eq!(code, Some(0), "{said}");
        let seen: StatusSet = jobs().await.iter().map(|job| job.status).collect();
        assert!(seen.contains(Status::Completed) && seen.contains(Status::Scheduled), "{seen:?}");
    }
    assert!(!sandbox.path("in-use.db").exists(), "the environment does not name its store");
}
