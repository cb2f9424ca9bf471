//! `queuekit enqueue`

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use queuekit::jobs::JobFilter;
use queuekit::queues::QueuePatch;
use queuekit::store::BackendExt;
use queuekit::{Priority, QueueName, Status};

use crate::sandbox::Sandbox;

#[tokio::test]
async fn what_is_enqueued_is_stored_as_it_was_said() {
    let sandbox = Sandbox::new();
    let args = "enqueue mail --queue mails --priority high --delay 1h --partition-key ada \
                --idempotency-key k1 --max-attempts 7 --timeout 10s --metadata c=d=e";
    let args: Vec<&str> = args.split_whitespace().collect();
    let payload = r#"{"big": 12345678901234567890, "text":  "ä"}"#;
    let id = sandbox.run(&[&args[..], &["--payload", payload]].concat()).ok();
    let client = sandbox.store("queuekit.db").await;
    let job = client.jobs().get(id.trim().parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((job.queue.as_str(), job.kind.as_str()), ("mails", "mail"));
    assert_eq!(job.payload, payload.as_bytes(), "byte for byte");
    assert_eq!((job.priority, job.max_attempts), (Priority::HIGH, 7));
    assert_eq!(job.status, Status::Scheduled);
    assert_eq!(job.timeout.as_secs(), 10);
    assert_eq!(job.metadata.get("c"), Some("d=e"));
    assert_eq!(job.partition_key.unwrap().as_str(), "ada");
}

#[tokio::test]
async fn r13_11_it_waits_for_the_end_of_the_job() {
    let sandbox = Arc::new(Sandbox::new());
    let ran = sandbox.run(&["enqueue", "mail", "--wait=300ms"]);
    assert_eq!(ran.stdout.lines().count(), 1, "the id: {ran:?}");
    ran.failed(1, &["the job is ready after 300ms", "queuekit job watch"]);
    let enqueue = ["enqueue", "mail", "--idempotency-key", "k", "--wait"];
    let client = sandbox.store("queuekit.db").await;
    let waits = tokio::task::spawn_blocking({
        let sandbox = Arc::clone(&sandbox);
        move || sandbox.run(&enqueue)
    });
    let jobs = loop {
        let jobs = client.jobs().list(&JobFilter::default()).await.unwrap().items;
        if jobs.len() == 2 {
            break jobs;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    for job in jobs {
        assert!(client.jobs().dead_letter(job.id, "broken").await.unwrap());
    }
    let ran = waits.await.unwrap();
    assert!(ran.stdout.ends_with("dead  broken\n"), "{ran:?}");
    ran.failed(1, &[]);
}

#[test]
fn a_second_one_with_its_key_is_told_and_no_failure() {
    let sandbox = Sandbox::new();
    let enqueue = ["enqueue", "echo", "--idempotency-key", "invoice-42", "--json"];
    let first = sandbox.run(&enqueue).json();
    assert_eq!(first["outcome"], "created");
    let second = sandbox.run(&enqueue);
    assert_eq!(second.json()["outcome"], "duplicate");
    assert_eq!(second.json()["id"], first["id"]);
    second.failed(0, &["idempotency key"]);
}

#[test]
fn a_payload_comes_from_the_line_a_file_or_stdin() {
    let sandbox = Sandbox::new();
    sandbox.write("mail.json", "{\"to\": \"ada\"}\n");
    sandbox.run(&["enqueue", "echo", "--payload", "@mail.json"]).ok();
    sandbox.run_with_stdin(&["enqueue", "echo", "--payload", "-"], " [1, 2] ").ok();
    sandbox.run(&["enqueue", "echo", "--payload", "-1"]).ok();
    sandbox.run(&["enqueue", "echo"]).ok();
    let ran = sandbox.run(&["enqueue", "echo", "--payload", "@none.json"]);
    ran.failed(1, &["cannot read the file none.json"]);
}

#[test]
fn a_payload_that_is_no_json_is_refused_and_nothing_is_made() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["enqueue", "echo", "--payload", "{to: ada}"]);
    ran.failed(2, &["--payload is not JSON", "line 1 column 2", "single quotes"]);
    let ran = sandbox.run_with_stdin(&["enqueue", "echo", "--payload", "-"], "");
    ran.failed(2, &["stdin is not JSON"]);
    assert!(!sandbox.path("queuekit.db").exists());
}

#[test]
fn what_breaks_a_limit_is_refused_by_name() {
    let sandbox = Sandbox::new();
    for (args, said) in [
        (&["--queue", "a b"][..], "queue"),
        (&["--priority", "32"], "priority"),
        (&["--max-attempts", "0"], "1..=1000"),
        (&["--delay", "400d"], "366 days"),
        (&["--metadata", "x"], "NAME=VALUE"),
        (&["--count", "0"], "--count"),
        (&["--queue", "event.a"], "reserved"),
        (&["--delay", "1s", "--run-at", "2030-01-01T00:00:00Z"], "cannot be used with"),
        (&["--count", "2", "--idempotency-key", "a"], "cannot be used with"),
    ] {
        sandbox.run(&[&["enqueue", "echo"], args].concat()).failed(2, &[said]);
    }
    assert!(!sandbox.path("queuekit.db").exists());
}

#[test]
fn many_are_stored_in_steps_that_the_store_takes() {
    let sandbox = Sandbox::new();
    let ids = sandbox.run(&["enqueue", "echo", "--count", "1500"]).ok();
    assert_eq!(ids.lines().count(), 1500);
    let large = format!("\"{}\"", "x".repeat(1_000_000));
    sandbox.write("large.json", &large);
    let args = ["enqueue", "echo", "--payload", "@large.json", "--count", "10", "--json"];
    assert_eq!(sandbox.run(&args).ok().matches("\"outcome\":\"created\"").count(), 10);
}

#[tokio::test]
async fn a_full_queue_fails_and_tells_what_was_stored() {
    let sandbox = Sandbox::new();
    let client = sandbox.store("queuekit.db").await;
    let admin = client.backend().capabilities().admin.unwrap();
    let patch = QueuePatch::default().max_pending(2);
    admin.configure(&QueueName::default(), &patch).await.unwrap();
    let ran = sandbox.run(&["enqueue", "echo", "--count", "3"]);
    ran.failed(1, &["2 of 3 jobs were stored", "the queue is full", "try again in"]);
    assert_eq!(ran.stdout.lines().count(), 2);
}

#[tokio::test]
async fn a_reader_that_has_gone_away_is_no_failure_and_all_are_stored() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = sandbox.command(&["enqueue", "echo", "--count", "1001"]);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    let queues = sandbox.store("queuekit.db").await.backend().all_queues().await.unwrap();
    assert_eq!(queues[0].counts.get(Status::Ready).value, 1001);
}
