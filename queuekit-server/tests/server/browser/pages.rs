//! Every page over every store: nothing that the browser or axe-core complains of, and nothing that
//! does not fit on a phone.

use queuekit_conformance::{skip, this_test};
use serde_json::{Value, json};

use super::axe::Axe;
use super::tab::{Look, WIDE};
use super::world::{self, KEY, World};
use super::{Tab, chrome, screenshot};

/// A laptop by day, and a phone by night.
const LOOKS: [Look; 2] = [WIDE, Look { width: 390, is_dark: true }];
/// The others of a picture book.
const MORE_LOOKS: [Look; 2] =
    [Look { width: 1280, is_dark: true }, Look { width: 390, is_dark: false }];
/// The narrowest phone that people have.
const NARROW: Look = Look { width: 360, is_dark: false };

#[test]
fn every_page_over_sqlite_is_sound_light_and_dark_and_fits_on_a_phone() {
    every_page_is_sound(this_test!(), "sqlite");
}

/// Without what is the same over every store. Over memory, the test of hostile texts does this.
mod every_page_loads_without_a_complaint {
    use queuekit_conformance::this_test;

    use super::every_page_loads;

    #[test]
    fn over_postgres() {
        every_page_loads(this_test!(), "postgres");
    }

    #[test]
    fn over_redis() {
        every_page_loads(this_test!(), "redis");
    }
}

/// What a daily run has over one store.
mod whole_matrix {
    use queuekit_conformance::this_test;

    use super::every_page_is_sound;

    #[test]
    fn over_memory() {
        every_page_is_sound(this_test!(), "memory");
    }

    #[test]
    fn over_postgres() {
        every_page_is_sound(this_test!(), "postgres");
    }

    #[test]
    fn over_redis() {
        every_page_is_sound(this_test!(), "redis");
    }
}

/// A world and a tab in it, whose person has logged in.
fn open(test: &str, store: &str) -> Option<(World, Tab)> {
    let chrome = chrome(test)?;
    let Some(world) = World::on(store, world::plain) else {
        skip(test, &format!("there is no {store}"));
        return None;
    };
    let tab = chrome.tab();
    tab.log_in(&world.server, KEY);
    Some((world, tab))
}

fn every_page_loads(test: &str, store: &str) {
    let Some((world, tab)) = open(test, store) else { return };
    let mut wrong = Vec::new();
    for page in &world.pages {
        tab.go(&format!("{}{}", world.server.url, page.path));
        wrong.extend(complaints(&tab, page.status).map(|it| format!("{}: {it}", page.name)));
    }
    assert!(wrong.is_empty(), "over {store}:\n{}", wrong.join("\n"));
}

fn every_page_is_sound(test: &str, store: &str) {
    let Some((world, tab)) = open(test, store) else { return };
    let axe = Axe::find(test);
    let mut wrong = Vec::new();
    for page in &world.pages {
        tab.look(LOOKS[0]);
        tab.go(&format!("{}{}", world.server.url, page.path));
        wrong.extend(cut_off(&tab).map(|it| format!("{} is cut off: {it}", page.name)));
        for look in LOOKS {
            tab.look(look);
            screenshot::write(&tab, &page.name, look);
            let found = violations(&tab, axe, look).into_iter();
            wrong.extend(found.map(|it| format!("{} {look:?}: {it}", page.name)));
        }
        for look in MORE_LOOKS.into_iter().filter(|_| screenshot::is_wanted()) {
            tab.look(look);
            screenshot::write(&tab, &page.name, look);
        }
        tab.look(NARROW);
        wrong.extend(too_wide(&tab).map(|it| format!("{} is too wide: {it}", page.name)));
        wrong.extend(complaints(&tab, page.status).map(|it| format!("{}: {it}", page.name)));
    }
    assert!(wrong.is_empty(), "over {store}:\n{}", wrong.join("\n"));
}

/// What axe-core finds, once with all rules.
fn violations(tab: &Tab, axe: Option<&Axe>, look: Look) -> Vec<String> {
    match axe {
        Some(axe) if look == LOOKS[0] => axe.violations(tab),
        Some(axe) => axe.violations_of_looks(tab),
        None => Vec::new(),
    }
}

/// What the browser has complained of, but not of the page itself if it is to be missing.
fn complaints(tab: &Tab, status: u16) -> impl Iterator<Item = String> {
    let told = format!("status of {status}");
    tab.complaints().into_iter().filter(move |it| status == 200 || !it.contains(&told))
}

