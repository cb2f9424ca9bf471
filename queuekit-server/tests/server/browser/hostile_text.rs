//! Text of strangers with tags and scripts in it: it is shown as text, on every page.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use queuekit_conformance::this_test;
use serde_json::Value;

use super::world::{KEY, World};
use super::{Tab, chrome};
use crate::common::guarded;

/// Sets a variable, by the name of the field, wherever a template or a script would let it.
fn hostile(field: &'static str, _: &'static str) -> String {
    match field {
        // It has at most 40 bytes.
        "environment" => format!("<img src=x onerror=hit='{field}'>"),
        _ => format!("\"'></title><img src=x onerror=hit='{field}'><script>hit='{field}'</script>"),
    }
}

/// Where each field is shown as text, at least once.
const FIELDS: [&str; 25] = [
    "bulk filter",
    "delivery error",
    "description",
    "environment",
    "error",
    "event data",
    "event partition key",
    "filter",
    "idempotency key",
    "log",
    "metadata",
    "metadata name",
    "partition key",
    "payload",
    "payload name",
    "progress",
    "reason",
    "result",
    "search",
    "undecodable",
    "worker host",
    "worker name",
    "worker version",
    "wrong filter",
    "next",
];

/// The elements and attributes that only our text could have made, and the fields that are in text.
const LOOK: &str = "
    const ours = ['[onerror]', 'script:not([src])', 'img[src=x]', '[href^=\"javascript:\"]'];
    const made = [...document.querySelectorAll(ours.join(','))].map((it) => it.outerHTML);
    if (window.hit) made.push(`a script has run: ${window.hit}`);
    const texts = [document.documentElement.textContent];
    for (const it of document.querySelectorAll('*')) {
        for (const { name, value } of it.attributes) texts.push(value);
        if (it.value) texts.push(String(it.value));
    }
    const read = texts.join('\\n').matchAll(/onerror=hit='([\\w ]+)'/g);
    return [made, [...new Set([...read].map(([, field]) => field))]];";

#[test]
fn s6_text_of_strangers_is_text_and_runs_no_script() {
    let test = this_test!();
    let Some(chrome) = chrome(test) else { return };
    let world = World::on("memory", hostile).expect("a store in memory");
    let tab = chrome.tab();
    let mut shown = BTreeSet::new();
    let login = format!("{}/ui/login?next=/ui/jobs?q={}", world.server.url, NEXT);
    tab.go(&login);
    look(&tab, "login", &mut shown);
    tab.log_in(&world.server, KEY);
    for page in &world.pages {
        tab.go(&format!("{}{}", world.server.url, page.path));
        look(&tab, &page.name, &mut shown);
    }
    // Parts that come later are put into the page by a script.
    tab.go(&world.url("workers"));
    tab.until("return document.getElementById('live-word').textContent === 'Live'");
    let again = "return document.getElementById('live-age').dateTime !== window.first";
    tab.js("window.first = document.getElementById('live-age').dateTime");
    tab.until(again);
    look(&tab, "workers, later", &mut shown);
    tab.press("/");
    tab.press("<img src=x onerror=hit='palette'>");
    look(&tab, "palette", &mut shown);
    let missing: Vec<_> = FIELDS.iter().filter(|field| !shown.contains(**field)).collect();
    assert!(missing.is_empty(), "no page shows {missing:?} as text, but {shown:?}");
}

const NEXT: &str = "%3Cimg/src=x/onerror=hit='next'%3E";

#[track_caller]
fn look(tab: &Tab, page: &str, shown: &mut BTreeSet<String>) {
    let found = tab.js(LOOK);
    assert_eq!(found[0].as_array().map(Vec::len), Some(0), "{page}: {found}");
    let read = found[1].as_array().expect("a list").iter();
    shown.extend(read.map(|it| it.as_str().expect("a name").to_owned()));
    let told = tab.complaints();
    let forbidden: Vec<_> = told.iter().filter(|it| !it.contains("status of 404")).collect();
    assert!(forbidden.is_empty(), "{page}: {forbidden:?}");
}

/// What would happen if a template forgot to escape.
#[test]
fn s6_the_policy_stops_a_script_that_got_into_a_page() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let server = guarded();
    let tab = chrome.tab();
    tab.log_in(&server, KEY);
    for (way, script) in WAYS {
        tab.go(&format!("{}/ui", server.url));
        assert_eq!(tab.complaints(), [""; 0]);
        tab.js(script);
        // What the browser forbids, it says.
        let (mut told, end) = (Vec::new(), Instant::now() + Duration::from_secs(5));
        while told.is_empty() && Instant::now() < end {
            told = tab.complaints();
        }
        assert!(told.concat().contains("Content Security Policy"), "{way}: {told:?}");
        assert_eq!(tab.js("return window.hit ?? null"), Value::Null, "{way}");
    }
}

const WAYS: [(&str, &str); 4] = [
    (
        "an element",
        "const it = document.createElement('script'); it.textContent = 'hit = 1';
         document.body.append(it)",
    ),
    ("an attribute", "document.body.innerHTML = '<img src=data:x onerror=\"hit = 1\">'"),
    (
        "a file of another site",
        "const it = document.createElement('script'); it.src = 'http://127.0.0.1:9/x.js';
         document.body.append(it)",
    ),
    (
        "a form to another site",
        "document.body.innerHTML = '<form action=http://127.0.0.1:9/></form>';
         document.forms[0].submit()",
    ),
];
