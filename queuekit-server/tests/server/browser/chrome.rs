//! The one browser of this process, which tests use in turns: each starts in a tab without cookies.

use std::sync::{Mutex, OnceLock, PoisonError};

use queuekit_conformance::skip;
use queuekit_integration_tests::servers::{self, ChromeDriver};

use super::tab::Tab;
use super::webdriver::WebDriver;

/// The browser; if it is not on this machine, the test is skipped and must return.
pub fn chrome(test: &str) -> Option<&'static Chrome> {
    static CHROME: OnceLock<Option<Chrome>> = OnceLock::new();
    let start = || Some(Chrome { driver: servers::chromedriver()?, session: Mutex::default() });
    let found = CHROME.get_or_init(start).as_ref();
    if found.is_none() {
        skip(test, "there is no chromium and no chromedriver");
    }
    found
}

pub struct Chrome {
    driver: &'static ChromeDriver,
    session: Mutex<Option<WebDriver>>,
}

impl Chrome {
    /// A tab for the caller alone: other tests wait until it is dropped.
    pub fn tab(&'static self) -> Tab {
        // A test that has failed leaves the browser to the next one.
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let is_alive = |it: &WebDriver| Tab::reset(it).is_ok();
        if !session.as_ref().is_some_and(is_alive) {
            let started = WebDriver::start(self.driver);
            Tab::reset(&started).expect("a new browser obeys");
            *session = Some(started);
        }
        Tab::of(session)
    }
}
