//! `queuekit work`

use std::time::Duration;

use queuekit::{JobId, State};

use crate::sandbox::Sandbox;

#[tokio::test]
async fn what_was_enqueued_is_worked() {
    let sandbox = Sandbox::new();
    let enqueue = ["enqueue", "echo", "--queue", "a", "--payload", "{\"n\": 1}"];
    let id: JobId = sandbox.run(&enqueue).ok().trim().parse().unwrap();
    sandbox.run(&["enqueue", "sleep", "--queue", "b", "--payload", "{\"ms\": 1}"]).ok();
    let ran = sandbox.run(&["work", "--queues", "a,b", "--until-idle", "--json"]);
    assert_eq!(ran.json()["completed"], 2);
    let client = sandbox.store("queuekit.db").await;
    let job = client.jobs().get(id).await.unwrap().unwrap();
    assert_eq!(job.result.as_deref(), Some(&b"{\"n\": 1}"[..]));
}

#[test]
fn handlers_that_the_file_does_not_name_are_off() {
    let sandbox = Sandbox::new();
    sandbox.write("queuekit.toml", "[handlers]\nenabled = ['sleep']\n");
    sandbox.run(&["enqueue", "echo"]).ok();
    let ran = sandbox.run(&["work", "--until-idle", "--json"]);
    assert_eq!(
        (ran.json()["completed"].as_u64(), ran.json()["released"].as_u64()),
        (Some(0), Some(1))
    );
}

#[tokio::test]
async fn a_second_signal_hands_on_at_once_what_runs() {
    let sandbox = Sandbox::new();
    let enqueue = ["enqueue", "sleep", "--payload", "{\"ms\": 60000}"];
    let id: JobId = sandbox.run(&enqueue).ok().trim().parse().unwrap();
    let mut work = sandbox.start(&["work", "--name", "mailer"]);
    work.says("working worker=mailer");
    let client = sandbox.store("queuekit.db").await;
    let job = async || client.jobs().get(id).await.unwrap().unwrap();
    while job().await.state != State::Running {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    work.signal("TERM");
    work.says("stopping");
    work.signal("INT");
    assert_eq!(work.line(), "0 completed, 1 released\n");
    assert_eq!(work.ended().0, Some(0));
    let job = job().await;
    assert_eq!((job.state, job.attempts), (State::Pending, 0), "no attempt is spent");
}

#[test]
fn logs_are_json_where_that_is_asked_for() {
    let sandbox = Sandbox::new().env("RUST_LOG", "debug");
    sandbox.run(&["enqueue", "sleep", "--payload", "{\"ms\": 90000}"]).ok();
    let ran = sandbox.run(&["work", "--until-idle", "--log-format", "json"]);
    let lines: Vec<serde_json::Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["fields"]["message"] == "a run failed"), "{lines:?}");
}

#[test]
fn a_worker_serves_its_metrics_and_its_health_where_it_is_told_to() {
    let sandbox = Sandbox::new();
    sandbox.run(&["enqueue", "echo", "--queue", "a", "--payload", "1"]).ok();
    sandbox.run(&["enqueue", "nobodys", "--queue", "a"]).ok();
    let mut work = sandbox.start(&["work", "--queues=a", "--metrics-listen=127.0.0.1:0"]);
    let said = work.says("serving metrics and health address=");
    let address = said.trim().rsplit_once("address=").unwrap().1;
    let get = |path: &str| ureq::get(format!("http://{address}{path}")).call();
    let body = |path: &str| get(path).ok()?.body_mut().read_to_string().ok();
    // Each comes with an answer of the store.
    while body("/readyz").as_deref() != Some("ok\n") {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(body("/healthz").as_deref(), Some("ok\n"));
    assert!(get("/v1/jobs").is_err(), "there is no API");
    let done = r#"queuekit_jobs_total{queue="a",kind="echo",outcome="completed"} 1"#;
    let released = r#"queuekit_jobs_total{queue="a",kind="_other",outcome="released"} 1"#;
    let metrics = loop {
        let metrics = body("/metrics").unwrap();
        if metrics.contains(done) && metrics.contains(released) {
            break metrics;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    for line in [
        "queuekit_slots 10",
        // From the start, so that Prometheus sees their first increase.
        "queuekit_leases_lost_total 0",
        "queuekit_stuck_total 0",
        r#"queuekit_job_wait_seconds_count{queue="a"} 2"#,
        r#"queuekit_job_run_seconds_count{queue="a",kind="echo"} 1"#,
        "queuekit_job_settle_seconds_count 1",
        r#"queuekit_store_call_seconds_count{operation="beat"} 1"#,
        r#"queuekit_store_call_items_bucket{operation="reserve",le="0"}"#,
        "# HELP queuekit_slots Jobs that the workers of this process can run at once",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    work.signal("TERM");
    assert_eq!(work.ended().0, Some(0));
}
