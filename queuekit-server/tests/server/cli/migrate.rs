//! `queuekit migrate`

use queuekit::sqlite::rusqlite::Connection;

use crate::sandbox::Sandbox;

#[test]
fn a_schema_is_looked_at_brought_up_and_up_to_date() {
    let sandbox = Sandbox::new();
    let status = || sandbox.run(&["migrate", "status", "--json"]);
    status().failed(3, &["queuekit.db", "there is no such file"]);
    assert!(!sandbox.path("queuekit.db").exists(), "looking creates nothing");
    sandbox.write("queuekit.db", "");
    let before = status();
    assert_eq!((before.code, before.json()["stored"].as_u64()), (4, Some(0)));
    let plan = sandbox.run(&["migrate", "plan"]).ok();
    assert!(plan.starts_with("schema version 0 -> "), "{plan}");
    assert_eq!(std::fs::read(sandbox.path("queuekit.db")).unwrap(), b"", "looking changes nothing");
    sandbox.run(&["migrate", "up"]).ok();
    let after = status();
    assert_eq!((after.code, &after.json()["up_to_date"]), (0, &true.into()));
    assert_eq!(after.json()["stored"], after.json()["wanted"]);
    sandbox.run(&["migrate", "up"]).ok();
    sandbox.run(&["enqueue", "echo", "--url", "sqlite://queuekit.db?migrate=off"]).ok();
}

#[test]
fn the_sql_is_printed_for_tools_of_one_s_own() {
    let sandbox = Sandbox::new();
    let sql = sandbox.run(&["migrate", "sql"]).ok();
    assert!(sql.contains("CREATE TABLE") && sql.contains("queuekit_migrations"), "{sql}");
    assert!(!sandbox.path("queuekit.db").exists(), "looking creates nothing");
    sandbox.run(&["migrate", "up"]).ok();
    let pending = sandbox.run(&["migrate", "sql", "--pending"]).ok();
    assert_eq!(pending.trim(), "", "nothing is left to run");
}

#[test]
fn another_application_s_file_is_refused_as_serve_refuses_it() {
    let sandbox = Sandbox::new();
    let conn = Connection::open(sandbox.path("queuekit.db")).unwrap();
    conn.execute_batch("CREATE TABLE orders (id INTEGER)").unwrap();
    drop(conn);
    let before = std::fs::read(sandbox.path("queuekit.db")).unwrap();
    for command in [&["migrate", "up"][..], &["enqueue", "echo"], &["serve"]] {
        sandbox.run(command).failed(1, &["another application's database", "create=tables"]);
    }
    // Guard: these told to run `migrate up`, which refuses the file.
    for command in
        [&["migrate", "status"][..], &["migrate", "plan"], &["migrate", "sql", "--pending"]]
    {
        let refused = sandbox.run(command);
        refused.failed(1, &["another application's database", "name another file"]);
        assert!(!format!("{refused:?}").contains("migrate up"), "{refused:?}");
    }
    let doctor = sandbox.run(&["doctor"]);
    assert!(doctor.code == 4 && doctor.stdout.contains("another application's"), "{doctor:?}");
    assert!(doctor.stdout.contains("name another file"), "{doctor:?}");
    assert!(!doctor.stdout.contains("migrate up"), "{doctor:?}");
    assert_eq!(std::fs::read(sandbox.path("queuekit.db")).unwrap(), before);
    let own = "sqlite://queuekit.db?create=tables&journal=wal";
    sandbox.run(&["migrate", "up", "--url", own]).ok();
}
