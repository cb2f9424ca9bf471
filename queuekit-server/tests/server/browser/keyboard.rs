//! All of it without a mouse.

use queuekit_conformance::this_test;
use serde_json::json;

use super::tab::{ARROW_DOWN, CONTROL, ENTER, ESCAPE, TAB};
use super::world::{self, KEY, World};
use super::{Tab, chrome};
use crate::common::secret;

/// The letters after `g`, and where they lead.
const CHORDS: [(&str, &str); 10] = [
    ("q", "/ui/queues"),
    ("j", "/ui/jobs"),
    ("e", "/ui/errors"),
    ("s", "/ui/schedules"),
    ("v", "/ui/events"),
    ("w", "/ui/workers"),
    ("a", "/ui/audit"),
    ("d", "/ui/doctor"),
    ("k", "/ui/keys"),
    ("o", "/ui"),
];

fn at(tab: &Tab, path: &str) {
    let script = "return location.pathname === arguments[0] && document.readyState === 'complete'";
    tab.until_with(script, &[json!(path)]);
}

fn focus_in(tab: &Tab, css: &str) -> bool {
    tab.js_with("return document.activeElement.closest(arguments[0]) !== null", &[json!(css)])
        == true
}

#[test]
fn keys_log_in_go_to_all_pages_find_and_open_jobs() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let world = World::on("memory", world::plain).expect("a store in memory");
    let tab = chrome.tab();
    tab.go(&format!("{}/ui/jobs", world.server.url));
    at(&tab, "/ui/login");
    assert!(focus_in(&tab, "#key"), "the field has the focus");
    tab.press(&secret(KEY));
    tab.press_key(ENTER);
    at(&tab, "/ui/jobs");
    for (letter, path) in CHORDS {
        tab.press(&format!("g{letter}"));
        at(&tab, path);
    }
    tab.press("?");
    at(&tab, "/ui/about");
    assert!(tab.path().ends_with("#keyboard"));
    rows(&tab);
    palette(&tab);
    assert_eq!(tab.complaints(), [""; 0]);
}

fn rows(tab: &Tab) {
    tab.press("gj");
    at(tab, "/ui/jobs");
    let row = |tab: &Tab| {
        tab.js("return [...document.querySelectorAll('tr[data-row]')]
                 .findIndex((it) => it.contains(document.activeElement))")
    };
    assert_eq!(row(tab), -1);
    for (key, there) in [("j", 0), ("j", 1), ("j", 2), ("k", 1)] {
        tab.press(key);
        assert_eq!(row(tab), there, "after {key}");
    }
    tab.press("x");
    let picked = "return [...document.querySelectorAll('tr[data-row]')]
        .flatMap((it, at) => it.querySelector('input').checked ? [at] : [])";
    assert_eq!(tab.js(picked), json!([1]));
    tab.until_seen("1 job selected");
    let open = tab.text("return document.activeElement.closest('tr').querySelector('a').pathname");
    tab.js("document.activeElement.closest('tr').querySelector('[data-open]').focus()");
    tab.press_key(ENTER);
    at(tab, &open);
}

fn palette(tab: &Tab) {
    let is_open = "return document.querySelector('dialog[open]') !== null";
    tab.press("/");
    tab.until(is_open);
    assert!(focus_in(tab, "dialog"));
    tab.press_key(ESCAPE);
    tab.until("return document.querySelector('dialog[open]') === null");
    tab.press_with(CONTROL, 'k');
    tab.until(is_open);
    tab.press("mails");
    tab.until_with(
        "return document.querySelector('dialog [aria-selected=true]').textContent
             .includes(arguments[0])",
        &[json!("mails")],
    );
    tab.press_key(ENTER);
    at(tab, "/ui/queues/mails");
    tab.press("/");
    tab.until(is_open);
    tab.press("s");
    let first = tab.text("return document.querySelector('dialog [aria-selected=true]').id");
    tab.press_key(ARROW_DOWN);
    let second = tab.text("return document.querySelector('dialog [aria-selected=true]').id");
    assert_ne!(first, second);
    let told = tab.text(
        "return document.querySelector('dialog input').getAttribute('aria-activedescendant')",
    );
    assert_eq!(told, second, "screen readers announce the selected entry");
    tab.press_key(ESCAPE);
}

/// Tab after tab through a page: each stop is seen, and none is a trap.
#[test]
fn tab_goes_through_pages_with_a_focus_that_is_seen() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let world = World::on("memory", world::plain).expect("a store in memory");
    let tab = chrome.tab();
    tab.log_in(&world.server, KEY);
    for name in ["jobs-dead", "job-dead", "queue"] {
        tab.go(&world.url(name));
        tab.press_key(TAB);
        assert!(focus_in(&tab, ".skip"), "{name}: the first stop leads to the content");
        let mut stops = 0;
        while stops < 200 {
            let stop = tab.js(STOP);
            if stop == "end" {
                break;
            }
            assert!(stop.is_null(), "{name}: a focus that is not seen on {stop}");
            tab.press_key(TAB);
            stops += 1;
        }
        assert!((10..200).contains(&stops), "{name}: {stops} stops");
    }
    tab.go(&world.url("overview"));
    tab.press_key(TAB);
    tab.press_key(ENTER);
    assert!(focus_in(&tab, "main"));
}

/// The element that has the focus, if nothing shows that; `end` if none has it. One look tells
/// both: the focus leaves the page some time after the key was pressed.
const STOP: &str = "
    const it = document.activeElement;
    if (it === document.body) return 'end';
    const box = it.getBoundingClientRect();
    const isOn = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const hasRing = ({ outlineStyle, outlineWidth }) =>
        outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
    // Around a field with its button, the ring is that of both.
    const both = [it, it.closest('form.query')].filter(Boolean);
    const rings = both.map((one) => getComputedStyle(one));
    return isOn && rings.some(hasRing) ? null : it.outerHTML.slice(0, 300);";
