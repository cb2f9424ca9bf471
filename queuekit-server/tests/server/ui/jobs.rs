//! Jobs: their list, one of them, and what is done to one or to many.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Browser;
use crate::common::{Server, Store, by, guarded, guarded_with, on_every_store};

pub fn enqueue(server: &Server, job: &Value) -> String {
    let reply = server.ask("POST", "/v1/jobs").json(job).expect(201);
    reply.value()["id"].as_str().unwrap().to_owned()
}

/// A job that has died with this error.
fn dead(server: &Server, queue: &str, error: &str) -> String {
    let id = enqueue(server, &json!({"kind": "mail", "queue": queue, "payload": {"to": "ada"}}));
    let body = json!({ "reason": error });
    server.ask("POST", &format!("/v1/jobs/{id}/dead-letter")).json(&body).expect(200);
    id
}

pub fn status(server: &Server, id: &str) -> String {
    let job = server.get(&format!("/v1/jobs/{id}")).send().expect(200).value();
    job["status"].as_str().unwrap().to_owned()
}

/// A list, a job and its actions over each store.
fn jobs_are_found_shown_and_changed(server: &mut Server) {
    let id = dead(server, "mails", "no route to host 7\nat line 1");
    let browser = Browser::new(server);
    let list = browser.get("/ui/jobs?q=queue:mails+status:dead").expect(200).text;
    assert!(list.contains(&id) && list.contains("no route to host 7"), "{list}");
    let page = browser.get(&format!("/ui/jobs/{id}")).expect(200).text;
    for shown in ["no route to host 7", "at line 1", "ada", "Retry", "queuekit job show"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(page.contains("Only a job that waits"), "what is impossible says why");
    let payload = browser.get(&format!("/ui/jobs/{id}/payload")).expect(200);
    assert_eq!(payload.text, r#"{"to":"ada"}"#);
    assert!(payload.header("content-disposition").unwrap().starts_with("attachment"));
    let reply = browser.post(&format!("/ui/jobs/{id}/retry"), &[]).expect(303);
    let to = reply.header("location").unwrap().to_owned();
    assert_eq!(status(server, &id), "ready");
    assert!(browser.get(&to).expect(200).text.contains("The job is retried"));
    browser.post(&format!("/ui/jobs/{id}/retry"), &[]).expect(409);
    browser.post(&format!("/ui/jobs/{id}/cancel"), &[]).expect(303);
    assert_eq!(status(server, &id), "cancelled");
    browser.post(&format!("/ui/jobs/{id}/delete"), &[]).expect(303);
    browser.get(&format!("/ui/jobs/{id}")).expect(404);
    for path in ["/ui/errors", "/ui/schedules", "/ui/events", "/ui/audit", "/ui/doctor", "/ui/keys"]
    {
        browser.get(path).expect(200);
    }
}

on_every_store!(jobs_are_found_shown_and_changed);

/// Guard: jobs of another error would be read to the end, for a job that is not there.
#[test]
fn s6_a_test_of_an_error_group_looks_for_a_dead_job_for_a_moment_only() {
    const OTHERS: usize = 30_000;
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let id = dead(&server, "mails", "no route to host");
    let groups = server.get("/v1/errors?queue=mails").send().expect(200).value();
    let group = groups["groups"][0]["id"].as_str().unwrap().to_owned();
    let (page, retry) =
        (format!("/ui/errors/{group}?queue=mails"), format!("/ui/errors/{group}/retry-one"));
    let browser = Browser::new(&server);
    browser.post(&retry, &[("queue", "mails")]).expect(303);
    assert_eq!(status(&server, &id), "ready");
    assert!(browser.get(&page).expect(200).text.contains("None of its jobs is dead now"));
    let none = browser.post(&retry, &[("queue", "mails")]).expect(409).text;
    assert!(none.contains("None of its jobs is dead now"), "{none}");
    server.ask("POST", &format!("/v1/jobs/{id}/cancel")).json(&json!({})).expect(200);
    let others = vec![json!({"kind": "mail", "queue": "mails"}); 1000];
    for _ in 0..OTHERS / 1000 {
        server.ask("POST", "/v1/jobs").json(&json!({ "jobs": others })).expect(201);
    }
    let mut step =
        json!({"action": "dead-letter", "filter": {"queue": "mails", "status": "ready"}});
    step["reason"] = json!("the disk is full");
    step["limit"] = json!(1000);
    while server.ask("POST", "/v1/jobs/bulk").json(&step).expect(200).value()["changed"] != 0 {}
    let told = "No dead job of it was found in time: examined ";
    let shown = browser.get(&page).expect(200).text;
    assert!(shown.contains(told) && shown.contains("&#38;cursor="), "{shown}");
    let none = browser.post(&retry, &[("queue", "mails")]).expect(409).text;
    assert!(none.contains(told), "{none}");
}

#[test]
fn a_filter_is_the_words_of_the_command_line_and_one_that_is_wrong_says_why() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let id = enqueue(&server, &json!({"kind": "a", "queue": "q", "metadata": {"tenant": "x y"}}));
    let other = enqueue(&server, &json!({"kind": "b", "queue": "q"}));
    let browser = Browser::new(&server);
    let words = "kind:a+meta.tenant:%22x+y%22";
    let page = browser.get(&format!("/ui/jobs?q={words}")).expect(200).text;
    assert!(page.contains(&id) && !page.contains(&other), "{page}");
    let added = browser.get("/ui/jobs?q=queue:q&add=kind:b").expect(303);
    assert_eq!(added.header("location"), Some("/ui/jobs?q=queue%3Aq+kind%3Ab"));
    for (path, said) in [
        ("/ui/jobs?q=staus:dead", "did you mean `status`?"),
        ("/ui/jobs?q=queue:q&add=nonsense", "is not a filter"),
    ] {
        let page = browser.get(path).expect(200).text.replace("&#96;", "`");
        assert!(page.contains(said), "{path}: {page}");
    }
}

#[test]
fn s9_contents_that_the_settings_hide_are_on_no_page() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    let hidden = "[dashboard]\nredact = [{ queue = \"pay.*\" }, { kind = \"reset_*\" }]";
    std::fs::write(file, hidden).unwrap();
    let server = Server::start(store, &[]);
    let browser = Browser::new(&server);
    for (queue, kind, is_hidden) in [
        ("pay.card", "charge", true),
        ("mails", "reset_password", true),
        ("mails", "welcome", false),
    ] {
        let payload = json!({"secret": "hunter2"});
        let id = enqueue(&server, &json!({"kind": kind, "queue": queue, "payload": payload}));
        let page = browser.get(&format!("/ui/jobs/{id}")).expect(200).text;
        assert_eq!(!page.contains("hunter2"), is_hidden, "{queue} {kind}: {page}");
        assert_eq!(!page.contains("/copy\""), is_hidden, "{queue} {kind}: {page}");
        for part in ["payload", "copy"] {
            let reply = browser.get(&format!("/ui/jobs/{id}/{part}"));
            assert_eq!(
                (reply.status, reply.text.contains("hunter2")),
                match is_hidden {
                    true => (403, false),
                    false => (200, true),
                }
            );
        }
        let fields = [("payload", "{}"), ("queue", queue)];
        let reply = browser.post(&format!("/ui/jobs/{id}/copy"), &fields);
        assert_eq!(reply.status, if is_hidden { 403 } else { 303 });
    }
}

