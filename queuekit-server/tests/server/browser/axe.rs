//! What axe-core finds wrong with a page for people who do not see, hear or move well.

use std::path::PathBuf;
use std::sync::OnceLock;

use queuekit_conformance::lacks;
use serde_json::{Value, json};

use super::Tab;

/// Where the script is; `cargo xtask` installs it.
const VARIABLE: &str = "QUEUEKIT_TEST_AXE";
/// Runs it, and returns a line for each rule that is broken.
const RUN: &str = "
    const asked = { resultTypes: ['violations'] };
    if (arguments[0]) asked.runOnly = arguments[0];
    return axe.run(document, asked).then(({ violations }) =>
        violations.map((it) => `${it.id}: ${it.help}: ` + it.nodes.slice(0, 3).map((node) =>
            `${node.target.join(' ')} ${node.html.slice(0, 200)} ${node.any[0]?.message ?? ''}`)
            .join('; ')))";

/// The rules that colours or the size of a page can break, or what only a small page shows.
const OF_LOOKS: [&str; 6] = [
    "button-name",
    "color-contrast",
    "link-in-text-block",
    "link-name",
    "scrollable-region-focusable",
    "target-size",
];

/// The script; without it, the test says loudly that nothing was checked.
pub struct Axe(String);

impl Axe {
    pub fn find(test: &str) -> Option<&'static Self> {
        static AXE: OnceLock<Option<Axe>> = OnceLock::new();
        let path = || std::env::var_os(VARIABLE).map(PathBuf::from);
        let read = || path().and_then(|path| std::fs::read_to_string(path).ok()).map(Axe);
        let found = AXE.get_or_init(read).as_ref();
        if found.is_none() {
            lacks(test, "axe-core");
        }
        found
    }

    /// What is wrong with the page as it is.
    #[track_caller]
    pub fn violations(&self, tab: &Tab) -> Vec<String> {
        self.run(tab, &Value::Null)
    }

    /// What else is wrong with a page that has new colours and another size.
    #[track_caller]
    pub fn violations_of_looks(&self, tab: &Tab) -> Vec<String> {
        self.run(tab, &json!(OF_LOOKS))
    }

    #[track_caller]
    fn run(&self, tab: &Tab, rules: &Value) -> Vec<String> {
        if tab.js("return window.axe === undefined") == true {
            tab.js(&self.0);
        }
        let told = tab.js_with(RUN, std::slice::from_ref(rules));
        let lines = told.as_array().unwrap_or_else(|| panic!("{told}")).iter();
        lines.map(|line| line.as_str().unwrap_or_default().to_owned()).collect()
    }
}
