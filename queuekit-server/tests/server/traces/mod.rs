//! Traces: a collector sees which call has enqueued what runs in another process.

mod collector;

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use queuekit::postgres::tokio_postgres;
use queuekit::{JobDraft, JobId, TraceContext};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::common::{Server, Store, command};
use crate::sandbox::Sandbox;
use collector::{Collector, attribute, continues};

/// A span of another program.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// Of spans, as OTLP numbers them.
const PRODUCER: u32 = 4;
const CONSUMER: u32 = 5;

fn sandbox(collector: &Collector) -> Sandbox {
    Sandbox::new()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_SERVICE_NAME", "queuekit-test")
}

/// Runs what can run now in this queue, in a process of its own.
#[track_caller]
fn work(store: &Store, queue: &str, collector: &Collector) {
    let mut worker = command(store);
    worker.args(["work", "--until-idle", "--queues", queue, "--url", &store.url]);
    let ran = worker.args(["--otlp-endpoint", &collector.url]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Guard: the level of logs is not that of traces.
#[tokio::test]
async fn each_run_continues_the_trace_of_the_command_that_enqueued_its_job() {
    let collector = Collector::start();
    let sandbox = sandbox(&collector).env("RUST_LOG", "off");
    let fail = "[handlers]\nenabled = ['exec']\n[handlers.exec.commands.t]\n\
                program = '/bin/sh'\nargs = ['-c', 'echo hunter2 >&2; exit 1']\n";
    sandbox.write("queuekit.toml", fail);
    let enqueue = ["enqueue", "exec.t", "--payload", "\"marker\"", "--max-attempts", "2"];
    let id: JobId = sandbox.run(&enqueue).ok().trim().parse().unwrap();
    let client = sandbox.store("queuekit.db").await;
    for _ in 0..2 {
        sandbox.run(&["work", "--until-idle", "--config", "queuekit.toml"]).ok();
        let _ = client.jobs().reschedule(id, Duration::ZERO).await;
    }
    let root = collector.span("queuekit enqueue");
    assert_eq!(root["parentSpanId"], Value::Null);
    let sent = collector.span("send default");
    assert_eq!((&sent["kind"], &sent["parentSpanId"]), (&json!(PRODUCER), &root["spanId"]));
    let (trace, sender) = (root["traceId"].as_str().unwrap(), sent["spanId"].as_str().unwrap());
    let runs = collector.spans("process default", 2);
    for (run, (attempt, outcome)) in runs.iter().zip([("1", "failed"), ("2", "dead")]) {
        continues(run, trace, sender);
        assert_eq!(run["kind"], CONSUMER);
        assert_eq!(run["status"], json!({"code": 2, "message": ""}));
        for (key, value) in [
            ("messaging.system", "queuekit"),
            ("messaging.destination.name", "default"),
            ("messaging.message.id", &id.to_string()),
            ("queuekit.kind", "exec.t"),
            ("queuekit.attempt", attempt),
            ("queuekit.outcome", outcome),
        ] {
            assert_eq!(attribute(run, key), value, "{key} of {run}");
        }
    }
    let job = client.jobs().get(id).await.unwrap().unwrap();
    assert!(job.errors[0].error.as_str().contains("hunter2"), "{job:?}");
    for secret in ["hunter2", "marker", "traceparent"] {
        assert!(!collector.text().contains(secret), "{secret} in {}", collector.text());
    }
}

#[test]
fn a_server_is_between_its_caller_and_the_run() {
    let collector = Collector::start();
    let store = Store::of("sqlite").unwrap();
    let server = Server::start(store, &["--otlp-endpoint", &collector.url]);
    let send = |path: &str, body: &Value| {
        server.ask("POST", path).header("traceparent", PARENT).json(body).expect(201).value()
    };
    let stored = send("/v1/jobs", &json!({"kind": "echo", "queue": "a"}));
    server.ask("PUT", "/v1/subscriptions/b").json(&json!({"events": "*"})).expect(201);
    send("/v1/events", &json!({"type": "echo"}));
    for (name, queue) in [("send a", "a"), ("send", "event.b")] {
        work(&server.store, queue, &collector);
        let sent = collector.span(name);
        assert_eq!(sent["kind"], PRODUCER);
        assert_eq!((&sent["traceId"], &sent["parentSpanId"]), (&TRACE.into(), &SPAN.into()));
        let run = collector.span(&format!("process {queue}"));
        continues(&run, TRACE, sent["spanId"].as_str().unwrap());
        assert_eq!(attribute(&run, "queuekit.outcome"), "completed");
    }
    let sent = collector.span("send a");
    let carried = format!("00-{TRACE}-{}-01", sent["spanId"].as_str().unwrap());
    assert_eq!(stored["job"]["metadata"]["traceparent"], carried);
    // Jobs may name their spans themselves.
    let jobs = json!([{"kind": "echo", "queue": "c", "metadata": {"traceparent": PARENT}}]);
    server.ask("POST", "/v1/jobs").json(&json!({"jobs": jobs})).expect(201);
    work(&server.store, "c", &collector);
    continues(&collector.span("process c"), TRACE, SPAN);
    assert_eq!(attribute(&collector.span("send c"), "messaging.batch.message_count"), "1");
}

/// Guard: a command that asks a server passes its span on.
#[test]
fn a_command_by_way_of_a_server_is_in_the_trace_of_its_job() {
    let collector = Collector::start();
    let store = Store::of("sqlite").unwrap();
    let server = Server::start(store, &["--otlp-endpoint", &collector.url]);
    let enqueue = ["enqueue", "echo", "--server", &server.url];
    sandbox(&collector).run(&enqueue).ok();
    work(&server.store, "default", &collector);
    let (root, sent) = (collector.span("queuekit enqueue"), collector.span("send default"));
    assert_eq!(sent["parentSpanId"], root["spanId"]);
    let trace = root["traceId"].as_str().unwrap();
    continues(&collector.span("process default"), trace, sent["spanId"].as_str().unwrap());
}

#[tokio::test]
async fn the_jobs_of_a_rust_program_continue_its_trace() {
    let collector = Collector::start();
    let sandbox = sandbox(&collector);
    let client = sandbox.store("queuekit.db").await;
    let client = client.trace_context(|| TraceContext::parse(PARENT, Some("a=b")));
    client.enqueue(JobDraft::new("echo", "{}")).await.unwrap();
    // A collector is not sent what its program does not sample.
    let unsampled = PARENT.replace("-01", "-00");
    let quiet = JobDraft::new("echo", "{}").metadata([("traceparent", unsampled)]);
    client.enqueue(quiet).await.unwrap();
    sandbox.run(&["work", "--until-idle"]).ok();
    let run = collector.span("process default");
    continues(&run, TRACE, SPAN);
    assert_eq!(run["traceState"], "a=b");
}

#[test]
fn the_jobs_of_other_languages_continue_their_traces() {
    let python = format!(
        "from queuekit import Client; \
         Client().enqueue('echo', queue='py', metadata={{'traceparent': '{PARENT}'}})"
    );
    let node = format!(
        "import {{ Client }} from './index.js'; \
         await new Client().enqueue('echo', 1, \
         {{ queue: 'js', metadata: {{ traceparent: '{PARENT}' }} }});"
    );
    let node = ["--input-type=module", "-e", &node];
    let collector = Collector::start();
    let store = Store::of("sqlite").unwrap();
    let server = Server::start(store, &[]);
    for (client, program, args) in
        [("python", "python3", &["-B", "-c", &python][..]), ("node", "node", &node[..])]
    {
        let test = format!("a trace of the client in {client}");
        let Some(program) = queuekit_conformance::program(&test, program) else { continue };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(client);
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).env("QUEUEKIT_SERVER", &server.url);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let queue = if client == "python" { "py" } else { "js" };
        work(&server.store, queue, &collector);
        continues(&collector.span(&format!("process {queue}")), TRACE, SPAN);
    }
}

#[test]
fn a_job_that_sql_has_enqueued_continues_its_trace() {
    let test = "a_job_that_sql_has_enqueued_continues_its_trace";
    let Some(store) = Store::of("postgres") else {
        return queuekit_conformance::skip(test, "there is no postgres");
    };
    Runtime::new().unwrap().block_on(enqueue_by_sql(&store));
    let collector = Collector::start();
    work(&store, "default", &collector);
    continues(&collector.span("process default"), TRACE, SPAN);
}

async fn enqueue_by_sql(store: &Store) {
    queuekit::connect(&store.url).await.unwrap().close().await.unwrap();
    let url = store.url.replace("allow_volatile=on", "");
    let url = url.trim_end_matches(['?', '&']);
    let (psql, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let connected = tokio::spawn(connection);
    psql.batch_execute("SELECT queuekit.create_queue('default')").await.unwrap();
    let metadata = json!({"traceparent": PARENT});
    let enqueue =
        format!("SELECT queuekit.enqueue('default', 'echo', '1', metadata => '{metadata}')");
    psql.batch_execute(&enqueue).await.unwrap();
    drop(psql);
    connected.await.unwrap().unwrap();
}

/// Guard: the exporter has a bound for its last spans, and jobs do not wait for it.
#[test]
fn a_collector_that_does_not_answer_delays_no_job_and_no_drain_for_long() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [url, format!("http://{gone}")] {
        let sandbox = Sandbox::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
        let sandbox = sandbox.env("OTEL_BSP_SCHEDULE_DELAY", "1");
        sandbox.run(&["enqueue", "echo", "--count", "3000"]).ok();
        let begun = Instant::now();
        let mut work = sandbox.start(&["work", "--until-idle", "--json"]);
        let ran: Value = serde_json::from_str(&work.line()).unwrap();
        assert_eq!(ran["completed"], 3000);
        let worked = begun.elapsed();
        assert_eq!(work.ended().0, Some(0));
        // A request would be given up after 10 s.
        assert!(begun.elapsed() - worked < Duration::from_secs(6), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_wrong_collector_is_a_usage_error() {
    let ran = Sandbox::new().run(&["enqueue", "echo", "--otlp-endpoint", "localhost:4318"]);
    ran.failed(2, &["--otlp-endpoint must be a URL such as http://localhost:4318"]);
}
