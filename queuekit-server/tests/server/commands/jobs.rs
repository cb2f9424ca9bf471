//! `queuekit job`, job by job.

use serde_json::json;

use crate::commands::targets::{Place, in_every_place};

in_every_place! {
    a_job_is_listed_shown_and_explained,
    r8_7_the_last_end_is_listed_first,
    numbers_and_bytes_come_out_as_they_went_in,
    no_text_of_a_job_steers_the_terminal,
    a_job_is_called_off_and_brought_back,
    a_job_is_rescheduled_dead_lettered_and_deleted,
    what_is_done_to_several_is_told_of_each,
    a_dead_job_shows_its_errors,
    a_released_job_shows_why,
    an_undecodable_job_shows_what_could_not_be_read,
}

fn a_job_is_listed_shown_and_explained(place: &Place) {
    assert_eq!(place.run("job list queue:mails").ok(), "no jobs match\n");
    let id = place.enqueue("mail --queue mails --delay 1h --partition-key ada");
    let listed = place.run("job list queue:mails").ok();
    let mut lines = listed.lines();
    let header: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["ID", "KIND", "QUEUE", "STATUS", "ATTEMPTS", "ENQUEUED", "DETAILS"]);
    let row: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(row[..5], [id.as_str(), "mail", "mails", "scheduled", "0/3"]);
    assert_eq!(lines.next(), None);
    let shown = place.run(&format!("job show {id}")).ok();
    for line in ["status         scheduled", "partition key  ada", "priority       10"] {
        assert!(shown.contains(line), "{shown}");
    }
    let why = place.run(&format!("job why {id}")).ok();
    assert!(why.contains("scheduled"), "{why}");
    assert_eq!(place.json(&format!("job why {id}"))["reason"], "scheduled");
    let steps = place.run(&format!("job checkpoints {id}")).ok();
    assert_eq!(steps, "the job has no checkpoints\n");
}

fn r8_7_the_last_end_is_listed_first(place: &Place) {
    let ids = ["b", "a", "b"].map(|queue| place.enqueue(&format!("mail --queue {queue}")));
    for id in &ids {
        place.run(&format!("job cancel {id}")).ok();
    }
    let listed = place.run("job list --recent").ok();
    assert!(listed.lines().next().unwrap().contains("ENDED"), "{listed}");
    let shown: Vec<&str> =
        listed.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(shown, [&ids[2], &ids[1], &ids[0]], "{listed}");
    let of_b = place.run("job list --recent queue:b --limit 1").ok();
    assert!(of_b.contains(&ids[2]) && !of_b.contains(&ids[0]), "{of_b}");
}

fn numbers_and_bytes_come_out_as_they_went_in(place: &Place) {
    let payload = r#"{"big": 12345678901234567890123, "fine": 0.10, "text":  "ä"}"#;
    let id = place.args(&["enqueue", "x", "--payload", payload]).ok();
    let shown = place.run(&format!("job show {} --json", id.trim())).ok();
    assert!(shown.contains(payload), "{shown}");
    assert!(place.run("job list --json").ok().contains(payload));
    assert!(place.run(&format!("job show {}", id.trim())).ok().contains(payload));
}

/// Of S13: texts are of those who enqueue jobs.
fn no_text_of_a_job_steers_the_terminal(place: &Place) {
    let odd = "k\u{1b}[31m\u{7}\u{202e}";
    let fact = format!("a{odd}=b\nstatus  completed");
    let args = ["enqueue", "x", "--payload", "\"a\u{7f}\u{9b}b\"", "--metadata", &fact];
    let id = place.args(&[&args[..], &["--partition-key", odd]].concat()).ok();
    place.args(&["enqueue", "x", "--partition-key", odd]).ok();
    place.args(&["event", "emit", "e", "--partition-key", odd]).ok();
    let blocked = place.json("job list status:blocked")["id"].as_str().unwrap().to_owned();
    let show = format!("job show {}", id.trim());
    let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    for command in [&show, &format!("job why {blocked}"), "job list", "event list"] {
        let told = place.run(command).ok();
        assert!(!told.contains(steers), "{command}: {told:?}");
        assert_eq!(told.matches("\nstatus ").count(), usize::from(command == show), "{told}");
    }
    let json = place.run(&format!("{show} --json")).ok();
    assert!(!json.contains(steers), "{json:?}");
    assert_eq!(place.json(&show)["payload"], "a\u{7f}\u{9b}b", "for programs it is the same");
}

