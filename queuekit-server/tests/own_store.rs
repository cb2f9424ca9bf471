//! A program with a store of its own: the server and its command line, over a scheme of its own.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::TcpListener;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

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
