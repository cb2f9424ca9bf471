//! A program with a store of its own: the server and its command line, over a scheme of its own.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use queuekit::store::Backend;
use queuekit_conformance::{Layer, Wrapped};
use serde_json::{Value, json};

/// The store behind the scheme `mine` keeps its jobs in a file.
async fn open(opening: queuekit::Opening) -> queuekit::Result<queuekit::Client> {
    let file = opening.url.replacen("mine:", "sqlite:", 1);
    match opening.is_checked {
        true => queuekit::connect(&file).await,
        false => queuekit::connect_unchecked(&file).await,
    }
}

fn call(method: &str, url: &str, body: &Value) -> Result<Value, ureq::Error> {
    let request = ureq::http::Request::builder().method(method).uri(url);
    let request = request.header("content-type", "application/json").body(body.to_string());
    let mut answer = ureq::run(request.unwrap())?;
    Ok(serde_json::from_str(&answer.body_mut().read_to_string()?).unwrap_or_default())
}

fn command(args: &[&str]) -> ExitCode {
    queuekit_server::run([&["queuekit"], args].concat())
}

#[test]
fn a_registered_store_is_served_and_its_commands_work() {
    queuekit::register("mine", open).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let store = format!("mine://{}/jobs.db", directory.path().display());
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let serve = ["serve", "--url", &store, "--listen", &address].map(str::to_owned);
    let serving = thread::spawn(move || command(&serve.each_ref().map(String::as_str)));

    let at = |path: &str| format!("http://{address}{path}");
    let end = Instant::now() + Duration::from_secs(60);
    while call("GET", &at("/readyz"), &Value::Null).is_err() {
        assert!(!serving.is_finished() && Instant::now() < end, "the server did not start");
        thread::sleep(Duration::from_millis(20));
    }

    let job = call("POST", &at("/v1/jobs"), &json!({"kind": "greet"})).unwrap();
    let reserve = json!({"queues": ["default"], "limit": 1, "worker": "w", "wait_ms": 0});
    let leases = call("POST", &at("/v1/reserve"), &reserve).unwrap();
    let acks = json!({"acks": [{"token": leases["leases"][0]["token"]}]});
    assert_eq!(call("POST", &at("/v1/ack"), &acks).unwrap()["outcomes"][0]["outcome"], "acked");
    let id = job["id"].as_str().unwrap();
    let read = call("GET", &at(&format!("/v1/jobs/{id}")), &Value::Null).unwrap();
    assert_eq!(read["status"], "completed");

    let enqueue = ["enqueue", "by_command", "--queue", "other", "--url", &store];
    assert_eq!(command(&enqueue), ExitCode::SUCCESS);
    let server = at("");
    let cancel = ["job", "cancel", "kind:by_command", "--yes", "--server", &server];
    assert_eq!(command(&cancel), ExitCode::SUCCESS);
    let listed = call("GET", &at("/v1/queues/other/jobs"), &Value::Null).unwrap();
    assert_eq!(listed["jobs"][0]["status"], "cancelled", "{listed}");
    let unknown = ["job", "list", "--url", "nobodys:jobs.db"];
    assert_ne!(command(&unknown), ExitCode::SUCCESS);

    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
    assert_eq!(serving.join().unwrap(), ExitCode::SUCCESS);
}

/// A store whose `close` never returns, and blocks its thread.
#[derive(Debug)]
struct NeverCloses(Arc<dyn Backend>);

#[async_trait]
impl Layer for NeverCloses {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn close(&self) -> queuekit::Result<()> {
        thread::sleep(Duration::from_secs(600));
        Ok(())
    }
}

/// The store behind the scheme `blocking` blocks every thread of the runtime.
async fn open_and_block(_: queuekit::Opening) -> queuekit::Result<queuekit::Client> {
    for _ in 0..thread::available_parallelism().unwrap().get() * 2 {
        drop(tokio::spawn(async { thread::sleep(Duration::from_secs(600)) }));
    }
    let store = NeverCloses(Arc::new(queuekit::memory::MemoryStore::new()));
    Ok(queuekit::Client::new(Wrapped(store)))
}

#[test]
fn a_second_signal_ends_a_process_whose_threads_are_all_blocked() {
    const BLOCKED: &str = "QUEUEKIT_TEST_BLOCKED";
    if std::env::var_os(BLOCKED).is_some() {
        queuekit::register("blocking", open_and_block).unwrap();
        command(&["serve", "--url", "blocking:", "--listen", "127.0.0.1:0"]);
        return;
    }
    let mut blocked = Command::new(std::env::current_exe().unwrap());
    let this = "a_second_signal_ends_a_process_whose_threads_are_all_blocked";
    blocked.args([this, "--exact", "--nocapture"]).env(BLOCKED, "1").stdout(Stdio::piped());
    let mut blocked = blocked.spawn().unwrap();
    let mut stdout = BufReader::new(blocked.stdout.take().unwrap()).lines();
    let serves = stdout.any(|line| line.unwrap().contains(" serves "));
    assert!(serves, "it has not started");
    let pid = rustix::process::Pid::from_child(&blocked);
    // Two different ones: one that comes twice may count once.
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        rustix::process::kill_process(pid, signal).unwrap();
    }
    let end = Instant::now() + Duration::from_secs(60);
    let ended = loop {
        match blocked.try_wait().unwrap() {
            None if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            ended => break ended,
        }
    };
    let _ = blocked.kill();
    let _ = blocked.wait();
    assert_eq!(ended.expect("it ends by itself").code(), Some(1));
}