#[test]
fn s9_the_data_of_events_is_hidden_by_a_rule_for_the_queue_of_a_consumer() {
    let store = Store::of("memory").unwrap();
    let file = store.directory.path().join("queuekit.toml");
    std::fs::write(file, "[dashboard]\nredact = [{ queue = \"event.books\", kind = \"paid\" }]")
        .unwrap();
    let server = Server::start(store, &[]);
    for (kind, data) in [("paid", "hunter2"), ("sent", "visible")] {
        let event = json!({"type": kind, "data": data});
        server.ask("POST", "/v1/events").json(&event).expect(201);
    }
    let page = Browser::new(&server).get("/ui/events").expect(200).text;
    assert!(!page.contains("hunter2") && page.contains("visible"), "{page}");
}

#[test]
fn a_copy_has_the_kind_of_its_original_and_another_payload() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let job = json!({"kind": "mail", "queue": "q", "payload": {"n": 12345678901234567890_u64}});
    let id = enqueue(&server, &job);
    let browser = Browser::new(&server);
    let form = browser.get(&format!("/ui/jobs/{id}/copy")).expect(200).text;
    assert!(form.contains("12345678901234567890"), "no number goes through a float");
    let copy = |fields: &[(&str, &str)]| browser.post(&format!("/ui/jobs/{id}/copy"), fields);
    let fields = [("payload", r#"{"n":98765432109876543210}"#), ("kind", "rm"), ("delay", "1h")];
    let reply = copy(&fields).expect(303);
    let to = reply.header("location").unwrap().split('?').next().unwrap().to_owned();
    let new = to.rsplit('/').next().unwrap();
    let stored = server.get(&format!("/v1/jobs/{new}")).send().expect(200);
    assert!(stored.text.contains("98765432109876543210"), "{}", stored.text);
    let stored = stored.value();
    assert_eq!((&stored["kind"], &stored["status"]), (&json!("mail"), &json!("scheduled")));
    for wrong in [&[("payload", "{")][..], &[("payload", "1"), ("delay", "soon")]] {
        let page = copy(wrong).expect(422).text;
        assert!(page.contains(wrong.last().unwrap().1), "what was typed is still there: {page}");
    }
}

/// Guard: the button led to a page that only says that it cannot be done.
#[test]
fn a_copy_that_no_form_can_make_is_disabled_with_the_reason() {
    let server = guarded();
    let job = |payload: Value| {
        let mut job = json!({"kind": "mail", "queue": "acme.mails"});
        job.as_object_mut().unwrap().extend(payload.as_object().unwrap().clone());
        let stored = by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201).value();
        format!("/ui/jobs/{}", stored["id"].as_str().unwrap())
    };
    let text = job(json!({"payload": 1}));
    let bytes = job(json!({"payload_base64": "//4="}));
    let large = job(json!({"payload": "x".repeat(256 * 1024)}));
    for (key, page, reason) in [
        ("admin", &text, None),
        ("reader", &text, Some("Your key lacks the scope enqueue")),
        ("admin", &bytes, Some("The payload is no text, so a form cannot change it")),
        ("admin", &large, Some("The payload is too large for a form")),
    ] {
        let page = Browser::of(&server, key).get(page).expect(200).text;
        assert_eq!(page.contains("/copy\""), reason.is_none(), "{reason:?}: {page}");
        let told = reason.map(|why| format!("<p class=\"why\" id=\"copy-why\">{why}</p>"));
        assert!(told.is_none_or(|told| page.contains(&told)), "{reason:?}: {page}");
    }
}

