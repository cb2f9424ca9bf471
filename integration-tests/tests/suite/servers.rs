//! Servers for tests come up, do what tests want of them, and go with the process that wanted them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use queuekit_conformance::this_test;
use queuekit_integration_tests::crash::until;
use queuekit_integration_tests::servers::{self, Mode, OwnServer, PgBouncer, Proxy};
use tokio_postgres::{Client, Config, NoTls};

/// Tells the process that a test starts what it is to do; it is this program again.
const CHILD: &str = "QUEUEKIT_SERVERS_CHILD";
/// On a busy machine.
const SOON: Duration = Duration::from_secs(20);

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = url.parse::<Config>()?.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn connected(url: &str) -> Client {
    connect(url).await.expect("the server answers")
}

async fn count(client: &Client) -> i64 {
    client.query_one("SELECT count(*) FROM t", &[]).await.expect("rows are counted").get(0)
}

#[tokio::test]
async fn each_test_has_a_database_of_its_own() {
    let Some(server) = servers::postgres() else { return };
    let (one, other) = tokio::join!(server.database(), server.database());
    let client = connected(&one.url()).await;
    client.batch_execute("CREATE TABLE t (i int)").await.expect("one has a table");
    assert_eq!(count(&client).await, 0);
    let elsewhere = connected(&other.url()).await;
    assert!(elsewhere.query("SELECT FROM t", &[]).await.is_err(), "the other has none");
    // There are connections to both.
    let url = one.url();
    one.drop().await;
    other.drop().await;
    assert!(connect(&url).await.is_err(), "it is gone");
}

/// Every time limit is over at once where the clock is paused, but not for servers.
#[tokio::test(start_paused = true)]
async fn a_paused_clock_does_not_matter() {
    let Some(server) = servers::postgres() else { return };
    server.database().await.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_tests_share_one_server() {
    let all =
        (0..8).map(|_| tokio::spawn(async { servers::postgres().map(servers::Postgres::url) }));
    let mut urls = Vec::new();
    for url in all {
        urls.push(url.await.expect("it does not panic"));
    }
    urls.dedup();
    assert_eq!(urls.len(), 1, "{urls:?}");
}

#[tokio::test]
async fn a_killed_server_comes_back_with_what_it_stored() {
    let settings = OwnServer::settings().set("fsync", "on").set("max_connections", 20);
    let Some(mut server) = settings.start().await else { return };
    let (url, pid) = (server.url(), server.pid());
    let client = connected(&url).await;
    let stored = "CREATE TABLE t (i int); INSERT INTO t VALUES (1), (2)";
    client.batch_execute(stored).await.expect("it stores");
    server.kill();
    assert_eq!(server.pid(), None);
    assert!(connect(&url).await.is_err(), "it is gone");
    server.restart().await;
    assert_ne!(server.pid(), pid);
    assert_eq!(count(&connected(&url).await).await, 2);
    assert!(server.log().contains("not properly shut down"), "{}", server.log());
    server.stop();
    server.restart().await;
    assert_eq!(count(&connected(&url).await).await, 2);
}

#[tokio::test]
async fn settings_files_and_rules_reach_the_server() {
    let settings = OwnServer::settings()
        .set("shared_buffers", "16MB")
        .file("note.txt", "read me")
        .host_rule("host all stranger all reject");
    let Some(server) = settings.start().await else { return };
    let client = connected(&server.url()).await;
    let query = "SELECT current_setting('shared_buffers'), pg_read_file('note.txt')";
    let row = client.query_one(query, &[]).await.expect("it answers");
    let told: (&str, &str) = (row.get(0), row.get(1));
    assert_eq!(told, ("16MB", "read me"));
    client.batch_execute("CREATE ROLE stranger LOGIN").await.expect("a role is made");
    let stranger = server.url().replace("postgres@", "stranger@");
    assert!(connect(&stranger).await.is_err(), "the rule keeps it out");
}

#[tokio::test]
async fn servers_and_their_directories_go_with_a_value() {
    let Some(server) = OwnServer::settings().start().await else { return };
    let client = connected(&server.url()).await;
    let row = client.query_one("SHOW data_directory", &[]).await.expect("it tells");
    let data = PathBuf::from(row.get::<_, &str>(0));
    assert!(data.exists());
    let url = server.url();
    drop(server);
    assert!(!data.exists(), "{} stays", data.display());
    assert!(connect(&url).await.is_err());
}

/// `ipcs` differs from system to system.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_was_killed_leaves_nothing_either() {
    let Some(mut server) = OwnServer::settings().start().await else { return };
    let client = connected(&server.url()).await;
    let row = client.query_one("SHOW data_directory", &[]).await.expect("it tells");
    let data = PathBuf::from(row.get::<_, &str>(0));
    server.kill();
    let pid_file = std::fs::read_to_string(data.join("postmaster.pid")).expect("it is left");
    let segment = pid_file.lines().nth(6).and_then(|line| line.split_whitespace().last());
    let segment = segment.expect("the number of a segment").to_owned();
    let exists = || {
        let output = Command::new("ipcs").args(["-m", "-i", &segment]).output();
        String::from_utf8_lossy(&output.expect("ipcs runs").stdout).contains("bytes=")
    };
    assert!(exists(), "the segment stays, because nobody was there to remove it");
    drop(server);
    assert!(!exists());
    assert!(!data.exists());
}

