//! `queuekit queue`, `worker` and `stats`.

use serde_json::{Value, json};

use crate::commands::targets::{Place, in_every_place};

in_every_place! {
    a_queue_is_shown_paused_set_up_emptied_and_removed,
    a_slip_of_the_pen_makes_no_queue,
    what_is_kept_is_changed_bound_by_bound,
    dead_jobs_are_not_kept_for_less_before_somebody_says_yes,
    figures_are_of_the_whole_store,
    the_last_hour_is_shown_by_queue,
    workers_are_listed,
    a_worker_obeys_orders,
    a_worker_is_removed,
    audit_shows_who_changed_what,
}

fn a_queue_is_shown_paused_set_up_emptied_and_removed(place: &Place) {
    place.run("enqueue x --queue a --count 3").ok();
    let listed = place.run("queue list").ok();
    assert!(listed.lines().nth(1).unwrap().starts_with("a          3"), "{listed}");
    place.run("queue pause a").ok();
    assert!(place.run("queue list").ok().trim_end().ends_with("paused"));
    assert_eq!(place.json("queue show a")["paused"], true);
    assert_eq!(place.json("queue resume a")["paused"], false);
    place.args(&["queue", "pause", "a", "--reason", "the provider is down", "--for", "30m"]).ok();
    let listed = place.run("queue list").ok();
    assert!(listed.contains("paused, 29m 5") || listed.contains("paused, 30m"), "{listed}");
    assert!(place.run("queue show a").ok().contains("- paused: the provider is down"));
    let settings = place.json("queue show a")["settings"].clone();
    assert_eq!(settings["pause_reason"], "the provider is down");
    assert!(settings["paused_until"].is_string(), "{settings}");
    place.run("queue pause a --for 367d").failed(2, &["for_ms must be 1 ms to 366 days"]);
    place.run("queue resume a").ok();
    let set = "queue set a --max-pending 10 --per-key 1 --key-on-wait skip --key-on-dead hold \
               --order fair --dedup-window 1h";
    let settings = place.json(set);
    let wanted = [
        ("max_pending", json!(10)),
        ("per_key", json!(1)),
        ("key_on_wait", json!("skip")),
        ("key_on_dead", json!("hold")),
        ("order", json!("fair")),
        ("dedup_window_ms", json!(3_600_000)),
    ];
    for (name, value) in wanted {
        assert_eq!(settings[name], value, "{name}");
    }
    assert_eq!(place.json("queue set a --max-pending none")["max_pending"], json!(null));
    let described = ["queue", "set", "a", "--description", "mails\nof \"orders\""];
    place.args(&described).ok();
    let told = place.run("queue show a").ok();
    assert!(told.contains("\ndescription       mails\n                  of \"orders\""), "{told}");
    assert_eq!(place.json("queue show a")["settings"]["description"], "mails\nof \"orders\"");
    place
        .args(&["queue", "set", "a", "--description", "\u{7}"])
        .failed(2, &["description must be"]);
    place.run("queue set a").failed(2, &["no setting to change"]);
    place.run("queue set a --order odd").failed(2, &["strict, fair"]);
    place.run("queue remove a").failed(1, &["jobs in the queue: 3"]);
    assert_eq!(place.run("queue purge a --yes").ok(), "3 jobs deleted\n");
    place.run("queue remove a").ok();
    place.run("queue remove a").failed(3, &["the queue does not exist"]);
    place.run("enqueue x --queue b").ok();
    place.run("queue remove b --force").failed(2, &["remove b with 1 job?", "--yes"]);
    place.run("queue remove c --force").failed(3, &["the queue does not exist"]);
    let told = place.json("queue remove b --force --dry-run");
    assert_eq!(told, json!({"queue": "b", "outcome": "unchanged", "jobs": 1}));
    place.run("queue remove b --dry-run").failed(2, &["--force"]);
    assert_eq!(place.lines("job list queue:b").len(), 1, "nothing was changed");
    place.run("queue remove b --force --yes").ok();
    assert_eq!(place.run("queue list --json").ok(), "");
}

