//! A tab, as a person uses it.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::webdriver::WebDriver;
use crate::common::{Server, secret};

pub const ENTER: char = '\u{e007}';
pub const ESCAPE: char = '\u{e00c}';
pub const TAB: char = '\u{e004}';
pub const CONTROL: char = '\u{e009}';
pub const ARROW_DOWN: char = '\u{e015}';

/// On a busy machine.
const SOON: Duration = Duration::from_secs(20);
/// The size and the colours of a tab that nothing else was said of.
pub const WIDE: Look = Look { width: 1280, is_dark: false };

/// What a page is looked at with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub width: u32,
    pub is_dark: bool,
}

pub struct Tab {
    session: MutexGuard<'static, Option<WebDriver>>,
}

impl Tab {
    pub fn of(session: MutexGuard<'static, Option<WebDriver>>) -> Self {
        Self { session }
    }

    /// Forgets what the last test has done.
    pub fn reset(driver: &WebDriver) -> Result<(), String> {
        // There is one only if a test has failed because of it.
        let _ = driver.try_post("/alert/dismiss", &json!({}));
        driver.try_post("/url", &json!({"url": "about:blank"}))?;
        let cdp = |command: &str, params: Value| {
            driver.try_post("/goog/cdp/execute", &json!({"cmd": command, "params": params}))
        };
        cdp("Network.clearBrowserCookies", json!({}))?;
        cdp("Emulation.setScriptExecutionDisabled", json!({"value": false}))?;
        for (command, params) in emulation(WIDE) {
            cdp(command, params)?;
        }
        driver.try_post("/se/log", &json!({"type": "browser"}))?;
        Ok(())
    }

    fn driver(&self) -> &WebDriver {
        self.session.as_ref().expect("a session")
    }

    /// Opens an address, and returns when the page is loaded.
    #[track_caller]
    pub fn go(&self, url: &str) {
        self.driver().post("/url", &json!({ "url": url }));
    }

    /// Logs in with the key of this id.
    #[track_caller]
    pub fn log_in(&self, server: &Server, key: &str) {
        self.go(&format!("{}/ui/login", server.url));
        self.press(&secret(key));
        self.press_key(ENTER);
        self.until("return !location.pathname.endsWith('/login')");
    }

    /// What a script in the page returns.
    #[track_caller]
    pub fn js(&self, script: &str) -> Value {
        self.js_with(script, &[])
    }

    #[track_caller]
    pub fn js_with(&self, script: &str, args: &[Value]) -> Value {
        self.driver().post("/execute/sync", &json!({"script": script, "args": args}))
    }

    /// What a script returns that finds a text.
    #[track_caller]
    pub fn text(&self, script: &str) -> String {
        let value = self.js(script);
        value.as_str().unwrap_or_else(|| panic!("{script}: {value}")).to_owned()
    }

    /// The path of the address, with its query and fragment.
    #[track_caller]
    pub fn path(&self) -> String {
        self.text("return location.pathname + location.search + location.hash")
    }

    /// The text that one sees.
    #[track_caller]
    pub fn seen(&self) -> String {
        self.text("return document.body.innerText")
    }

    /// Waits until a script returns true, and returns how long that took.
    #[track_caller]
    pub fn until(&self, script: &str) -> Duration {
        self.until_with(script, &[])
    }

    #[track_caller]
    pub fn until_with(&self, script: &str, args: &[Value]) -> Duration {
        let begun = Instant::now();
        // While a page is left, there is none that a script could run in.
        while self.try_js(script, args) != Ok(Value::Bool(true)) {
            if begun.elapsed() > SOON {
                panic!("not in {SOON:?}: {script} {args:?}, on {}:\n{}", self.path(), self.seen());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        begun.elapsed()
    }

    fn try_js(&self, script: &str, args: &[Value]) -> Result<Value, String> {
        self.driver().try_post("/execute/sync", &json!({"script": script, "args": args}))
    }

    /// Waits until the page has this text.
    #[track_caller]
    pub fn until_seen(&self, text: &str) -> Duration {
        self.until_with("return document.body.innerText.includes(arguments[0])", &[json!(text)])
    }

    /// Presses these keys one after the other.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        let presses = keys.chars().flat_map(|key| [down(key), up(key)]);
        self.act(presses.collect());
    }

    #[track_caller]
    pub fn press_key(&self, key: char) {
        self.act(vec![down(key), up(key)]);
    }

    /// Presses a key while another one is held.
    #[track_caller]
    pub fn press_with(&self, held: char, key: char) {
        self.act(vec![down(held), down(key), up(key), up(held)]);
    }

    fn act(&self, actions: Vec<Value>) {
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.driver().post("/actions", &json!({"actions": [keyboard]}));
    }

    /// Clicks on the first element that a selector of CSS finds.
    #[track_caller]
    pub fn click(&self, css: &str) {
        let found = self.driver().post("/element", &json!({"using": "css selector", "value": css}));
        let id = found.as_object().and_then(|it| it.values().next()?.as_str());
        let id = id.unwrap_or_else(|| panic!("{css}: {found}"));
        self.driver().post(&format!("/element/{id}/click"), &json!({}));
    }

    /// The same, and waits until the next page is there.
    #[track_caller]
    pub fn follow(&self, css: &str) {
        self.js("window.isLeft = false");
        self.click(css);
        self.until("return window.isLeft === undefined && document.readyState === 'complete'");
    }

    /// Closes the tab, and opens another.
    #[track_caller]
    pub fn close(&self) {
        let driver = self.driver();
        let next = driver.post("/window/new", &json!({"type": "tab"}));
        driver.delete("/window");
        driver.post("/window", &json!({"handle": next["handle"]}));
        self.look(WIDE);
    }

    #[track_caller]
    pub fn look(&self, look: Look) {
        for (command, params) in emulation(look) {
            self.cdp(command, &params);
        }
        // Colours that are on their way are neither the old nor the new ones.
        self.js("document.getAnimations().forEach((it) => it.cancel())");
    }

    /// Has pages run no scripts of theirs.
    #[track_caller]
    pub fn without_scripts(&self) {
        self.cdp("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    #[track_caller]
    pub fn cdp(&self, command: &str, params: &Value) -> Value {
        self.driver().post("/goog/cdp/execute", &json!({"cmd": command, "params": params}))
    }

    /// What the browser has complained of since the last call: errors of scripts, files that were
    /// not found, and what a policy has forbidden.
    #[track_caller]
    pub fn complaints(&self) -> Vec<String> {
        let log = self.driver().post("/se/log", &json!({"type": "browser"}));
        let entries = log.as_array().expect("a list").iter();
        entries.map(|it| format!("{}: {}", it["source"], it["message"])).collect()
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        // The stream of its page ends.
        if let Some(driver) = self.session.as_ref() {
            let _ = driver.try_post("/url", &json!({"url": "about:blank"}));
        }
    }
}

fn emulation(look: Look) -> [(&'static str, Value); 2] {
    let size = json!({
        "width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": false,
    });
    let colours = if look.is_dark { "dark" } else { "light" };
    let media = json!({"features": [{"name": "prefers-color-scheme", "value": colours}]});
    [("Emulation.setDeviceMetricsOverride", size), ("Emulation.setEmulatedMedia", media)]
}

fn down(key: char) -> Value {
    json!({"type": "keyDown", "value": key.to_string()})
}

fn up(key: char) -> Value {
    json!({"type": "keyUp", "value": key.to_string()})
}