#[test]
fn a_list_says_its_order_and_why_an_action_is_impossible() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    dead(&server, "q", "why");
    enqueue(&server, &json!({"kind": "mail", "queue": "q"}));
    let browser = Browser::new(&server);
    let retry = "Only a dead or cancelled job can be retried";
    for (filter, order, is_possible) in [
        ("", "By queue, then by status", true),
        ("status:ready", "By queue, then by status", false),
        ("status:dead,completed", "The last to end first", true),
    ] {
        let page = browser.get(&format!("/ui/jobs?q={filter}")).expect(200).text;
        assert!(page.contains(order), "{filter}: {page}");
        let (_, button) = page.split_once("value=\"retry\"").expect(&page);
        let button = button.split("<button").next().unwrap();
        assert_eq!(!button.contains(retry), is_possible, "{filter}: {button}");
    }
}

#[test]
fn a_job_leads_to_its_schedule_and_its_consumer() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let job = json!({"kind": "report", "queue": "reports"});
    let schedule = json!({"cron": "30 2 * * *", "job": job});
    server.ask("PUT", "/v1/schedules/nightly").json(&schedule).expect(201);
    server.ask("POST", "/v1/schedules/nightly/run").json(&json!({})).expect(201);
    server.ask("PUT", "/v1/subscriptions/crm").json(&json!({"events": "user.*"})).expect(201);
    server.ask("POST", "/v1/events").json(&json!({"type": "user.left"})).expect(201);
    let browser = Browser::new(&server);
    let page_in = |queue: &str| {
        let jobs = server.get(&format!("/v1/jobs?queue={queue}")).send().expect(200).value();
        let id = jobs["jobs"][0]["id"].as_str().unwrap_or_else(|| panic!("{jobs}")).to_owned();
        browser.get(&format!("/ui/jobs/{id}")).expect(200).text
    };
    let page = page_in("reports");
    assert!(page.contains("href=\"/ui/schedules/nightly\""), "{page}");
    let page = page_in("event.crm");
    assert!(page.contains("href=\"/ui/consumers/crm\""), "{page}");
    // What anybody writes into metadata is no link, unless it can name a schedule.
    let job = json!({"kind": "t", "queue": "q", "metadata": {"schedule": "../../login"}});
    enqueue(&server, &job);
    let page = page_in("q");
    assert!(!page.contains("href=\"/ui/schedules/"), "{page}");
}

#[test]
fn selected_jobs_are_changed_and_what_destroys_asks_first() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let ids: Vec<String> = (0..3).map(|_| dead(&server, "q", "why")).collect();
    let browser = Browser::new(&server);
    let of = |action, ids: &[String], more: &[(&str, &str)]| {
        let mut fields = vec![("action", action), ("q", "queue:q")];
        fields.extend(ids.iter().map(|id| ("id", id.as_str())));
        fields.extend(more);
        browser.post("/ui/jobs/selected", &fields)
    };
    of("retry", &ids[..2], &[]).expect(303);
    let all: Vec<String> = ids.iter().map(|id| status(&server, id)).collect();
    assert_eq!(all, ["ready", "ready", "dead"]);
    let page = of("delete", &ids[2..], &[]).expect(200).text;
    assert!(page.contains("Delete 1 job?"), "{page}");
    assert_eq!(status(&server, &ids[2]), "dead", "nothing was done yet");
    of("delete", &ids[2..], &[("confirmed", "yes")]).expect(303);
    server.get(&format!("/v1/jobs/{}", ids[2])).send().expect(404);
    of("explode", &ids[..1], &[]).expect(422);
    of("retry", &[], &[]).expect(422);
    of("retry", &["nonsense".to_owned()], &[]).expect(422);
}

