//! `queuekit event` and `queuekit subscription`.

use serde_json::json;

use crate::commands::targets::{Place, in_every_place};

in_every_place! {
    an_event_reaches_who_subscribed,
    an_event_with_a_known_key_is_stored_once,
    events_are_replayed_to_a_new_consumer,
    how_long_events_stay_is_shown_and_changed,
    what_breaks_a_rule_is_refused,
}

fn how_long_events_stay_is_shown_and_changed(place: &Place) {
    place.run("event emit order.paid").ok();
    let kept = |age_ms: u64, events: u64| json!({"age_ms": age_ms, "events": events});
    assert_eq!(place.json("event retention"), kept(604_800_000, 1_000_000));
    assert_eq!(place.json("event retention --age 30d"), kept(2_592_000_000, 1_000_000));
    let shown = place.run("event retention --events 5").ok();
    assert_eq!(shown, "events are kept for 30d, at most 5 of them\n");
    place.run("event retention --age 9m").failed(2, &["at least 10 min"]);
    place.run("event retention --events 0").failed(2, &["at least 1"]);
    assert_eq!(place.json("event retention"), kept(2_592_000_000, 5));
}

fn an_event_reaches_who_subscribed(place: &Place) {
    assert!(place.run("subscription list").ok().starts_with("no subscriptions"));
    let put =
        "subscription put shipping order.* --ordered --max-attempts 5 --timeout 10s --delay 0s";
    assert_eq!(place.run(put).ok(), "shipping is subscribed to order.*\n");
    let emit = "event emit order.paid --partition-key o7 --data {\"n\":12345678901234567890}";
    let id = place.run(emit).ok();
    let delivery = place.json("job list queue:event.shipping");
    assert_eq!((&delivery["partition_key"], &delivery["max_attempts"]), (&json!("o7"), &json!(5)));
    let listed = place.run("event list order.* --json").ok();
    assert!(listed.contains(id.trim()) && listed.contains("12345678901234567890"), "{listed}");
    assert!(place.run("event list").ok().contains("order.paid"));
    let subscription = place.json("subscription list");
    assert_eq!(
        (&subscription["consumer"], &subscription["stats"]["depth"]),
        (&json!("shipping"), &json!(1))
    );
    let listed = place.run("subscription list").ok();
    let row: Vec<&str> = listed.lines().nth(1).unwrap().split_whitespace().collect();
    // One delivery waits, and one was enqueued.
    assert_eq!(row[..8], ["shipping", "order.*", "1", "0", "0", "1", "0", "0"], "{listed}");
    assert!(listed.contains("ordered"));
    assert_eq!(
        place.run("subscription put shipping order.* --disabled").ok(),
        "shipping is now subscribed to order.*, but disabled\n"
    );
    assert!(place.run("subscription list").ok().contains("disabled"));
    assert_eq!(place.json("subscription enable shipping")["enabled"], true);
    let disabled = place.json("subscription disable shipping");
    assert_eq!((&disabled["enabled"], &disabled["events"]), (&json!(false), &json!("order.*")));
    place.run("subscription disable nobody").failed(3, &["the subscription does not exist"]);
    let put = place.json("subscription put shipping order.* --fair");
    assert_eq!((&put["fair"], &put["enabled"]), (&json!(true), &json!(false)), "it stays disabled");
    let asked = "delete the subscription of shipping to order.*?";
    place.run("subscription delete shipping").failed(2, &[asked, "--yes"]);
    assert_eq!(place.lines("subscription list").len(), 1, "nothing was changed");
    assert_eq!(place.json("subscription delete shipping --yes")["outcome"], "deleted");
    for yes in ["", " --yes"] {
        let again = place.run(&format!("subscription delete shipping{yes}"));
        again.failed(3, &["the subscription does not exist"]);
    }
}

fn an_event_with_a_known_key_is_stored_once(place: &Place) {
    let emit = "event emit order.paid --idempotency-key k";
    let first = place.json(emit);
    assert_eq!(first["outcome"], "emitted");
    let second = place.run(&format!("{emit} --json"));
    assert_eq!(second.json(), json!({"id": first["id"], "outcome": "duplicate"}));
    second.failed(0, &["nothing was stored"]);
    assert_eq!(place.lines("event list").len(), 1);
}

fn events_are_replayed_to_a_new_consumer(place: &Place) {
    for kind in ["order.paid", "order.sent", "user.left"] {
        place.run(&format!("event emit {kind}")).ok();
    }
    place.run("subscription put late order.*").ok();
    let replay = "subscription replay late --name first";
    let look = format!("{replay} --dry-run");
    assert_eq!(place.json(&look), json!({"matched": 2, "delivered": 0}));
    assert_eq!(place.json(replay), json!({"matched": 2, "delivered": 2}), "nothing was before");
    assert_eq!(place.json(&format!("{look} --from 0s"))["matched"], 0);
    assert_eq!(place.json(replay), json!({"matched": 2, "delivered": 0}), "under one name once");
    assert_eq!(place.json("subscription replay late --name other --from 0s")["matched"], 0);
    assert_eq!(place.lines("job list queue:event.late").len(), 2);
    place.run("subscription replay nobody --name a --dry-run").failed(3, &["does not exist"]);
    place.run("subscription replay nobody --name a").failed(3, &["has no subscription"]);
}

fn what_breaks_a_rule_is_refused(place: &Place) {
    place.args(&["event", "emit", "order paid"]).failed(2, &["kind must be"]);
    place.args(&["event", "emit", "a", "--data", "{a: 1}"]).failed(2, &["is not JSON"]);
    place.args(&["subscription", "put", "a", "order.*.x"]).failed(2, &["must be"]);
    let retry = ["subscription", "put", "a", "*", "--retry", "often"];
    place.args(&retry).failed(2, &["fixed MS"]);
    assert_eq!(place.run("subscription list --json").ok(), "");
}
