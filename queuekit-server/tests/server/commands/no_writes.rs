//! A store that takes no writes: `doctor` and `/readyz` say so.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use queuekit_conformance::{skip, this_test};
use queuekit_integration_tests::servers::OwnRedis;
use tokio::runtime::Runtime;

use crate::commands::stored_data::Inside;
use crate::common::{Server, Store};
use crate::sandbox::Sandbox;

/// What `doctor` finds there with its remedies, and that it is an error.
fn finding(url: &str) -> String {
    let ran = Sandbox::new().run(&["doctor", "--json", "--url", url]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let report = ran.json();
    let findings = report["findings"].as_array().unwrap().iter();
    let errors = findings.filter(|finding| finding["severity"] == "error");
    let told = errors.map(|finding| format!("{} -> {}", finding["message"], finding["remedy"]));
    told.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_postgres_that_does_not_sync_is_told_with_and_without_a_schema() {
    let Some(store) = Store::of("postgres") else {
        return skip(this_test!(), "there is no postgres");
    };
    // Servers of tests do not sync.
    let told = finding(&store.url.replace("allow_volatile=on", ""));
    assert!(told.contains("fsync is off") && told.contains("set fsync = on"), "{told}");
    assert!(told.contains("no queuekit here"), "{told}");
    let told = finding(&store.url);
    assert!(told.contains("no queuekit here") && told.contains("queuekit migrate up"), "{told}");
    let sandbox = Sandbox::new();
    sandbox.run(&["migrate", "up", "--url", &store.url]).ok();
    let ran = sandbox.run(&["doctor", "--production", "--json", "--url", &store.url]);
    let report = ran.json();
    let mut findings = report["findings"].as_array().unwrap().iter();
    let found = findings.find(|found| found["message"].to_string().contains("fsync is off"));
    assert!(!found.expect("fsync").to_string().contains("migrate"), "{report}");
    let mut items = report["production"]["items"].as_array().unwrap().iter();
    let item = items.find(|item| item["name"] == "durability").expect("the item");
    assert_eq!(item["state"], "to_do", "{item}");
    assert!(item.to_string().contains("fsync"), "{item}");
}

#[test]
fn a_postgres_that_only_reads_is_unhealthy_and_not_ready() {
    let Some(store) = Store::of("postgres") else {
        return skip(this_test!(), "there is no postgres");
    };
    let (url, inside) = (store.url.clone(), Inside::of(&store));
    let server = Server::start(store, &[]);
    server.get("/readyz").send().expect(200);
    inside.says(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on',
            current_database()); END $$",
    );
    // The setting holds for new connections.
    inside.says(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    let ready = || server.get("/readyz").send();
    let refused = (0..500).map(|_| ready()).find(|reply| {
        std::thread::sleep(Duration::from_millis(20));
        reply.status == 503
    });
    let told = refused.expect("it takes no writes").text;
    assert!(told.contains("the store accepts no writes"), "{told}");
    server.get("/healthz").send().expect(200);
    assert!(finding(&url).contains("the server accepts no writes"), "{}", finding(&url));
}

#[test]
fn an_sqlite_file_whose_directory_is_full_is_unhealthy() {
    let store = Store::of("sqlite").unwrap();
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
    sandbox.run(&["migrate", "up"]).ok();
    // Its log cannot grow: the process may write no byte to a file.
    let mut limited = std::process::Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_queuekit");
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {binary} doctor --url '{}'", store.url);
    let ran = limited.args(["-c", &script]).current_dir(store.directory.path()).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(4), "{ran:?}");
    assert!(told.contains("not healthy"), "{told}");
    assert_eq!(sandbox.run(&["doctor"]).code, 0);
}

#[test]
fn a_redis_that_is_a_replica_or_asks_for_a_password_is_unhealthy() {
    let runtime = Runtime::new().unwrap();
    let started = runtime.block_on(async {
        let first = OwnRedis::settings().start().await?;
        let of = format!("127.0.0.1 {}", first.port());
        let replica = OwnRedis::settings().set("replicaof", of).start().await?;
        Some((first, replica))
    });
    let Some((first, replica)) = started else {
        return skip(this_test!(), "there is no redis");
    };
    let on = |server: &OwnRedis| format!("{}?allow_volatile=on", server.url());
    for url in [replica.url(), on(&replica)] {
        let told = finding(&url);
        assert!(told.contains("this is a replica"), "of an empty one too: {told}");
        assert!(told.contains("connect to its master"), "{told}");
    }
    Sandbox::new().run(&["migrate", "up", "--url", &on(&first)]).ok();
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", &on(&replica));
    let has_copied = |_| sandbox.run(&["migrate", "status"]).code == 0;
    assert!((0..500).any(has_copied), "it copies what the first has");
    let told = finding(&on(&replica));
    assert!(told.contains("replica"), "{told}");
    let mut set = TcpStream::connect(first.address()).unwrap();
    set.write_all(b"CONFIG SET requirepass hunter2\r\n").unwrap();
    assert_eq!(set.read(&mut [0; 5]).unwrap(), 5, "it is set");
    let told = finding(&on(&first));
    assert!(told.contains("NOAUTH") || told.contains("password"), "{told}");
}
