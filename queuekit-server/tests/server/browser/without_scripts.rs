//! Pages without JavaScript: they are read, and an action is a form.

use queuekit_conformance::this_test;

use super::chrome;
use super::world::{self, KEY, Page, World};
use crate::common::by;

#[test]
fn without_scripts_pages_are_read_and_an_action_is_done() {
    let Some(chrome) = chrome(this_test!()) else { return };
    let world = World::on("memory", world::plain).expect("a store in memory");
    let tab = chrome.tab();
    tab.without_scripts();
    tab.log_in(&world.server, KEY);
    let is_read = |page: &&Page| page.name == "job-dead" || !page.name.starts_with("job-");
    for page in world.pages.iter().filter(is_read) {
        tab.go(&format!("{}{}", world.server.url, page.path));
        assert_eq!(tab.js("return document.querySelectorAll('canvas').length"), 0, "no script ran");
        let shown = tab.text("return document.querySelector('main').innerText");
        assert!(shown.len() > 50, "{}: {shown}", page.name);
        // What needs a script is not offered.
        let dead = tab.js("const needy = '[data-copy], [data-palette], .theme, [data-all]';
             return [...document.querySelectorAll(needy)]
                 .filter((it) => it.checkVisibility()).map((it) => it.outerHTML)");
        assert_eq!(dead, serde_json::json!([]), "{}", page.name);
    }
    tab.go(&world.url("queue"));
    let state = || {
        let queue = by(&world.server, KEY, "GET", "/v1/queues/mails").send().expect(200).value();
        queue["paused"].clone()
    };
    assert_eq!(state(), false);
    tab.click("[popovertarget='pause-ask']");
    tab.click("form[action$='/pause'] button:not([type])");
    tab.until_seen("The queue is paused");
    assert_eq!(state(), true);
    assert!(tab.path().starts_with("/ui/queues/mails"), "the answer leads back: {}", tab.path());
}
