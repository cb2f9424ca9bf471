//! The power goes while processes work on a SQLite file.

#![cfg(target_os = "linux")]

use crate::common::sqlite_crash_site::SqliteSite;
use queuekit_conformance::this_test;
use queuekit_integration_tests::crash::{is_long, power};
use queuekit_sqlite::Synchronous;

/// Small files allow more cuts in the same time, so there is a new file after this many cuts.
const CUTS: usize = 4;

#[test]
fn r11_3_an_accepted_job_survives_a_power_cut() {
    let test = this_test!();
    for _ in 0..if is_long() { 10 } else { 1 } {
        let site = SqliteSite::default();
        let Some((losses, verdict)) = power::cut(&site, test, CUTS) else { return };
        println!("{test}:\n{losses}\n{verdict}");
        assert!(losses.lost.is_empty() && losses.undone.is_empty(), "{losses:?}");
        verdict.assert_faultless();
    }
}

/// What is lost is printed: this mode promises that the file is sound, and no more.
#[test]
fn r11_1_at_synchronous_normal_a_power_cut_damages_nothing() {
    let test = this_test!();
    let (files, cuts) = if is_long() { (5, CUTS) } else { (1, 2) };
    for _ in 0..files {
        let site = SqliteSite { synchronous: Synchronous::Normal };
        let Some((losses, verdict)) = power::cut(&site, test, cuts) else { return };
        println!("{test}:\n{losses}\n{verdict}");
    }
}

#[test]
fn r11_3_a_power_cut_while_the_file_is_made_leaves_one_that_opens() {
    let test = this_test!();
    let Some(syncs) = power::cut_opening(&SqliteSite::default(), test) else { return };
    println!("{test}: power cuts before each of {syncs} syncs");
    assert!(syncs > 0);
}
