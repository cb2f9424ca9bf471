//! `queuekit migrate`

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
    sandbox
        .run(&["enqueue", "echo", "--url", "sqlite://queuekit.db?migrate=off"])
        .failed(1, &["`queuekit migrate up`"]);
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
    sandbox.run(&["migrate", "sql", "--url", "memory:"]).failed(1, &["has no"]);
}
