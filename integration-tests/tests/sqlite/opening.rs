//! Opening a file of the SQLite store's own (contract R11.2).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::files::{File, Open, add, assert_exact, lease};
use crate::common::system::{Disk, Immutable};
use futures_util::future::join_all;
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Durability, Migrations};
use queuekit_core::{Backend, BackendExt, Error, ErrorKind, JobFilter};
use queuekit_sqlite::{Create, SqliteConfig, SqliteStore, Synchronous};

/// How the children of a test know their file.
const CHILD: &str = "QUEUEKIT_TEST_FILE";

#[tokio::test]
async fn r11_2_a_missing_directory_is_named_and_not_made() {
    let file = File::new();
    let path = file.directory.path().join("missing").join("jobs.db");
    let error = refused(SqliteConfig::new(&path)).await;
    assert_says(&error, ErrorKind::Unavailable, "its directory exists");
    assert_says(&error, ErrorKind::Unavailable, path.to_str().unwrap());
    assert!(!path.parent().unwrap().exists());
}

#[tokio::test]
async fn r11_2_a_directory_is_no_file() {
    let file = File::new();
    let error = refused(SqliteConfig::new(file.directory.path())).await;
    assert_says(&error, ErrorKind::Unavailable, "cannot be opened");
}

#[tokio::test]
async fn r11_2_a_newer_schema_is_refused_and_left_alone() {
    let file = File::new();
    file.store().await.close().await.unwrap();
    file.connection().execute_batch(include_str!("../../sql/sqlite_newer.sql")).unwrap();
    let before = file.bytes();
    for config in [file.config(), file.config().migrate(false)] {
        let error = refused(config).await;
        assert_says(&error, ErrorKind::Unsupported, "version 999, newer than");
        assert_says(&error, ErrorKind::Unsupported, "use a newer queuekit");
    }
    assert_eq!(file.bytes(), before);
    let store = SqliteStore::connect_unchecked(file.config()).await.unwrap();
    let migrations = store.capabilities().migrations.unwrap();
    assert_eq!(*migrations.up().await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(migrations.status().await.unwrap().stored, 999);
    store.close().await.unwrap();
}

/// By one version newer, as the next minor version makes it.
#[tokio::test]
async fn r11_2_a_newer_schema_that_says_it_works_with_this_build_opens() {
    let file = File::new();
    let store = file.store().await;
    let status = store.status().await.unwrap();
    store.close().await.unwrap();
    for (compatible_from, opens) in [(status.wanted, true), (status.wanted + 1, false)] {
        let conn = file.connection();
        let newer = include_str!("../../sql/sqlite_newer_by_one.sql");
        conn.execute(newer, (status.wanted + 1, compatible_from)).unwrap();
        for config in [file.config(), file.config().migrate(false)] {
            match SqliteStore::connect(config).await {
                Ok(store) => {
                    assert!(opens, "compatible from {compatible_from}");
                    add(&store, 1).await;
                    assert_eq!(store.status().await.unwrap().stored, status.wanted + 1);
                    store.close().await.unwrap();
                }
                Err(error) => {
                    assert!(!opens, "{error}");
                    assert_says(&error, ErrorKind::Unsupported, "use a newer queuekit");
                }
            }
        }
    }
}

/// Payloads are for nobody else.
#[cfg(unix)]
#[tokio::test]
async fn the_files_of_a_store_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt;

    let file = File::new();
    let store = file.store().await;
    add(&store, 1).await;
    for path in [file.path.clone(), file.beside("-wal"), file.beside("-shm")] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r11_2_a_file_of_an_unpublished_build_is_refused_and_left_alone() {
    let file = File::new();
    file.store().await.close().await.unwrap();
    file.connection().execute_batch(include_str!("../../sql/sqlite_unpublished.sql")).unwrap();
    let before = file.bytes();
    for config in [file.config(), file.config().migrate(false)] {
        let error = refused(config).await;
        assert_says(&error, ErrorKind::Unsupported, "version 11");
        assert_says(&error, ErrorKind::Unsupported, "delete the file");
    }
    assert_eq!(file.bytes(), before);
    let store = SqliteStore::connect_unchecked(file.config()).await.unwrap();
    let migrations = store.capabilities().migrations.unwrap();
    assert_eq!(*migrations.up().await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(*migrations.status().await.unwrap_err().kind(), ErrorKind::Unsupported);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r11_2_a_migration_that_fails_leaves_nothing_of_itself() {
    let file = File::new();
    // A table that the migration makes is there already.
    file.connection().execute_batch(include_str!("../../sql/sqlite_in_the_way.sql")).unwrap();
    let before = schema(&file);
    let unchecked = SqliteStore::connect_unchecked(file.config()).await.unwrap();
    let migrations = unchecked.capabilities().migrations.unwrap();
    migrations.up().await.unwrap_err();
    assert_eq!(migrations.status().await.unwrap().stored, 0);
    unchecked.close().await.unwrap();
    assert_eq!(schema(&file), before);
    refused(file.config()).await;
    assert_eq!(schema(&file), before);
}

#[tokio::test]
async fn r11_2_nothing_is_created_where_that_is_forbidden() {
    let file = File::new();
    let nothing = || file.config().create(Create::Nothing);
    assert_says(&refused(nothing()).await, ErrorKind::NotFound, "there is no such file");
    assert!(!file.path.exists());
    fs::write(&file.path, b"").unwrap();
    assert_says(&refused(nothing()).await, ErrorKind::Conflict, "no queuekit here");
    assert_eq!(file.bytes(), b"");
    file.store().await.close().await.unwrap();
    let store = nothing().open().await;
    add(&store, 1).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn r11_2_an_unchecked_store_is_migrated_by_hand() {
    let file = File::new();
    let store = SqliteStore::connect_unchecked(file.config()).await.unwrap();
    let migrations = store.capabilities().migrations.unwrap();
    assert_eq!(migrations.status().await.unwrap().stored, 0);
    let up = migrations.up().await.unwrap();
    assert_eq!(up.stored, up.wanted);
    assert_eq!(migrations.up().await.unwrap(), up, "twice is once");
    add(&store, 1).await;
    store.close().await.unwrap();
    let by_connect = File::new();
    by_connect.store().await.close().await.unwrap();
    assert_eq!(schema(&file), schema(&by_connect));
}

#[tokio::test]
async fn r11_1_what_an_ok_survives_is_what_was_asked_for() {
    for (synchronous, survives) in
        [(Synchronous::Full, Durability::PowerLoss), (Synchronous::Normal, Durability::ProcessKill)]
    {
        let file = File::new();
        let store = file.config().synchronous(synchronous).open().await;
        let inspect = store.capabilities().inspect.unwrap();
        assert_eq!(inspect.durability().await.unwrap(), survives);
        let warns = inspect.findings().await.unwrap().len();
        assert_eq!(warns, usize::from(synchronous == Synchronous::Normal));
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r11_2_ten_handles_open_a_new_file_at_once() {
    for _ in 0..10 {
        let file = File::new();
        let open = || tokio::spawn(SqliteStore::connect(file.config()));
        let stores = join_all((0..10).map(|_| open())).await;
        let stores: Vec<SqliteStore> = stores
            .into_iter()
            .map(|store| store.unwrap().expect("opening should succeed"))
            .collect();
        join_all(stores.iter().map(|store| add(store, 3))).await;
        assert_eq!(lease(&stores[0], 100).await.len(), 30);
        join_all(stores.iter().map(|store| store.close())).await;
        assert_exact(&file.connection());
    }
}

#[tokio::test]
async fn r11_2_ten_processes_open_a_new_file_at_once() {
    if let Some(path) = std::env::var_os(CHILD) {
        let store = SqliteStore::open(Path::new(&path)).await.expect("opening should succeed");
        add(&store, 3).await;
        return store.close().await.unwrap();
    }
    let file = File::new();
    let child = |_| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let test = this_test!();
        child.args(["--exact", test]).env(CHILD, &file.path);
        child.stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..10).map(child).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = file.store().await;
    assert_eq!(store.list_jobs(&JobFilter::default()).await.unwrap().items.len(), 30);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r11_2_a_read_only_file_is_refused() {
    let test = this_test!();
    let file = File::new();
    file.store().await.close().await.unwrap();
    let Some(_immutable) = Immutable::make(test, &file.path) else { return };
    let error = refused(file.config()).await;
    assert_says(&error, ErrorKind::Unavailable, "give this user write permission");
}

#[tokio::test]
async fn r11_2_a_read_only_directory_is_refused() {
    let test = this_test!();
    let file = File::new();
    let Some(immutable) = Immutable::make(test, file.directory.path()) else { return };
    let error = refused(file.config()).await;
    assert_says(&error, ErrorKind::Unavailable, "cannot be opened");
    drop(immutable);
    file.store().await.close().await.unwrap();
    // The file can be written, its log cannot be made.
    let Some(_immutable) = Immutable::make(test, file.directory.path()) else { return };
    let error = refused(file.config()).await;
    assert_says(&error, ErrorKind::Unavailable, "directory");
}

#[tokio::test]
async fn r11_2_a_read_only_disk_is_refused() {
    let test = this_test!();
    let file = File::new();
    let Some(disk) = Disk::mount(test, file.directory.path(), "16m") else { return };
    file.store().await.close().await.unwrap();
    if disk.make_read_only(test).is_none() {
        return;
    }
    let error = refused(file.config()).await;
    assert_says(&error, ErrorKind::Unavailable, "read-only");
}

#[tokio::test]
async fn r10_4_another_handle_of_the_file_stays_open() {
    let file = File::new();
    let first = file.store().await;
    let second = file.store().await;
    let id = first.enqueue_one(build(draft())).await.unwrap();
    assert!(second.get_job(id).await.unwrap().is_some());
    first.close().await.unwrap();
    assert!(second.get_job(id).await.unwrap().is_some(), "another handle stays open");
    assert_eq!(lease(&second, 5).await.len(), 1);
    second.close().await.unwrap();
}

async fn refused(config: SqliteConfig) -> Error {
    SqliteStore::connect(config).await.expect_err("opening should fail")
}

#[track_caller]
fn assert_says(error: &Error, kind: ErrorKind, remedy: &str) {
    assert_eq!(*error.kind(), kind, "{error}");
    assert!(error.to_string().contains(remedy), "{error}");
}

fn schema(file: &File) -> Vec<String> {
    let conn = file.connection();
    let mut rows = conn.prepare(include_str!("../../sql/sqlite_schema.sql")).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