#[test]
fn all_that_match_are_counted_first_and_changed_though_nobody_looks() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    for _ in 0..1200 {
        dead(&server, "q", "why");
    }
    let browser = Browser::new(&server);
    let words = "queue:q status:dead";
    let page = browser.get("/ui/bulk?action=retry&q=queue:q+status:dead").expect(200).text;
    assert!(page.contains("Retry 1,200 jobs?"), "{page}");
    let fields = [("action", "delete"), ("q", words), ("matched", "1200")];
    browser.post("/ui/bulk", &fields).expect(422);
    let fields = [("action", "retry"), ("q", words), ("matched", "1200"), ("over", "0s")];
    let reply = browser.post("/ui/bulk", &fields).expect(303);
    let run = reply.header("location").unwrap().to_owned();
    let end = Instant::now() + Duration::from_secs(60);
    let left = || {
        let queue = server.get("/v1/queues/q").send().expect(200).value();
        queue["counts"]["dead"]["value"].as_u64().unwrap()
    };
    while left() > 0 {
        assert!(Instant::now() < end, "{} are left", left());
        std::thread::sleep(Duration::from_millis(20));
    }
    let page = browser.get(&run).expect(200).text;
    assert!(page.contains("1,200") && page.contains("done"), "{page}");
    for q in ["", "nonsense", "queue:"] {
        browser.get(&format!("/ui/bulk?action=retry&q={q}")).expect(422);
    }
    browser.get("/ui/bulk?action=explode&q=queue:q").expect(404);
}

/// Guard: runs are remembered, and a form may have megabytes.
#[test]
fn s6_a_run_with_a_long_filter_or_a_long_reason_is_refused() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let browser = Browser::new(&server);
    let (long, filter) = ("a".repeat(20_000), "queue:q ".repeat(2_500));
    for (q, reason) in [("queue:q", long.as_str()), (filter.as_str(), "why")] {
        let fields = [("action", "dead-letter"), ("q", q), ("matched", "1"), ("reason", reason)];
        browser.post("/ui/bulk", &fields).expect(422);
    }
    let fields = [("action", "dead-letter"), ("q", "queue:q"), ("matched", "1"), ("reason", "why")];
    browser.post("/ui/bulk", &fields).expect(303);
}

#[test]
fn s11_a_run_is_shown_to_and_stopped_by_its_own_key_only() {
    let server = guarded();
    by(&server, "admin", "POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "acme.q"}));
    let (acme, admin) = (Browser::of(&server, "acme"), Browser::of(&server, "admin"));
    let fields = [("action", "cancel"), ("q", "queue:acme.q"), ("matched", "1")];
    let run = acme.post("/ui/bulk", &fields).expect(303).header("location").unwrap().to_owned();
    acme.get(&run).expect(200);
    admin.get(&run).expect(404);
    let stop = format!("{}/stop", run.split('?').next().unwrap());
    admin.post(&stop, &[]).expect(404);
    let fields = [("action", "cancel"), ("q", "queue:other"), ("matched", "1")];
    let run = acme.post("/ui/bulk", &fields).expect(303).header("location").unwrap().to_owned();
    let end = Instant::now() + Duration::from_secs(10);
    while !acme.get(&run).expect(200).text.contains("is not for queue other") {
        assert!(Instant::now() < end, "it does no more than its key may");
    }
    Browser::of(&server, "reader").post("/ui/bulk", &fields).expect(403);
}

#[test]
fn s11_a_restricted_key_finds_its_own_jobs_only() {
    let server = guarded_with("");
    let mut ids = Vec::new();
    for queue in ["acme.q", "other"] {
        let job = json!({"kind": "t", "queue": queue});
        let reply = by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201);
        ids.push(reply.value()["id"].as_str().unwrap().to_owned());
    }
    let acme = Browser::of(&server, "acme");
    acme.get(&format!("/ui/jobs/{}", ids[0])).expect(200);
    acme.get(&format!("/ui/jobs/{}", ids[1])).expect(404);
    acme.post(&format!("/ui/jobs/{}/cancel", ids[1]), &[]).expect(404);
    let page = acme.get("/ui/jobs").expect(200).text;
    assert!(page.contains("name the queue") && !page.contains(&ids[1]), "{page}");
    assert!(acme.get("/ui/jobs?q=queue:acme.q").expect(200).text.contains(&ids[0]));
    for path in ["/ui/audit", "/ui/keys", "/ui/doctor"] {
        acme.get(path).expect(403);
        Browser::of(&server, "reader").get(path).expect(403);
        Browser::of(&server, "admin").get(path).expect(200);
    }
}
