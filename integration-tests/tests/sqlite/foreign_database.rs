//! The SQLite store in the database of another application.

use std::fs;

use crate::common::files::{File, add, assert_exact, complete, lease};
use queuekit_core::{Backend, Error, ErrorKind};
use queuekit_sqlite::{Create, SqliteConfig, SqliteStore, rusqlite};
use rusqlite::Connection;

const PRAGMAS: [&str; 5] =
    ["user_version", "application_id", "auto_vacuum", "page_size", "encoding"];

/// A file with a table, and nothing set as this store would.
fn application() -> File {
    let file = File::new();
    let conn = file.connection();
    conn.pragma_update(None, "page_size", 8192).unwrap();
    conn.pragma_update(None, "encoding", "UTF-16le").unwrap();
    conn.execute_batch(include_str!("../../sql/sqlite_app.sql")).unwrap();
    conn.execute(include_str!("../../sql/sqlite_app_insert.sql"), []).unwrap();
    conn.pragma_update(None, "user_version", 7).unwrap();
    conn.pragma_update(None, "application_id", 4711).unwrap();
    file
}

#[tokio::test]
async fn r11_2_the_database_of_another_application_is_refused_and_left_alone() {
    let file = application();
    let before = file.bytes();
    for config in [
        file.config(),
        file.config().switch_to_wal(true),
        file.config().migrate(false),
        file.config().create(Create::Nothing),
    ] {
        let error = refused(config).await;
        assert_eq!(*error.kind(), ErrorKind::Conflict, "{error}");
    }
    let error = refused(file.config()).await.to_string();
    assert!(error.contains("create=tables"), "{error}");
    let error = refused(file.config().create(Create::Tables)).await;
    assert_eq!(*error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("journal=wal"), "{error}");
    assert_eq!(file.bytes(), before, "not a byte of the file changes");
    let files = fs::read_dir(file.directory.path()).unwrap().count();
    assert_eq!(files, 1, "and nothing is left beside it");
}

#[tokio::test]
async fn r11_2_tables_stand_beside_those_of_an_application() {
    let file = application();
    let (schema, settings) = (schema(&file.connection()), settings(&file.connection()));
    let config = file.config().create(Create::Tables).switch_to_wal(true);
    let store = SqliteStore::connect(config).await.unwrap();
    add(&store, 20).await;
    let leases = lease(&store, 10).await;
    complete(&store, leases).await;
    store.capabilities().upkeep.unwrap().prune().await.unwrap();
    store.close().await.unwrap();
    let conn = file.connection();
    assert_eq!(self::schema(&conn), schema, "the application's own");
    assert_eq!(self::settings(&conn), settings);
    assert_eq!(journal(&conn), "wal");
    let orders =
        conn.query_row(include_str!("../../sql/sqlite_app_count.sql"), [], |row| row.get(0));
    assert_eq!(orders, Ok(1));
    assert_exact(&conn);
    drop(conn);
    // From now on it is known; asking for less is enough.
    SqliteStore::open(&file.path).await.unwrap().close().await.unwrap();
    // The application went back to its own journal: that is not changed behind its back.
    let conn = file.connection();
    conn.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    let error = refused(file.config()).await;
    assert_eq!(*error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(journal(&conn), "delete");
}

#[tokio::test]
async fn r11_2_an_application_that_has_the_write_ahead_log_needs_no_switch() {
    let file = application();
    let conn = file.connection();
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    let config = file.config().create(Create::Tables);
    let store = SqliteStore::connect(config).await.unwrap();
    add(&store, 1).await;
    store.close().await.unwrap();
    assert_exact(&conn);
}

#[tokio::test]
async fn r11_2_an_unchecked_look_changes_nothing_of_an_application() {
    let file = application();
    let before = file.bytes();
    let store = SqliteStore::connect_unchecked(file.config()).await.unwrap();
    let error = store.capabilities().migrations.unwrap().status().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Conflict, "{error}");
    assert!(store.capabilities().inspect.unwrap().facts().await.is_ok());
    store.close().await.unwrap();
    let config = file.config().create(Create::Tables);
    let store = SqliteStore::connect_unchecked(config).await.unwrap();
    let status = store.capabilities().migrations.unwrap().status().await.unwrap();
    assert_eq!(status.stored, 0, "its tables may be added");
    store.close().await.unwrap();
    assert_eq!(file.bytes(), before);
}

async fn refused(config: SqliteConfig) -> Error {
    SqliteStore::connect(config).await.expect_err("opening should fail")
}

/// All but what is this store's.
fn schema(conn: &Connection) -> Vec<String> {
    let mut rows = conn.prepare(include_str!("../../sql/sqlite_schema.sql")).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    let rows = rows.map(Result::<String, _>::unwrap);
    rows.filter(|row| !row.contains("queuekit_")).collect()
}

fn settings(conn: &Connection) -> Vec<String> {
    let value = |pragma: &&str| {
        conn.pragma_query_value(None, pragma, |row| row.get::<_, rusqlite::types::Value>(0))
    };
    PRAGMAS.iter().map(|pragma| format!("{pragma} {:?}", value(pragma).unwrap())).collect()
}

fn journal(conn: &Connection) -> String {
    conn.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
}
