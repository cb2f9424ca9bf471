//! Pages while the store is away.

use std::time::{Duration, Instant};

use queuekit_conformance::{skip, this_test};
use queuekit_integration_tests::servers::OwnRedis;
use serde_json::json;
use tokio::runtime::Runtime;

use super::Browser;
use crate::common::{Reply, Server, Store};

/// Asks until the page is as wanted.
#[track_caller]
fn until(browser: &Browser<'_>, path: &str, is_wanted: impl Fn(&Reply) -> bool) -> Reply {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let reply = browser.get(path);
        if is_wanted(&reply) {
            return reply;
        }
        assert!(Instant::now() < end, "{path}: {} {}", reply.status, reply.text);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Guard: figures stay, marked as old; other pages say what is missing, and since when.
#[test]
fn figures_stay_while_the_store_is_away_and_other_pages_say_since_when() {
    let runtime = Runtime::new().unwrap();
    let own = runtime.block_on(OwnRedis::settings().set("appendonly", "yes").start());
    let Some(mut redis) = own else { return skip(this_test!(), "there is no redis of its own") };
    let mut store = Store::of("memory").unwrap();
    store.url = format!("{}?allow_volatile=on", redis.url());
    let server = Server::start(store, &[]);
    let job = json!({"kind": "t", "queue": "mails"});
    let reply = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
    let job = format!("/ui/jobs/{}", reply["id"].as_str().unwrap());
    let browser = Browser::new(&server);
    until(&browser, "/ui", |reply| reply.text.contains("mails has 1 job ready"));
    redis.kill();
    let page = until(&browser, "/ui", |reply| {
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.text.contains("The store does not answer")
    });
    assert!(page.text.contains("mails has 1 job ready"), "what was read stays: {}", page.text);
    for path in ["/ui/queues", "/ui/queues/mails", "/ui/workers"] {
        let page = browser.get(path).expect(200).text;
        assert!(page.contains("The store does not answer, since <time"), "{path}: {page}");
    }
    let began = Instant::now();
    for path in [job.as_str(), "/ui/jobs?q=queue:mails", "/ui/schedules"] {
        let page = browser.get(path).expect(503).text;
        assert!(page.contains("The store does not answer, since <time"), "{path}: {page}");
        let again = format!("href=\"{path}\">Try again<");
        assert!(page.contains("data-heals") && page.contains(&again), "{path}: {page}");
        assert!(page.contains("id=\"away\" data-live"), "its stream tells when it is back");
    }
    assert!(began.elapsed() < Duration::from_secs(15), "no page waits for the store for long");
    runtime.block_on(redis.restart());
    until(&browser, &job, |reply| reply.status == 200);
    let page = until(&browser, "/ui", |reply| !reply.text.contains("The store does not answer"));
    assert!(page.text.contains("mails has 1 job ready"), "{}", page.text);
}
