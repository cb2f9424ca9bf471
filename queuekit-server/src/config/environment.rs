//! The environment, and the file `.env`, which it overrides.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, anyhow};

use super::settings_text;
use crate::error::Usage;

/// The file whose variables the environment of the process overrides.
pub(crate) const FILE: &str = ".env";

/// Variables whose values are secret as a whole.
const SECRETS: [&str; 6] = [
    "QUEUEKIT_API_KEY",
    "QUEUEKIT_SESSION_SECRET",
    "QUEUEKIT_WEBHOOK_SECRET",
    "SMTP_PASSWORD",
    "GMAIL_APP_PASSWORD",
    "OTEL_EXPORTER_OTLP_HEADERS",
];

/// Variables by name; those of the process override those of `.env`.
#[derive(Default)]
pub(crate) struct Environment {
    exported: HashMap<String, String>,
    file: HashMap<String, String>,
}

impl Environment {
    /// Reads the environment of the process, and `.env` in the current directory if it exists. The
    /// environment is not changed: child processes see only variables of `.env` that the
    /// configuration passes to them by name.
    pub(crate) fn read() -> Result<Self> {
        let file = Self::of_file(Path::new(FILE))?;
        let mut exported = HashMap::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(exported.insert(name, value)),
                // A key that is ignored would leave the server open.
                Err(_) if name.starts_with("QUEUEKIT_") => {
                    return Err(Usage::error(format!("the variable {name} is not UTF-8")));
                }
                Err(_) => {}
            }
        }
        Ok(Self { exported, file })
    }

    /// The value of this variable. An empty value counts as none, because container files set them.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        some(self.exported.get(name).or_else(|| self.file.get(name)))
    }

    /// The value of a secret variable, for the server that the variable `server` names. Others may
    /// have written `.env`, so a server that it names gets only secrets from `.env` itself, and
    /// none that were exported for another server.
    pub(crate) fn secret_for(&self, server: &str, name: &str) -> Option<&str> {
        if self.is_of_file(server) { some(self.file.get(name)) } else { self.get(name) }
    }

    /// Whether `.env` sets this variable.
    pub(crate) fn is_of_file(&self, name: &str) -> bool {
        !self.exported.contains_key(name) && self.get(name).is_some()
    }

    /// Whether `.env` holds one of our secrets.
    pub(crate) fn file_holds_secret(&self) -> bool {
        let has_password = |url: &String| *url != queuekit::redacted(url);
        SECRETS.iter().any(|name| some(self.file.get(*name)).is_some())
            || self.file.get("QUEUEKIT_URL").is_some_and(has_password)
    }

    /// Whether `.env` exists and sets something.
    pub(crate) fn has_file(&self) -> bool {
        !self.file.is_empty()
    }

    /// The value of this variable, parsed.
    pub(crate) fn parse<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<Option<T>> {
        let read = |text: &str| {
            text.parse().map_err(|error| Usage::error(format!("the variable {name}: {error}")))
        };
        self.get(name).map(read).transpose()
    }

    fn of_file(path: &Path) -> Result<HashMap<String, String>> {
        let unread = |error: &dyn fmt::Display| anyhow!("cannot read {}: {error}", path.display());
        let text = settings_text::read(path).map_err(|error| unread(&error))?.unwrap_or_default();
        match dotenvy::from_read_iter(text.as_bytes()).collect() {
            Ok(variables) => Ok(variables),
            // The file may hold secrets, and the parser's error repeats its lines.
            Err(dotenvy::Error::LineParse(line, _)) => {
                let at = text.lines().position(|found| found.contains(line.trim()));
                let at = at.map_or_else(|| "a line".to_owned(), |at| format!("line {}", at + 1));
                let rule = "write NAME=value, with quotes around a value with spaces";
                Err(Usage::error(format!("{}: cannot read {at}: {rule}", path.display())))
            }
            Err(error) => Err(unread(&error)),
        }
    }

    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        Self { exported: owned(variables), file: HashMap::new() }
    }

    /// The same with a `.env`.
    #[cfg(test)]
    pub(crate) fn with_file<const N: usize>(mut self, variables: [(&str, &str); N]) -> Self {
        self.file = owned(variables);
        self
    }
}

fn some(value: Option<&String>) -> Option<&str> {
    value.map(String::as_str).filter(|value| !value.is_empty())
}

#[cfg(test)]
fn owned<const N: usize>(variables: [(&str, &str); N]) -> HashMap<String, String> {
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_a_server_of_the_file_gets_no_secret_that_was_exported() {
        let (key, other) = (("KEY", "exported"), ("KEY", "of the file"));
        let (server, evil) = (("SERVER", "a"), ("SERVER", "b"));
        for (environment, secret) in [
            (Environment::of([key]), Some("exported")),
            (Environment::of([key, server]).with_file([evil, other]), Some("exported")),
            (Environment::of([key]).with_file([evil]), None),
            (Environment::of([key]).with_file([evil, other]), Some("of the file")),
            (Environment::of([server]).with_file([other]), Some("of the file")),
            (Environment::of([key, ("SERVER", "")]).with_file([evil]), Some("exported")),
        ] {
            assert_eq!(environment.secret_for("SERVER", "KEY"), secret);
        }
    }

    #[test]
    fn s9_a_line_of_env_that_cannot_be_read_is_named_and_not_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".env");
        std::fs::write(&path, "A=1\n# why\nQUEUEKIT_API_KEY=hunter2 and more\n").unwrap();
        let error = Environment::of_file(&path).unwrap_err().to_string();
        assert!(error.contains("line 3") && !error.contains("hunter2"), "{error}");
        std::fs::write(&path, "A=1\nB='two words'\n").unwrap();
        assert_eq!(Environment::of_file(&path).unwrap()["B"], "two words");
        assert!(Environment::of_file(&directory.path().join("none")).unwrap().is_empty());
    }

    #[test]
    fn an_empty_variable_is_none_and_a_wrong_one_is_named() {
        let environment = Environment::of([("EMPTY", ""), ("WRONG", "x")]);
        assert_eq!(environment.get("EMPTY"), None);
        let error = environment.parse::<usize>("WRONG").unwrap_err().to_string();
        assert!(error.starts_with("the variable WRONG: "), "{error}");
    }
}
