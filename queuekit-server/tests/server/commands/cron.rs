//! `queuekit cron`.

use serde_json::json;

use crate::commands::targets::{Place, in_every_place};
use crate::common::{Server, Store};

in_every_place! {
    a_schedule_is_put_listed_run_and_deleted,
    the_next_times_are_told,
    a_schedule_that_can_never_run_is_refused_with_the_reason,
}

fn a_schedule_is_put_listed_run_and_deleted(place: &Place) {
    assert!(place.run("cron list").ok().starts_with("no schedules"));
    let args = ["cron", "put", "nightly", "report", "--cron", "30 2 * * *"];
    let told = place.args(&[&args[..], &["--zone", "Europe/Berlin"]].concat()).ok();
    assert!(told.starts_with("nightly was created; it runs in "), "{told}");
    let told = place.args(&[&args[..], &["--paused"]].concat()).ok();
    assert_eq!(told, "nightly was replaced; it runs: paused\n");
    assert_eq!(place.json("cron resume nightly")["paused"], false);
    let told = place.run("cron reset nightly").ok();
    assert!(told.contains("when a program that declares it starts"), "{told}");
    assert_eq!(place.run("cron pause nightly").ok(), "nightly runs: paused\n");
    let told = place.args(&args).ok();
    assert!(told.ends_with("it runs: paused\n"), "a pause is the operator's: {told}");
    let every = "cron put ping http --every 5m --queue pings --catch-up 3 --overlap skip \
                 --jitter 1s --max-attempts 2 --end 30d --payload {\"a\":12345678901234567890}";
    let put = place.run(&format!("{every} --json")).ok();
    assert!(put.contains("12345678901234567890"), "{put}");
    let put: serde_json::Value = serde_json::from_str(&put).unwrap();
    let wanted =
        [("every_ms", json!(300_000)), ("jitter_ms", json!(1000)), ("overlap", json!("skip"))];
    for (name, value) in wanted {
        assert_eq!(put[name], value, "{put}");
    }
    let listed = place.run("cron list").ok();
    assert!(listed.contains("30 2 * * * UTC") && listed.contains("every 5m"), "{listed}");
    let id = place.run("cron run ping").ok();
    let job = place.json(&format!("job show {}", id.trim()));
    assert_eq!((&job["queue"], &job["max_attempts"]), (&json!("pings"), &json!(2)));
    assert_eq!(place.lines("cron list").len(), 2);
    place.run("cron delete ping").failed(2, &["delete the schedule ping, every 5m?", "--yes"]);
    assert_eq!(place.lines("cron list").len(), 2, "nothing was changed");
    assert_eq!(place.json("cron delete ping --yes")["outcome"], "deleted");
    place.run("cron delete ping --yes").failed(3, &["the schedule does not exist"]);
    for command in ["delete", "run", "next", "pause", "resume", "reset"] {
        place.run(&format!("cron {command} ping")).failed(3, &["the schedule does not exist"]);
    }
}

fn the_next_times_are_told(place: &Place) {
    let args = ["cron", "put", "yearly", "x", "--cron", "0 0 1 1 *", "--zone", "Asia/Tokyo"];
    place.args(&args).ok();
    let next = place.json("cron next yearly --count 3")["next"].clone();
    let next = next.as_array().unwrap();
    assert_eq!(next.len(), 3);
    assert!(next.iter().all(|at| at.as_str().unwrap().ends_with("-12-31T15:00:00.000Z")));
    assert_eq!(place.run("cron next yearly").ok().lines().count(), 5);
    place.run("cron pause yearly").ok();
    assert!(place.run("cron next yearly").ok().starts_with("the schedule is paused"));
    assert_eq!(place.json("cron next yearly")["next"], json!([]));
    place.run("cron next yearly --count 0").failed(2, &["1..=100"]);
}

fn a_schedule_that_can_never_run_is_refused_with_the_reason(place: &Place) {
    for (args, said) in [
        (&["--cron", "0 0 30 2 *"][..], "no time ever matches"),
        (&["--cron", "61 * * * *"], "cron"),
        (&["--cron", "0 0 * * *", "--zone", "Mars/Base"], "zone"),
        (&["--every", "1ms"], "every"),
        (&["--every", "5m", "--catch-up", "often"], "write skip, once or a number"),
        (&["--every", "5m", "--zone", "UTC"], "cannot be used with"),
        (&["--every", "5m", "--cron", "0 0 * * *"], "cannot be used with"),
        (&[], "--cron <EXPRESSION>|--every <DURATION>"),
    ] {
        let ran = place.args(&[&["cron", "put", "a", "x"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(place.run("cron list --json").ok(), "");
}

#[test]
fn a_schedule_is_shown_with_all_that_was_put() {
    let server = Server::start(Store::of("sqlite").unwrap(), &[]);
    let put = |schedule: &serde_json::Value| {
        server.ask("PUT", "/v1/schedules/nightly").json(schedule).value()
    };
    let job = json!({
        "kind": "report", "queue": "reports", "payload": {"a": 1}, "max_attempts": 7,
        "priority": 31, "timeout_ms": 61_000, "deadline_ms": 3_600_000, "partition_key": "k",
        "metadata": {"team": "sales"},
    });
    let mut given = json!({
        "cron": "30 2 * * *", "zone": "Europe/Berlin", "job": job, "catch_up": {"all": 3},
        "overlap": "skip", "jitter_ms": 1000, "start": "2027-01-01T00:00:00.000Z",
        "end": "2037-01-01T00:00:00.000Z", "paused": true,
    });
    put(&given);
    let shown = server.get("/v1/schedules/nightly").send().value();
    for (name, value) in given.as_object().unwrap() {
        assert_eq!(&shown[name], value, "{name}");
    }
    // What was shown for a job of which little is said means the same when it is given back.
    given["job"] = json!({"kind": "report", "payload_base64": "/w=="});
    let shown = put(&given);
    given["job"] = shown["job"].clone();
    assert_eq!(put(&given)["job"], shown["job"]);
    assert_eq!(server.get("/v1/schedules").send().value()["schedules"][0]["job"], shown["job"]);
}