fn a_slip_of_the_pen_makes_no_queue(place: &Place) {
    place.run("enqueue x --queue mails").ok();
    for command in ["show", "pause", "resume", "purge"] {
        place.run(&format!("queue {command} nails")).failed(3, &["the queue does not exist"]);
    }
    assert_eq!(place.lines("queue list").len(), 1);
    place.args(&["queue", "show", "a b"]).failed(2, &["queue must be"]);
}

fn what_is_kept_is_changed_bound_by_bound(place: &Place) {
    let before = place.json("queue set a --keep-done 7d")["retention"].clone();
    assert_eq!(before["done"]["age_ms"], 604_800_000);
    let after = place.json("queue set a --keep-dead 30d --keep-done-jobs none");
    assert_eq!(after["retention"]["done"]["age_ms"], 604_800_000, "it stays");
    assert_eq!(after["retention"]["done"]["jobs"], json!(null));
    assert_eq!(after["retention"]["dead"]["age_ms"], 2_592_000_000_u64);
    let told = place.run("queue show a").ok();
    assert!(told.contains("keep done         7d"), "{told}");
}

fn dead_jobs_are_not_kept_for_less_before_somebody_says_yes(place: &Place) {
    let kept = || place.json("queue show a")["settings"]["retention"]["dead"].clone();
    place.run("queue set a --keep-dead 30d").ok();
    let id = place.enqueue("x --queue a");
    place.run(&format!("job dead-letter {id}")).ok();
    for shorter in ["--keep-dead 10m", "--keep-dead-jobs 0", "--keep-dead 29d --max-pending 9"] {
        let refused = place.run(&format!("queue set a {shorter}"));
        refused.failed(2, &["1 job in its dead-letter queue", "delete", "--yes", "`dlq show a`"]);
    }
    assert_eq!((&kept()["age_ms"], &kept()["jobs"]), (&json!(2_592_000_000_u64), &json!(null)));
    for longer in ["--keep-dead 31d", "--keep-dead none", "--keep-done 10m", "--max-pending 9"] {
        place.run(&format!("queue set a {longer}")).ok();
    }
    place.run("queue set a --keep-dead 10m --yes").ok();
    assert_eq!(kept()["age_ms"], 600_000);
}

fn figures_are_of_the_whole_store(place: &Place) {
    place.run("enqueue echo --count 3").ok();
    place.run("enqueue x --queue other --delay 1h").ok();
    place.work();
    let stats = place.json("stats");
    assert_eq!((&stats["jobs"]["completed"], &stats["jobs"]["scheduled"]), (&json!(3), &json!(1)));
    assert_eq!(stats["queues"], 2);
    let told = place.run("stats").ok();
    assert!(told.starts_with("jobs     3 completed, 1 scheduled\nqueues   2\n"), "{told}");
}

/// A worker tells how its runs were before it ends.
fn the_last_hour_is_shown_by_queue(place: &Place) {
    place.run("enqueue echo --queue mails --count 3").ok();
    place.run("enqueue echo --queue other").ok();
    place.args(&["work", "--until-idle", "--queues", "mails,other", "--url", &place.url]).ok();
    let completed = |asked: &str| -> u64 {
        let answers = place.lines(asked);
        let runs = answers.iter().flat_map(|answer| answer["runs"].as_array().unwrap());
        runs.map(|runs| runs["completed"].as_u64().unwrap()).sum()
    };
    assert_eq!(completed("stats --history 1h"), 4);
    assert_eq!(completed("stats --history 1h --queue mails"), 3);
    assert_eq!(completed("stats --history 1h --kind other"), 0);
    let told = place.run("stats --history 1h").ok();
    let queues = told.lines().skip(1).map(|line| line.split_whitespace().next().unwrap());
    assert_eq!(queues.collect::<Vec<_>>(), ["mails", "other"], "{told}");
    let row: Vec<&str> = told.lines().nth(1).unwrap().split_whitespace().collect();
    assert!(row[5..].iter().all(|time| time.starts_with('<')), "waits and run times: {told}");
    place.run("stats --history").failed(2, &["--history"]);
    place.run("stats --queue mails").failed(2, &["--history"]);
}

