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
    assert_eq!(work.line(), "0 completed, 1 handed on\n");
    assert_eq!(work.ended().0, Some(0));
    let job = job().await;
    assert_eq!((job.state, job.attempts), (State::Pending, 0), "no attempt is spent");
}

#[test]
fn logs_are_json_where_that_is_asked_for() {
    let sandbox = Sandbox::new().env("RUST_LOG", "debug");
    sandbox.run(&["enqueue", "sleep", "--payload", "{\"ms\": \"x\"}"]).ok();
    let ran = sandbox.run(&["work", "--until-idle", "--log-format", "json"]);
    let lines: Vec<serde_json::Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["fields"]["message"] == "a run failed"), "{lines:?}");
}
