//! The commands of WebDriver.

use std::time::Duration;

use queuekit_integration_tests::servers::ChromeDriver;
use serde_json::{Value, json};

/// A session: a browser, as long as the driver runs.
pub struct WebDriver {
    agent: ureq::Agent,
    session: String,
}

impl WebDriver {
    /// Starts a browser.
    pub fn start(driver: &ChromeDriver) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(100)))
            .build()
            .into();
        let wanted = json!({
            "goog:chromeOptions": {"binary": driver.browser(), "args": driver.arguments()},
            "goog:loggingPrefs": {"browser": "ALL"},
            // The driver is not to close a dialog that a script of others has opened unseen.
            "unhandledPromptBehavior": "ignore",
        });
        let mut driver = Self { agent, session: format!("{}/session", driver.url()) };
        let begun = driver.post("", &json!({"capabilities": {"alwaysMatch": wanted}}));
        let id = begun["sessionId"].as_str().expect("a session").to_owned();
        driver.session = format!("{}/{id}", driver.session);
        driver
    }

    /// Sends a command of the session; one that fails has a text.
    pub fn try_post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let request = self.agent.post(format!("{}{path}", self.session));
        Self::read(request.send(body.to_string()))
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.try_post(path, body).unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }

    #[track_caller]
    pub fn delete(&self, path: &str) {
        let answer = Self::read(self.agent.delete(format!("{}{path}", self.session)).call());
        answer.unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    fn read(
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Value, String> {
        let mut answer = answer.map_err(|error| error.to_string())?;
        let limited = answer.body_mut().with_config().limit(64 << 20);
        let text = limited.read_to_string().map_err(|error| error.to_string())?;
        let mut told: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let value = told["value"].take();
        match value["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", value["message"])),
            None => Ok(value),
        }
    }
}