fn workers_are_listed(place: &Place) {
    assert!(place.run("worker list").ok().starts_with("no workers"));
    let args = ["work", "--url", &place.url, "--name", "mailer", "--concurrency", "3"];
    let _worker = place.start(&args.join(" "));
    let mut workers = place.lines("worker list");
    while workers.is_empty() {
        workers = place.lines("worker list");
    }
    assert_eq!((&workers[0]["name"], &workers[0]["slots"]), (&json!("mailer"), &json!(3)));
    let told = place.run("worker list").ok();
    assert!(told.lines().nth(1).unwrap().contains("mailer-"), "{told}");
}

fn a_worker_obeys_orders(place: &Place) {
    place.run("worker quiet --all").failed(3, &["the worker does not exist"]);
    place.run("worker quiet").failed(2, &["<ID|--name <NAME>|--all>"]);
    place.run("worker slots 0 --all").failed(2, &["slots must be"]);
    // Then it beats every third of a second.
    place.write("queuekit.toml", "lease_ms = 1000\n");
    let args = ["work", "--url", &place.url, "--name", "mailer", "--concurrency", "3"];
    let mut worker = place.start(&args.join(" "));
    let listed = |is: &dyn Fn(&Value) -> bool| loop {
        let workers = place.lines("worker list");
        if let Some(worker) = workers.into_iter().find(|worker| is(worker)) {
            return worker;
        }
    };
    let id = listed(&|_| true)["id"].as_str().unwrap().to_owned();
    let told = place.run("worker quiet --name mailer").ok();
    assert_eq!(told, "the order was given to 1 worker; each obeys at its next beat\n");
    listed(&|worker| worker["orders"] == Value::Null);
    place.run(&format!("worker slots 2 {id}")).ok();
    listed(&|worker| worker["slots"] == 2);
    let shown = place.run(&format!("worker show {id}")).ok();
    for text in [&format!("worker   {id}\n"), "name     mailer\n", "running  0 of 2 slots\n"] {
        assert!(shown.contains(text), "{shown}");
    }
    let job = place.enqueue("echo");
    place.run("worker resume --all").ok();
    while place.json(&format!("job show {job}"))["status"] != "completed" {}
    place.run(&format!("worker stop {id}")).ok();
    assert_eq!(worker.ended().0, Some(0), "a drain is no failure");
    place.run(&format!("worker show {id}")).failed(3, &["the worker does not exist"]);
}

fn a_worker_is_removed(place: &Place) {
    place.run("worker remove gone").failed(3, &["the worker does not exist"]);
    place.run("worker remove a/b").failed(2, &["worker must be"]);
    let args = ["work", "--url", &place.url, "--name", "mailer"];
    let worker = place.start(&args.join(" "));
    let mut workers = place.lines("worker list");
    while workers.is_empty() {
        workers = place.lines("worker list");
    }
    drop(worker);
    let id = workers[0]["id"].as_str().unwrap();
    let told = place.run(&format!("worker remove {id}")).ok();
    assert_eq!(told, format!("{id} was removed; if it still runs, it is listed again\n"));
    assert_eq!(place.lines("worker list").len(), 0);
    place.run("enqueue echo").ok();
    place.work();
    assert_eq!(place.json("stats")["workers"], 0, "one that has ended is listed no more");
}

fn audit_shows_who_changed_what(place: &Place) {
    place.enqueue("x --queue mail");
    place.run("queue pause mail").ok();
    place.run("queue resume mail").ok();
    let entry = place.json("audit --limit 1");
    assert_eq!(entry["action"], "configure");
    assert_eq!(entry["target"], r#"queue mail {"paused":false}"#);
    let who = entry["who"].as_str().expect("who did it");
    // A server without keys does not know who asks; a command on the store names its account.
    assert!(who == "-" || who.contains('@'), "{who}");
    let shown = place.run("audit").ok();
    assert!(shown.contains("configure") && shown.contains("WHO"), "{shown}");
}
