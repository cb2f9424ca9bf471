//! Commands that follow what happens.

use serde_json::json;

use crate::commands::stub_server::stub;
use crate::commands::targets::{Place, in_every_place};
use crate::sandbox::Sandbox;

in_every_place! {
    a_job_is_followed_until_it_has_ended,
    what_ends_badly_ends_the_command_badly,
    figures_are_told_again_when_they_change,
}

fn a_job_is_followed_until_it_has_ended(place: &Place) {
    let id = place.args(&["enqueue", "echo", "--payload", "7", "--delay", "1h"]).ok();
    let mut watch = place.start(&format!("job watch {}", id.trim()));
    assert_eq!(watch.line(), "scheduled\n");
    let _worker = place.start(&format!("work --url {}", place.url));
    place.run(&format!("job reschedule {} --in 0s", id.trim())).ok();
    let mut status = watch.line();
    while status != "completed\n" {
        assert!(["ready\n", "running\n"].contains(&status.as_str()), "{status}");
        status = watch.line();
    }
    assert_eq!(watch.ended().0, Some(0));
    assert_eq!(place.json(&format!("job watch {}", id.trim()))["result"], 7);
}

fn what_ends_badly_ends_the_command_badly(place: &Place) {
    let id = place.enqueue("x");
    let mut watch = place.start(&format!("job watch {id}"));
    assert_eq!(watch.line(), "ready\n");
    place.run(&format!("job cancel {id}")).ok();
    assert_eq!(watch.line(), "cancelled\n");
    assert_eq!(watch.ended().0, Some(1));
    place
        .run("job watch 01890a5d-ac96-774b-bcce-b302099a8057")
        .failed(3, &["the job does not exist"]);
}

fn figures_are_told_again_when_they_change(place: &Place) {
    place.enqueue("x");
    let mut stats = place.start("stats --watch --json");
    assert!(stats.line().contains("\"ready\":1"));
    place.enqueue("x");
    assert!(stats.line().contains("\"ready\":2"));
    stats.signal("TERM");
}

#[test]
fn figures_go_on_when_a_server_has_no_time_for_a_while() {
    let url = stub(|n, path| match (n, path) {
        (2, _) => (503, String::new()),
        (_, path) if path.starts_with("/v1/queues?") => (200, r#"{"queues": []}"#.to_owned()),
        (1, _) => (200, r#"{"workers": []}"#.to_owned()),
        _ => {
            let worker = json!({"id": "w", "name": "w", "queues": [], "more_queues": false,
                "kinds": [], "more_kinds": false, "slots": 3, "running": 0, "age_ms": 1});
            (200, json!({ "workers": [worker] }).to_string())
        }
    });
    let mut stats = Sandbox::new().start(&["stats", "--watch", "--json", "--server", &url]);
    assert!(stats.line().contains("\"slots\":0"));
    assert!(stats.line().contains("\"slots\":3"));
    stats.signal("TERM");
    assert!(stats.ended().1.contains("; retrying"));
    // Once is once.
    let url = stub(|_, _| (503, String::new()));
    Sandbox::new().run(&["stats", "--server", &url]).failed(1, &["503"]);
}

#[test]
fn what_will_not_pass_ends_a_watch_at_once() {
    let url = stub(|_, _| (501, String::new()));
    let ran = Sandbox::new().run(&["stats", "--watch", "--server", &url]);
    ran.failed(1, &["501"]);
    assert!(!ran.stderr.contains("; retrying"), "{}", ran.stderr);
}