/// The elements that make the page scroll sideways.
fn too_wide(tab: &Tab) -> impl Iterator<Item = String> {
    let found = tab.js("if (document.documentElement.scrollWidth <= innerWidth) return [];
         const isOut = (it) => it.getBoundingClientRect().right > innerWidth + 1;
         const all = [...document.querySelectorAll('main, main *')].filter(isOut);
         return ['the page', ...all.slice(0, 5).map((it) => it.outerHTML.slice(0, 200))];");
    let found = found.as_array().expect("a list").clone();
    found.into_iter().map(|it| it.to_string())
}

/// The tables that have to be scrolled sideways on a laptop.
fn cut_off(tab: &Tab) -> impl Iterator<Item = String> {
    let found = tab.js("const all = [...document.querySelectorAll('.scroll')];
         const isCut = (it) => it.scrollWidth > it.clientWidth + 1;
         return all.filter(isCut).map((it) => it.getAttribute('aria-label'));");
    let found = found.as_array().expect("a list").clone();
    found.into_iter().map(|it| it.to_string())
}

/// Guard: the zone of the reader is not always that of the logs.
#[test]
fn times_are_those_of_the_browser_or_of_utc() {
    let Some((world, tab)) = open(this_test!(), "memory") else { return };
    tab.cdp("Emulation.setTimezoneOverride", &json!({"timezoneId": "Asia/Tokyo"}));
    tab.look(WIDE);
    tab.go(&world.url("schedule"));
    tab.until_seen("GMT+9");
    tab.click("[data-zone-to=utc]");
    tab.until("return document.querySelector('[data-absolute]').textContent.includes('UTC')");
    tab.go(&world.url("schedule"));
    tab.until("return document.querySelector('[data-absolute]').textContent.includes('UTC')");
    tab.click("[data-zone-to=local]");
    tab.until_seen("GMT+9");
    tab.cdp("Emulation.setTimezoneOverride", &json!({"timezoneId": ""}));
    assert_eq!(tab.complaints(), [""; 0]);
}

#[test]
fn a_screen_of_4k_has_the_content_in_its_middle() {
    let Some((world, tab)) = open(this_test!(), "memory") else { return };
    tab.look(Look { width: 3840, is_dark: false });
    for name in ["overview", "jobs", "queue"] {
        tab.go(&world.url(name));
        let edges =
            tab.js("const box = (css) => document.querySelector(css).getBoundingClientRect();
             const [all, top, last] = [box('.body'), box('.top .live'), box('main > :last-child')];
             return [box('.top .search').left - all.left, all.right - top.right,
                     last.left - all.left, all.right - last.right]");
        let edges: Vec<f64> = edges.as_array().unwrap().iter().flat_map(Value::as_f64).collect();
        let first = edges[0];
        assert!(first > 500.0, "{name}: {edges:?}");
        assert!(edges.iter().all(|edge| (edge - first).abs() < 2.0), "{name}: {edges:?}");
    }
}

#[test]
fn nothing_moves_for_those_who_want_no_motion() {
    let Some((world, tab)) = open(this_test!(), "memory") else { return };
    let moving = |setting: &str| {
        let features = json!([{"name": "prefers-reduced-motion", "value": setting}]);
        tab.cdp("Emulation.setEmulatedMedia", &json!({ "features": features }));
        tab.go(&world.url("job-dead"));
        tab.js("document.querySelector('.act [popovertarget]').click()");
        tab.until("return document.querySelector('[popover]:popover-open') !== null");
        tab.js("return document.getAnimations().length")
    };
    assert_ne!(moving("no-preference"), 0);
    assert_eq!(moving("reduce"), 0);
}

/// What opens over a page: questions, menus, the palette; and the form of the login.
#[test]
fn what_opens_over_a_page_and_the_login_are_sound() {
    let test = this_test!();
    let Some((world, tab)) = open(test, "memory") else { return };
    let axe = Axe::find(test);
    let mut wrong = Vec::new();
    let mut check = |name: &str| {
        for look in LOOKS {
            tab.look(look);
            screenshot::write(&tab, name, look);
            let found = violations(&tab, axe, look).into_iter();
            wrong.extend(found.map(|it| format!("{name} {look:?}: {it}")));
        }
        wrong.extend(too_wide(&tab).map(|it| format!("{name} is too wide: {it}")));
        wrong.extend(complaints(&tab, 200).map(|it| format!("{name}: {it}")));
    };
    tab.go(&world.url("job-dead"));
    tab.js("document.querySelector('.act [popovertarget]').click()");
    tab.until("return document.querySelector('[popover]:popover-open') !== null");
    check("question");
    tab.go(&world.url("jobs"));
    tab.press("/");
    tab.until("return document.querySelectorAll('dialog[open] li').length > 5");
    check("palette");
    tab.go(&world.url("jobs-dead"));
    tab.js("document.querySelector('details.pop summary').click()");
    check("all-that-match");
    tab.js("document.querySelector('input[name=id]').click()");
    check("jobs-selected");
    tab.look(LOOKS[1]);
    tab.go(&world.url("jobs"));
    assert!(tab.seen().contains("event.warehouse"), "a phone shows the queue of each job");
    tab.go(&world.url("workers"));
    tab.js("document.querySelector('[popovertarget^=slots]').click()");
    tab.until("return document.querySelector('[popover]:popover-open input') !== null");
    check("slots");
    tab.go(&world.url("overview"));
    tab.click(".btn.menu");
    check("menu");
    tab.look(WIDE);
    tab.go(&world.url("jobs-dead"));
    tab.js("document.querySelector('input[name=id]').click()");
    tab.follow("button[name=action][value=delete]");
    tab.until_seen("Delete 1 job?");
    check("delete-selected");
    tab.look(WIDE);
    tab.go(&world.url("overview"));
    tab.follow("form[action$='/ui/logout'] button");
    check("login");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