fn a_job_is_called_off_and_brought_back(place: &Place) {
    let id = place.enqueue("x");
    let cancelled = place.json(&format!("job cancel {id}"));
    assert_eq!(cancelled, json!({"id": id, "outcome": "cancelled"}));
    assert_eq!(place.lines("job list status:cancelled").len(), 1);
    let told = place.run(&format!("job retry {id}")).ok();
    assert_eq!(told, format!("{id} retried\n"));
    place.run(&format!("job retry {id}")).failed(1, &[&id, "has not ended"]);
    place.run(&format!("job cancel {id}")).ok();
    assert_eq!(place.run(&format!("job retry --fresh {id}")).ok(), told);
    place.run("job retry --fresh status:dead").failed(2, &["--fresh needs ids of jobs"]);
}

fn a_job_is_rescheduled_dead_lettered_and_deleted(place: &Place) {
    let id = place.enqueue("x");
    place.run(&format!("job reschedule {id} --in 2h")).ok();
    assert_eq!(place.json("job list")["status"], "scheduled");
    place.run(&format!("job reschedule {id} --in 0s")).ok();
    assert_eq!(place.json("job list")["status"], "ready");
    place.args(&["job", "dead-letter", &id, "--reason", "no longer wanted"]).ok();
    let dead = place.json("job list status:dead");
    assert_eq!((dead["status"].as_str(), dead["id"].as_str()), (Some("dead"), Some(&*id)));
    assert!(place.run("job list status:dead").ok().contains("no longer wanted"));
    assert_eq!(place.json(&format!("job delete {id}"))["outcome"], "deleted");
    place.run(&format!("job delete {id}")).failed(3, &[&id, "the job does not exist"]);
    place.run(&format!("job show {id}")).failed(3, &["the job does not exist"]);
}

fn what_is_done_to_several_is_told_of_each(place: &Place) {
    let (one, two) = (place.enqueue("x"), place.enqueue("x"));
    let nobody = "01890a5d-ac96-774b-bcce-b302099a8057";
    let ran = place.run(&format!("job cancel {one} {nobody} {two}"));
    assert_eq!(ran.stdout, format!("{one} cancelled\n{two} cancelled\n"));
    ran.failed(3, &[nobody]);
    place.run(&format!("job cancel {one} --dry-run")).failed(2, &["--dry-run"]);
}

fn a_dead_job_shows_its_errors(place: &Place) {
    // Too long: the handler refuses it.
    let id = place.enqueue("sleep --payload {\"ms\":90000} --max-attempts 1");
    place.work();
    let shown = place.run(&format!("job show {id}")).ok();
    for text in ["status    dead", "attempts  1 of 1", "attempt 1 by worker-", "holds a slot"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

/// R13.8: the job, lists of jobs and `why` say what could not be read.
fn an_undecodable_job_shows_what_could_not_be_read(place: &Place) {
    let id = place.enqueue("sleep --payload \"long\"");
    place.work();
    let shown = place.run(&format!("job show {id}")).ok();
    for text in ["attempts     0 of 3", "undecodable  once, first ", "undecodable: payload of"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let listed = place.run("job list").ok();
    assert!(listed.contains("undecodable: payload of sleep at its top level"), "{listed}");
}

fn a_released_job_shows_why(place: &Place) {
    let id = place.enqueue("no-such-kind");
    place.work();
    let shown = place.run(&format!("job show {id}")).ok();
    for text in ["once", "released by worker-", "unknown kind"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}
