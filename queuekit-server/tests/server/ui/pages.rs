//! What pages show to whom, and the headers of all of them.

use serde_json::json;

use super::Browser;
use crate::common::{Reply, Server, Store, by, guarded, guarded_with, on_every_store};

/// Pages that exist without jobs.
const PAGES: [&str; 4] = ["/ui", "/ui/queues", "/ui/workers", "/ui/about"];

#[track_caller]
fn has_strict_headers(path: &str, reply: &Reply) {
    let policy = reply.header("content-security-policy").unwrap_or_else(|| panic!("{path}"));
    assert_eq!(
        policy,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    assert!(!policy.contains("unsafe"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert_eq!(reply.header("referrer-policy"), Some("same-origin"), "{path}");
    assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
}

#[test]
fn s6_every_page_has_the_strict_policy_and_nothing_that_it_forbids() {
    let server = guarded();
    by(&server, "admin", "POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "a"})).expect(201);
    let browser = Browser::of(&server, "admin");
    for (path, status) in PAGES.map(|path| (path, 200)).into_iter().chain([
        ("/ui/queues/a", 200),
        ("/ui/nothing", 404),
        ("/ui/queues/nothing", 404),
        ("/ui/queues/a%20b", 422),
    ]) {
        let reply = browser.get(path).expect(status);
        has_strict_headers(path, &reply);
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        let page = &reply.text;
        for forbidden in ["<script>", "style=", "onclick=", "onload=", "javascript:", "<style"] {
            assert!(!page.contains(forbidden), "{path} has {forbidden}");
        }
    }
    for path in ["/ui", "/ui/login", "/ui/assets/app.css", "/ui/assets/nothing", "/ui/live"] {
        has_strict_headers(path, &server.get(path).send());
    }
}

#[test]
fn s2_a_key_without_the_scope_is_told_so_by_a_page() {
    let server = guarded();
    let browser = Browser::of(&server, "producer");
    for path in ["/ui", "/ui/queues", "/ui/workers", "/ui/queues/a"] {
        let reply = browser.get(path).expect(403);
        assert!(reply.text.contains("producer lacks the scope"), "{path}: {}", reply.text);
        assert!(reply.text.contains("/ui/logout"), "it is a page, with a way out");
    }
    browser.get("/ui/about").expect(200);
    browser.get("/ui/live?page=/ui").expect(403);
}

#[test]
fn s11_a_restricted_key_sees_its_own_queues_only() {
    let server = guarded();
    for queue in ["acme.mail", "zebra"] {
        let job = json!({"kind": "t", "queue": queue});
        by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201);
    }
    let browser = Browser::of(&server, "acme");
    for path in PAGES {
        let page = browser.get(path).expect(200).text;
        assert!(!page.contains("zebra"), "{path}: {page}");
    }
    assert!(browser.get("/ui/queues").expect(200).text.contains("acme.mail"));
    browser.get("/ui/queues/acme.mail").expect(200);
    browser.get("/ui/queues/zebra").expect(404);
}

#[test]
fn s6_what_others_have_written_is_text_on_every_page() {
    let server = guarded_with("[dashboard]\nenvironment = \"<b>prod</b>\"");
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    by(&server, "admin", "POST", "/v1/jobs").json(&json!({"kind": "t", "queue": "a"})).expect(201);
    let patch = json!({"description": evil});
    by(&server, "admin", "PATCH", "/v1/queues/a").json(&patch).expect(200);
    let beat = json!({
        "worker": "w", "name": evil, "queues": ["a"], "kinds": ["t"], "slots": 1, "running": 0,
        "host": evil, "version": evil,
    });
    by(&server, "admin", "POST", "/v1/beat").json(&beat);
    let browser = Browser::of(&server, "admin");
    for path in PAGES.into_iter().chain(["/ui/queues/a", "/ui/queues?q=%3Cscript%3Ealert(1)"]) {
        let page = browser.get(path).expect(200).text;
        for tag in ["<script>alert", "<img src=x", "<b>prod", "onerror=alert(1)>"] {
            assert!(!page.contains(tag) || tag.starts_with("onerror"), "{path}: {tag}");
        }
        assert!(page.contains("&#60;b&#62;prod"), "the name of the environment is shown");
    }
}

/// The pages over each store: figures that the API has too.
fn pages_show_what_the_api_tells(server: &mut Server) {
    // Two of them wait for the first.
    for _ in 0..3 {
        let job = json!({"kind": "greet", "queue": "mails", "partition_key": "k<1>"});
        server.ask("POST", "/v1/jobs").json(&job).expect(201);
    }
    let browser = Browser::new(server);
    // The figures are a second or two old.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    let mut page = String::new();
    while !page.contains("mails has 1 job ready and no worker") {
        assert!(std::time::Instant::now() < end, "{page}");
        page = browser.get("/ui").expect(200).text;
    }
    assert!(page.contains("/ui/queues/mails") && page.contains("queue-table"));
    let page = browser.get("/ui/queues/mails").expect(200).text;
    assert!(page.contains("greet") && page.contains("k&#60;1&#62;"), "{page}");
    for range in ["5m", "1h", "24h", "7d", "nonsense"] {
        browser.get(&format!("/ui?range={range}")).expect(200);
    }
}

on_every_store!(pages_show_what_the_api_tells);

/// Guard: among many keys, the one that needs an operator was not to be found.
#[test]
fn keys_that_a_dead_job_holds_come_first() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let enqueue = |key: &str| {
        let job = json!({"kind": "t", "queue": "mails", "partition_key": key});
        server.ask("POST", "/v1/jobs").json(&job).expect(201).value()["id"].clone()
    };
    server.ask("PATCH", "/v1/queues/mails").json(&json!({"key_on_dead": "hold"})).expect(200);
    let first = enqueue("held");
    let path = format!("/v1/jobs/{}/dead-letter", first.as_str().unwrap());
    server.ask("POST", &path).json(&json!({"reason": "the address bounces"})).expect(200);
    for key in ["held", "busy", "busy", "busy"] {
        enqueue(key);
    }
    let page = Browser::new(&server).get("/ui/queues/mails").expect(200).text;
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    assert!(at(">held<") < at(">busy<"), "{page}");
    assert!(page.contains("held by a dead job"), "{page}");
}

#[test]
fn the_slots_of_a_worker_are_set_on_its_page() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let beat = json!({
        "id": "w1", "name": "shop", "queues": ["a"], "kinds": ["t"], "slots": 8, "running": 0,
        "ttl_ms": 60_000,
    });
    server.ask("POST", "/v1/beat").json(&beat).expect(200);
    let browser = Browser::new(&server);
    let order =
        |slots: &str| browser.post("/ui/workers/orders", &[("worker", "w1"), ("slots", slots)]);
    order("3").expect(303);
    let orders = server.ask("POST", "/v1/beat").json(&beat).expect(200).value();
    assert_eq!(orders["orders"]["slots"], 3, "{orders}");
    for wrong in ["0", "-1", "many"] {
        order(wrong).expect(422);
    }
}

#[test]
fn queues_are_found_by_a_part_of_their_name() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    for queue in ["acme.mail", "zebra"] {
        server.ask("POST", "/v1/jobs").json(&json!({"kind": "t", "queue": queue})).expect(201);
    }
    let browser = Browser::new(&server);
    let form = browser.get("/ui/queues?order=dead").expect(200).text;
    // What a browser sends is what the form has.
    let (_, form) = form.split_once("<form class=\"query\"").expect("a form");
    let (form, _) = form.split_once("</form>").unwrap();
    let fields: Vec<&str> =
        form.split("name=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(fields, ["order", "q"]);
    let page = browser.get("/ui/queues?order=dead&q=EBR").expect(200).text;
    assert!(page.contains("zebra") && !page.contains("acme.mail"), "{page}");
}

#[test]
fn pages_count_towards_the_rate_of_the_key() {
    let server = guarded();
    // `slow` may make 5 requests a second.
    let browser = Browser::of(&server, "slow");
    let refused = (0..12).map(|_| browser.get("/ui/about").status).filter(|status| *status == 429);
    assert!(refused.count() > 0);
}

#[test]
fn doctor_lists_what_is_wanted_in_production() {
    let server = guarded();
    let page = Browser::of(&server, "admin").get("/ui/doctor").expect(200).text;
    for shown in ["store-tls", "queuekit doctor --production", "--keep-dead 30d\" hidden>Copy"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains('`'), "code is marked as code");
}

/// Guard: the page was refused above 100 queues, and offered none to choose.
#[test]
fn errors_of_many_queues_are_shown_for_one_that_is_chosen() {
    let server = guarded();
    let jobs: Vec<_> = (0..101).map(|n| json!({"kind": "t", "queue": format!("q{n}")})).collect();
    by(&server, "admin", "POST", "/v1/jobs").json(&json!({ "jobs": jobs })).expect(201);
    let reserve = json!({"queues": ["q7"], "worker": "w"});
    let leased = by(&server, "admin", "POST", "/v1/reserve").json(&reserve).expect(200).value();
    let nack = json!({"token": leased["leases"][0]["token"], "kind": "fatal", "error": "no disk"});
    by(&server, "admin", "POST", "/v1/nack").json(&json!({ "nacks": [nack] })).expect(200);
    let browser = Browser::of(&server, "admin");
    let page = browser.get("/ui/errors").expect(200).text;
    assert!(page.contains("Choose one above"), "{page}");
    assert!(page.contains("/ui/errors?queue=q7"), "{page}");
    assert!(browser.get("/ui/errors?queue=q7").expect(200).text.contains("no disk"));
}

/// Guard: a refusal was rendered as a page, so that a key beyond its quota cost as much as before.
#[test]
fn s6_a_key_that_has_spent_its_quota_gets_a_line_and_no_page() {
    let server = guarded();
    let browser = Browser::of(&server, "slow");
    let refused = (0..100).map(|_| browser.get("/ui/about")).find(|reply| reply.status == 429);
    let refused = refused.expect("the key may make five requests a second");
    assert!(!refused.text.contains("<html"), "{}", refused.text);
}

/// Guard: an empty table, or a list that "matches" nothing, does not say that nothing is there yet.
#[test]
fn an_empty_store_is_said_to_be_empty_and_a_search_without_result_to_match_nothing() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let browser = Browser::new(&server);
    for (path, told, not_told) in [
        ("/ui", "No queues yet", "<th scope=\"col\">Queue</th>"),
        ("/ui/queues", "No queues yet", "of 0 queues"),
        ("/ui/queues?q=mail", "No queue matches", "No queues yet"),
        ("/ui/jobs", "No jobs yet", "No job matches"),
        ("/ui/jobs?q=status:dead", "No job matches", "No jobs yet"),
        ("/ui/events", "No events yet", "No event matches"),
        ("/ui/events?types=order.*", "No event matches", "No events yet"),
        ("/ui/workers", "No workers: start one", "serves it"),
        ("/ui/audit", "Nobody has changed anything yet", "0 entries"),
    ] {
        let page = browser.get(path).expect(200).text;
        assert!(page.contains(told) && !page.contains(not_told), "{path}: {page}");
    }
}

