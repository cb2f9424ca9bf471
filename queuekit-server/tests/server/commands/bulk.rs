//! One action on the jobs of a filter, and the filters themselves.

use serde_json::json;

use crate::commands::targets::{Place, in_every_place};

in_every_place! {
    filters_find_what_they_say,
    a_dry_run_counts_and_changes_nothing,
    nothing_is_changed_before_somebody_says_yes,
    an_action_is_done_to_all_that_match,
    a_list_has_as_many_pages_as_it_needs,
    dead_letters_are_listed_brought_back_and_purged,
}

/// Two mails, of which one is dead, and a call.
fn three(place: &Place) -> [String; 3] {
    let ids = [
        place.enqueue("mail --queue mails --partition-key ada"),
        place.enqueue("mail --queue mails"),
        place.enqueue(r#"call --payload {"user":{"id":7}} --queue calls --metadata tenant=acme"#),
    ];
    place.args(&["job", "dead-letter", &ids[1], "--reason", "it timed out twice"]).ok();
    ids
}

fn found(place: &Place, filter: &[&str]) -> Vec<String> {
    let args = [&["job", "list", "--json"], filter].concat();
    let told = place.args(&args).ok();
    let id = |line: &str| {
        let job: serde_json::Value = serde_json::from_str(line).unwrap();
        job["id"].as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = told.lines().map(id).collect();
    ids.sort();
    ids
}

fn filters_find_what_they_say(place: &Place) {
    let [one, two, three] = three(place);
    let mut all = vec![one.clone(), two.clone(), three.clone()];
    all.sort();
    for (filter, ids) in [
        (&["queue:mails", "status:pending"][..], vec![one.clone()]),
        (&["status:dead kind:mail"], vec![two.clone()]),
        (&["status:dead,ready", "older:0s"], all.clone()),
        (&["error:\"timed out\""], vec![two]),
        (&["kind:call"], vec![three.clone()]),
        (&["meta.tenant:acme", "payload.user.id:7"], vec![three.clone()]),
        (&["payload.user.id:8"], vec![]),
        (&[format!("id:{}", &three[..30]).as_str()], vec![three]),
        (&["key:ada"], vec![one]),
        (&["older:1h"], vec![]),
        (&["newer:1h"], all),
        (&["ended:1h"], vec![]),
    ] {
        assert_eq!(found(place, filter), ids, "{filter:?}");
    }
    place.args(&["job", "list", "error:timed out"]).failed(2, &["out is not a filter"]);
}

fn a_dry_run_counts_and_changes_nothing(place: &Place) {
    three(place);
    let told = place.run("job delete kind:mail --dry-run").ok();
    assert_eq!(told, "2 jobs would be deleted; nothing was changed\n");
    let counted = place.json("job retry kind:mail status:dead,ready --dry-run");
    assert_eq!(counted, json!({"dry_run": true, "matched": 1, "changed": 0, "skipped": 0}));
    assert_eq!(found(place, &[]).len(), 3);
    assert_eq!(found(place, &["status:dead"]).len(), 1);
}

fn nothing_is_changed_before_somebody_says_yes(place: &Place) {
    three(place);
    let refused = place.run("job delete kind:mail");
    refused.failed(2, &["delete 2 jobs?", "--yes", "--dry-run"]);
    assert_eq!(found(place, &[]).len(), 3);
    place.run("job delete error: --yes").failed(2, &["has no text"]);
    place
        .run("job retry status:ready --yes")
        .failed(2, &["only for jobs that are dead, cancelled"]);
    place.args(&["job", "delete", ""]).failed(2, &["name jobs by id, or by a filter"]);
}

fn an_action_is_done_to_all_that_match(place: &Place) {
    let [one, two, call] = three(place);
    assert_eq!(place.run("job retry kind:mail -y").ok(), "1 job retried\n");
    let rescheduled = place.json("job reschedule kind:mail --in 1h --yes");
    assert_eq!(rescheduled["changed"], 2);
    assert_eq!(found(place, &["status:scheduled"]), {
        let mut ids = vec![one, two];
        ids.sort();
        ids
    });
    assert_eq!(place.json("job cancel queue:calls --yes")["changed"], 1);
    assert_eq!(found(place, &["status:cancelled"]), [call]);
    let args = ["job", "dead-letter", "kind:mail", "--yes", "--json", "--reason", "why not"];
    assert_eq!(place.args(&args).json()["changed"], 2);
    assert_eq!(place.json("job delete status:dead,cancelled --yes")["changed"], 3);
    assert!(found(place, &[]).is_empty());
    place.run("job delete kind:mail --yes --force").failed(2, &["--force needs ids of jobs"]);
}

fn a_list_has_as_many_pages_as_it_needs(place: &Place) {
    place.run("enqueue x --count 450").ok();
    assert_eq!(place.lines("job list --limit 450").len(), 450);
    let some = place.run("job list --limit 230 --json");
    assert_eq!(some.stdout.lines().count(), 230);
    some.failed(0, &["more jobs match"]);
    assert!(!place.run("job list --limit 450").stderr.contains("more"));
    place.run("job list --limit 0").failed(2, &["--limit"]);
    assert_eq!(place.json("job cancel kind:x --yes")["changed"], 450);
}

fn dead_letters_are_listed_brought_back_and_purged(place: &Place) {
    let [_, two, _] = three(place);
    let queues = place.lines("dlq list");
    assert_eq!((queues.len(), &queues[0]["name"]), (1, &json!("mails")));
    assert!(place.run("dlq show mails").ok().contains("it timed out twice"));
    assert_eq!(place.json("dlq show mails kind:mail")["id"], two.as_str());
    place.run("dlq show mails status:ready").failed(2, &["all jobs are dead"]);
    place.run("dlq show nails").failed(3, &["the queue does not exist"]);
    assert_eq!(place.run("dlq retry mails --yes").ok(), "1 job retried\n");
    assert_eq!(place.run("dlq list").ok(), "no queue has dead jobs\n");
    place.run(&format!("job dead-letter {two}")).ok();
    assert_eq!(place.run("dlq purge mails kind:mail --dry-run").ok().lines().count(), 1);
    assert_eq!(place.json("dlq purge mails kind:mail --yes")["changed"], 1);
    place.run(&format!("job show {two}")).failed(3, &["the job does not exist"]);
}
