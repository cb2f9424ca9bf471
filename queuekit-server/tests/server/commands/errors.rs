//! `queuekit errors`.

use queuekit::error_groups::GroupKey;
use queuekit_conformance::kit::kind;
use serde_json::json;

use crate::commands::targets::{Place, in_every_place};

in_every_place! {
    errors_that_look_alike_are_one_line,
    one_is_retried_as_a_test_and_the_rest_over_a_time,
    the_dead_of_a_group_are_purged,
    r8_10_notes_are_written_shown_and_removed,
    what_is_no_group_is_refused,
}

/// Three mails that died of one error, and one of another. Returns the ids of the three.
fn dead_mails(place: &Place) -> [String; 3] {
    let die = |reason: &str| {
        let id = place.enqueue("mail --queue mails");
        place.args(&["job", "dead-letter", &id, "--reason", reason]).ok();
        id
    };
    let ids = ["HTTP 503 after 1 s", "HTTP 503 after 30 s", "HTTP 502 after 2 s"].map(die);
    die("no such address");
    ids
}

fn group() -> String {
    GroupKey::of(kind("mail"), "HTTP 500 after 1 s").id().to_string()
}

fn errors_that_look_alike_are_one_line(place: &Place) {
    assert_eq!(place.run("errors list --queue mails").ok(), "no errors\n");
    let ids = dead_mails(place);
    let told = place.run("errors list").ok();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert!(lines[1].ends_with("no such address"), "{told}");
    assert!(lines[2].starts_with(&group()) && lines[2].contains("HTTP <n> after <n> s"), "{told}");
    let groups = place.lines("errors list --queue mails");
    let counts = |at: usize| (groups[at]["failures"].clone(), groups[at]["deaths"].clone());
    assert_eq!([counts(0), counts(1)], [(json!(0), json!(1)), (json!(0), json!(3))]);
    assert_eq!(groups[1]["sample"], json!(ids[2]));
    let days: Vec<u64> = serde_json::from_value(groups[1]["recent"]["days"].clone()).unwrap();
    assert_eq!((days.len(), days.iter().sum()), (7, 3), "{}", groups[1]);
    let one = place.args(&["errors", "list", "--queue", "mails", "--limit", "1"]);
    assert_eq!(one.ok().lines().count(), 2, "a header and a group");

    let shown = place.run(&format!("errors show {} --queue mails", group())).ok();
    for part in [
        "HTTP <n> after <n> s",
        "deaths     3",
        "3 in 24 hours, 3 in 7 days",
        "  HTTP 502 after 2 s",
        "dead now: 3 jobs",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = place.json(&format!("errors show {} --queue mails", group()));
    assert_eq!((&shown["dead"], &shown["groups"][0]["id"]), (&json!(3), &json!(group())));
    assert_eq!(place.lines(&format!("job list group:{}", group())).len(), 3);
}

fn one_is_retried_as_a_test_and_the_rest_over_a_time(place: &Place) {
    dead_mails(place);
    let retry = format!("errors retry {}", group());
    place.run(&retry).failed(2, &["retry 3 jobs?", "--yes"]);
    let one = place.json(&format!("{retry} --one"));
    assert_eq!(one["outcome"], "retried");
    assert_eq!(place.lines("job list status:ready").len(), 1);
    let told = place.run(&format!("{retry} --over 300d --yes")).ok();
    assert_eq!(told, "2 jobs retried\n");
    assert_eq!(place.lines("job list status:scheduled").len(), 2);
    place.run(&format!("{retry} --one")).failed(1, &["no job of this group is dead"]);
    let groups = place.lines("errors list --queue mails");
    assert_eq!(groups[1]["deaths"], 3, "counts only rise");
}

fn the_dead_of_a_group_are_purged(place: &Place) {
    dead_mails(place);
    let purge = format!("errors purge {} --queue mails", group());
    assert_eq!(place.run(&format!("{purge} --dry-run")).ok().lines().count(), 1);
    assert_eq!(place.run(&format!("{purge} --yes")).ok(), "3 jobs deleted\n");
    assert_eq!(place.lines("job list").len(), 1);
    let shown = place.run(&format!("errors show {} --queue mails", group())).ok();
    assert!(shown.contains("which is gone") && shown.contains("dead now: 0 jobs"), "{shown}");
}

fn r8_10_notes_are_written_shown_and_removed(place: &Place) {
    dead_mails(place);
    let note = |rest: &[&str]| {
        let (id, begin) = (group(), ["errors", "note"]);
        place.args(&[&begin[..], &[&*id, "--queue", "mails"], rest].concat())
    };
    assert_eq!(note(&["known, \"ticket\" 123"]).ok(), "the note is written\n");
    let shown = place.run(&format!("errors show {} --queue mails", group())).ok();
    assert!(shown.contains("note       known, \"ticket\" 123\n"), "{shown}");
    let listed = place.lines("errors list --queue mails");
    assert_eq!(listed[1]["note"]["text"], "known, \"ticket\" 123");
    assert!(listed[0].get("note").is_none(), "{listed:?}");
    let told = place.run("errors list --queue mails").ok();
    assert!(told.contains("after <n> s [known, \"ticket\" 123]"), "{told}");
    assert_eq!(note(&["--remove"]).ok(), "the note is removed\n");
    assert!(place.lines("errors list --queue mails")[1].get("note").is_none());
    note(&[]).failed(2, &["TEXT"]);
    note(&[&"x".repeat(501)]).failed(2, &["at most 500 bytes"]);
    place.args(&["errors", "note", &group(), "t", "--queue", "none"]).failed(3, &["error group"]);
}

fn what_is_no_group_is_refused(place: &Place) {
    place.run("errors show 12").failed(2, &["16 hexadecimal digits"]);
    place.run("errors show 0123456789abcdef").failed(3, &["the error group does not exist"]);
    place.run("job list group:mail").failed(2, &["16 hexadecimal digits"]);
    let both = ["errors", "retry", "0123456789abcdef", "--one", "--over", "1m"];
    place.args(&both).failed(2, &["cannot be used with"]);
}