#[test]
fn the_page_of_a_schedule_shows_how_its_last_jobs_have_ended_and_when() {
    let server = Server::start(Store::of("memory").unwrap(), &[]);
    let schedule = json!({"cron": "30 2 * * *", "job": {"kind": "report", "queue": "q"}});
    server.ask("PUT", "/v1/schedules/nightly").json(&schedule).expect(201);
    let run = || {
        let run = server.ask("POST", "/v1/schedules/nightly/run").json(&json!({})).expect(201);
        run.value()["id"].as_str().unwrap().to_owned()
    };
    let token = || {
        let ask = json!({"worker": "w", "queues": ["q"]});
        let leased = server.ask("POST", "/v1/reserve").json(&ask).expect(200).value();
        leased["leases"][0]["token"].clone()
    };
    run();
    server.ask("POST", "/v1/ack").json(&json!({"acks": [{"token": token()}]})).expect(200);
    run();
    let nack = json!({"token": token(), "kind": "fatal", "error": "no disk"});
    server.ask("POST", "/v1/nack").json(&json!({ "nacks": [nack] })).expect(200);
    let cancelled = run();
    server.ask("POST", &format!("/v1/jobs/{cancelled}/cancel")).json(&json!({})).expect(200);
    run();
    let page = Browser::new(&server).get("/ui/schedules/nightly").expect(200).text;
    let (_, dots) = page.split_once("<ul class=\"dots\">").expect("dots");
    let dots = dots.split("</ul>").next().unwrap();
    let told: Vec<&str> = dots.split("title=\"").skip(1).collect();
    assert_eq!(told.len(), 3, "one waits: {dots}");
    for (dot, status) in told.iter().zip(["completed in ", "dead in ", "cancelled, "]) {
        let label = dot.split('"').next().unwrap();
        assert!(label.starts_with(status), "{status}: {label}");
        assert!(label.ends_with(" ago") || label.ends_with(", now"), "{label}");
    }
}
