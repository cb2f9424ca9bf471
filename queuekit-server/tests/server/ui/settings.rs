//! The settings of the dashboard.

use super::Browser;
use crate::common::{Server, Store, guarded_with, secret};

#[test]
fn a_dashboard_that_is_off_is_not_there() {
    for args in [&["--dashboard", "off"][..], &[]] {
        let store = Store::of("memory").unwrap();
        if args.is_empty() {
            let file = store.directory.path().join("queuekit.toml");
            std::fs::write(file, "dashboard = { enabled = false }").unwrap();
        }
        let server = Server::start(store, args);
        for path in ["/", "/ui", "/ui/login", "/ui/assets/app.css", "/ui/live?page=/ui"] {
            server.get(path).send().problem(404, "not_found");
        }
    }
}

#[test]
fn the_first_page_is_at_the_root_and_the_environment_is_named() {
    let store = Store::of("memory").unwrap();
    let server = Server::start(store, &["--environment", "staging-7"]);
    assert_eq!(server.get("/").send().expect(303).header("location"), Some("/ui"));
    assert!(server.get("/ui").send().expect(200).text.contains("staging-7"));
}

#[test]
fn behind_a_prefix_every_address_has_it_whether_the_proxy_keeps_it_or_not() {
    let server = guarded_with("[dashboard]\nbase_path = \"/ops/jobs\"");
    let log_in = |path: &str| {
        Browser::new(&server).form(path, &[("key", &secret("reader")), ("next", "/ui/queues")])
    };
    let reply = log_in("/ui/login").expect(303);
    assert_eq!(reply.header("location"), Some("/ops/jobs/ui/queues"));
    let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    log_in("/ops/jobs/ui/login").expect(303);
    let browser = Browser::with(&server, &cookie);
    for path in ["/ui/queues", "/ops/jobs/ui/queues"] {
        let page = browser.get(path).expect(200).text;
        let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let own = links.filter(|link| link.contains("/ui"));
        assert!(own.clone().count() > 10);
        own.for_each(|link| assert!(link.starts_with("/ops/jobs/ui"), "{link}"));
        assert!(page.contains("data-path=\"/ui/queues\""), "the stream is asked without it");
    }
    for root in ["/", "/ops/jobs", "/ops/jobs/"] {
        let reply = server.get(root).send().expect(303);
        assert_eq!(reply.header("location"), Some("/ops/jobs/ui"), "{root}");
    }
    let reply = server.get("/ops/jobs/ui/workers").send().expect(303);
    assert_eq!(reply.header("location"), Some("/ops/jobs/ui/login?next=%2Fui%2Fworkers"));
}
