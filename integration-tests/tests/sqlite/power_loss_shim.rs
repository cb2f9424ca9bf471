//! The test of the power-loss tests: the shim forgets what was not synced, and nothing else.

#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use queuekit_conformance::this_test;
use queuekit_integration_tests::crash::power::{Disk, shim};
use queuekit_integration_tests::crash::{Event, Journal, Process, Role, Scratch, until};
use queuekit_sqlite::rusqlite::Connection;

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `work` on a disk in a process, cuts its power, and answers where the share of this that
/// was not synced survived. None in that process, and where it is skipped.
fn after_cut(test: &str, kept: f64, work: impl Fn(&Path)) -> Option<Scratch> {
    if let Some(role) = Role::of_this_process() {
        work(Path::new(&role.place));
        Journal::open(&role.journal).tell(Event::Ready);
        // Dies here.
        std::io::stdin().read_to_end(&mut Vec::new()).expect("it ends with its parent");
        return None;
    }
    let scratch = Scratch::new();
    let shim = shim(test, &scratch)?;
    let none = scratch.path().join("none");
    fs::create_dir(&none).expect("a directory");
    let disk = Disk::holding(scratch.path().join("disk"), &none);
    let journal = scratch.path().join("journal");
    let role = Role {
        name: "process".to_owned(),
        callers: 0,
        worker: None,
        slots: 0,
        runs_for: None,
        place: disk.live().display().to_string(),
        journal: journal.clone(),
    };
    let process = Process::start(test, &role, &shim.env(&disk, None));
    until("the work is done", PATIENCE, || {
        Journal::read(&journal).0.iter().any(|entry| entry.event == Event::Ready).then_some(())
    });
    process.kill(&Journal::open(&journal));
    let image = Scratch::new();
    disk.survivors(image.path(), kept);
    Some(image)
}

fn create(path: impl AsRef<Path>) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).open(path).expect("a file")
}

fn write_in_all_ways(directory: &Path) {
    let write = |name: &str, bytes: &[u8]| {
        let mut file = create(directory.join(name));
        file.write_all(bytes).expect("write");
        file
    };
    let sync_directory =
        || File::open(directory).expect("opening should succeed").sync_all().expect("fsync");
    write("named", b"lost");
    write("removed", b"gone").sync_all().expect("fsync");
    fs::remove_file(directory.join("removed")).expect("remove");
    sync_directory();
    write("never", b"lost");
    write("all", b"kept").sync_all().expect("fsync");
    write("data", b"kept").sync_data().expect("fdatasync");
    let mut changed = write("changed", b"first");
    changed.sync_data().expect("fdatasync");
    changed.rewind().expect("seek");
    changed.write_all(b"second").expect("write");
    let shorter = write("shorter", b"whole");
    shorter.sync_data().expect("fdatasync");
    shorter.set_len(1).expect("truncate");
    write("removed-since", b"kept").sync_all().expect("fsync");
    fs::remove_file(directory.join("removed-since")).expect("remove");
}

fn files(image: &Scratch) -> Vec<(OsString, String)> {
    let entries = fs::read_dir(image.path()).expect("it lists").map(|entry| entry.expect("one"));
    let read = |path| fs::read_to_string(path).expect("it reads");
    let mut files: Vec<_> = entries.map(|file| (file.file_name(), read(file.path()))).collect();
    files.sort();
    files
}

fn expect(files: &[(&str, &str)]) -> Vec<(OsString, String)> {
    files.iter().map(|(name, text)| (OsString::from(name), (*text).to_owned())).collect()
}

#[test]
fn a_write_without_fsync_is_gone_and_one_with_fsync_is_there() {
    let test = this_test!();
    let Some(image) = after_cut(test, 0.0, write_in_all_ways) else { return };
    let kept = [
        ("all", "kept"),
        ("changed", "first"),
        ("data", "kept"),
        ("named", ""),
        ("removed-since", "kept"),
        ("shorter", "whole"),
    ];
    assert_eq!(files(&image), expect(&kept));
}

#[test]
fn everything_written_is_there_if_the_disk_kept_all() {
    let test = this_test!();
    let Some(image) = after_cut(test, 1.0, write_in_all_ways) else { return };
    let kept = [
        ("all", "kept"),
        ("changed", "second"),
        ("data", "kept"),
        ("named", "lost"),
        ("never", "lost"),
        ("shorter", "w"),
    ];
    assert_eq!(files(&image), expect(&kept));
}

/// SQLite itself, without a store: how many of 50 transactions survive.
fn survivors_of_50(test: &str, synchronous: &str) -> Option<i64> {
    let image = after_cut(test, 0.0, |directory| {
        let database = Connection::open(directory.join("rows.db")).expect("opening should succeed");
        let setup = "PRAGMA journal_mode = WAL; CREATE TABLE row (n INTEGER NOT NULL);";
        database.execute_batch(setup).expect("setup");
        database.pragma_update(None, "synchronous", synchronous).expect("synchronous");
        for n in 0..50 {
            database.execute("INSERT INTO row VALUES (?1)", [n]).expect("insert");
        }
        // Not closed: a close would checkpoint, and sync.
        std::mem::forget(database);
    })?;
    let database = Connection::open(image.path().join("rows.db")).expect("opening should succeed");
    Some(database.query_row("SELECT count(*) FROM row", [], |row| row.get(0)).expect("count"))
}

#[test]
fn a_transaction_survives_if_sqlite_synced_it() {
    let test = this_test!();
    assert!(survivors_of_50(test, "FULL").is_none_or(|rows| rows == 50));
}

#[test]
fn a_transaction_is_lost_if_sqlite_did_not_sync_it() {
    let test = this_test!();
    assert!(survivors_of_50(test, "NORMAL").is_none_or(|rows| rows < 50));
}