/// The process that is killed here is this program, which runs this test.
#[tokio::test]
async fn servers_and_their_directories_go_with_a_process_that_is_killed() {
    if std::env::var_os(CHILD).is_some() {
        return hold_a_server_until_killed().await;
    }
    let name = this_test!();
    let mut child = this_program(name).env(CHILD, "1").spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let data = lines.find_map(|line| Some(line.ok()?.strip_prefix("DATA ")?.to_owned()));
    child.kill().expect("it is killed");
    child.wait().expect("it is gone");
    // Without programs of Postgres it had no server, and said so.
    let Some(data) = data else { return };
    let home = Path::new(&data).parent().expect("the directory of the server");
    until("the directory is gone", SOON, || (!home.exists()).then_some(()));
}

#[expect(clippy::print_stdout, reason = "its parent reads it")]
async fn hold_a_server_until_killed() {
    let Some(server) = OwnServer::settings().start().await else { return };
    let client = connected(&server.url()).await;
    let row = client.query_one("SHOW data_directory", &[]).await.expect("it tells");
    println!("DATA {}", row.get::<_, &str>(0));
    std::future::pending().await
}

/// The test below, which others run in a process of its own.
const FINDS: &str = "servers::a_server_is_found_or_told_to_be_missing";

#[test]
fn a_server_is_found_or_told_to_be_missing() {
    let found = servers::postgres();
    println!("FOUND {:?}", found.map(|server| server.source()));
}

#[test]
fn a_url_that_is_given_and_does_not_answer_is_a_failure() {
    let run = this_program(FINDS)
        .env("QUEUEKIT_TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:1/postgres")
        .env_remove("QUEUEKIT_TEST_SERVERS")
        .output();
    let run = run.expect("it runs");
    assert!(!run.status.success(), "it fell through to another");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains("QUEUEKIT_TEST_POSTGRES_URL is set, but"), "{said}");
    assert!(said.contains("onnection refused"), "{said}");
}

#[test]
fn tests_without_a_server_are_skipped_loudly_and_fail_where_it_is_required() {
    let nowhere = || {
        let mut command = this_program(FINDS);
        command.env("QUEUEKIT_TEST_SERVERS", "url").env_remove("QUEUEKIT_TEST_POSTGRES_URL");
        command
    };
    let skipped = nowhere().env_remove("QUEUEKIT_TEST_REQUIRE").output().expect("it runs");
    assert!(skipped.status.success());
    let told = String::from_utf8_lossy(&skipped.stderr).into_owned();
    for way in ["export QUEUEKIT_TEST_POSTGRES_URL=", "apt-get install postgresql", "docker pull "]
    {
        assert!(told.contains(way), "{way}: {told}");
    }
    assert_eq!(told.lines().count(), 1, "{told}");
    let required = nowhere().env("QUEUEKIT_TEST_REQUIRE", "redis,postgres").output();
    let required = required.expect("it runs");
    assert!(!required.status.success());
    let told = String::from_utf8_lossy(&required.stderr);
    assert!(told.contains("QUEUEKIT_TEST_REQUIRE has `postgres`"), "{told}");
}

/// Where a store is most in doubt: its transaction is committed, and nobody says so.
#[tokio::test]
async fn the_answer_to_a_commit_can_be_lost() {
    let Some(server) = servers::postgres() else { return };
    let database = server.database().await;
    let proxy = Proxy::start(&database.url()).await;
    let client = connected(&proxy.url(&database.url())).await;
    client.batch_execute("CREATE TABLE t (i int)").await.expect("a table");
    // BEGIN and INSERT are answered, COMMIT is not.
    proxy.set(Mode::LoseReply { after: 2 });
    client.batch_execute("BEGIN").await.expect("it begins");
    client.batch_execute("INSERT INTO t VALUES (1)").await.expect("it inserts");
    let commit = client.batch_execute("COMMIT").await;
    assert!(commit.expect_err("nobody knows").is_closed());
    let client = connected(&proxy.url(&database.url())).await;
    assert_eq!(count(&client).await, 1);
    database.drop().await;
}

#[tokio::test]
async fn pgbouncer_answers_for_every_database() {
    let Some(server) = servers::postgres() else { return };
    let Some(pgbouncer) = PgBouncer::start(&server.url()).await else { return };
    let database = server.database().await;
    let client = connected(&pgbouncer.url(database.name())).await;
    let answer = client.simple_query("SELECT current_database()").await.expect("it answers");
    let told = answer.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    assert_eq!(told, Some(database.name()));
    drop((client, pgbouncer));
    database.drop().await;
}

fn this_program(test: &str) -> Command {
    let mut command =
        Command::new(std::env::current_exe().expect("the path of this program should be known"));
    command.args([test, "--exact", "--nocapture"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}
