//! Who may come in, what they may do, and when they have to leave.

use std::fs;
use std::process::Command;

use queuekit_conformance::this_test;
use serde_json::json;

use super::chrome;
use super::tab::ENTER;
use crate::common::{Server, Store, by, digest, guarded, secret};

#[test]
fn s2_a_wrong_key_is_told_so_and_a_right_one_leads_to_where_one_wanted() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = guarded();
    let tab = chrome.tab();
    tab.go(&format!("{}/ui/workers", server.url));
    tab.press("qk_wrong");
    tab.press_key(ENTER);
    tab.until_seen("This is no key of this server");
    let described = "const field = document.activeElement;
        return document.getElementById(field.getAttribute('aria-describedby')).innerText";
    assert!(tab.text(described).contains("no key"), "the field that has the focus says why");
    tab.press(&secret("reader"));
    tab.press_key(ENTER);
    tab.until("return location.pathname === '/ui/workers'");
    let cookie = tab.text("return document.cookie");
    assert_eq!(cookie, "", "scripts do not see the cookie");
    tab.go(&format!("{}/ui", server.url));
    tab.follow("form[action$='/ui/logout'] button");
    tab.go(&format!("{}/ui/workers", server.url));
    assert!(tab.path().starts_with("/ui/login"), "{}", tab.path());
}

#[test]
fn s11_a_key_that_only_reads_sees_actions_disabled_with_the_reason() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = guarded();
    let job = json!({"kind": "greet", "queue": "mails"});
    let job = by(&server, "admin", "POST", "/v1/jobs").json(&job).expect(201).value();
    let id = job["id"].as_str().expect("an id");
    let tab = chrome.tab();
    tab.log_in(&server, "reader");
    for page in [format!("/ui/jobs/{id}"), "/ui/queues/mails".to_owned()] {
        tab.go(&format!("{}{page}", server.url));
        // Each action, with the text that describes it.
        let acts = tab.js("return [...document.querySelectorAll('main .act > button')].map((it) =>
                 [it.disabled, document.getElementById(it.getAttribute('aria-describedby') ?? '')
                     ?.innerText ?? it.nextElementSibling?.innerText ?? ''])");
        let acts = acts.as_array().expect("a list");
        assert!(!acts.is_empty(), "{page} has actions");
        for act in acts {
            let why = act[1].as_str().unwrap_or_default();
            assert!(act[0] == true && why.len() > 10, "{page}: {act}");
        }
        assert_eq!(tab.js("return document.querySelector('main .act form') === null"), true);
    }
    assert!(tab.seen().contains("Your key"), "{}", tab.seen());
}

#[test]
fn s2_a_page_that_is_open_ends_with_its_key() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let store = Store::of("memory").expect("a store");
    let file = store.directory.path().join("queuekit.toml");
    let key = |id: &str| {
        let digest = digest(&secret(id));
        format!("[[keys]]\nid = \"{id}\"\nsha256 = \"{digest}\"\nscopes = [\"admin\"]\n")
    };
    fs::write(&file, key("stays") + &key("goes")).expect("a file");
    let server = Server::start(store, &[]);
    let tab = chrome.tab();
    tab.log_in(&server, "goes");
    tab.until("return document.getElementById('live-word').textContent === 'Live'");
    fs::write(&file, key("stays")).expect("a file");
    let pid = server.pid().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().expect("kill").success());
    tab.until("return document.getElementById('live-word').textContent !== 'Live'");
    tab.go(&format!("{}/ui/jobs", server.url));
    assert!(tab.path().starts_with("/ui/login"), "{}", tab.path());
}
