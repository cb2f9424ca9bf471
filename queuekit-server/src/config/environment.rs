//! The environment, and the file `.env` behind it.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, anyhow};

use crate::cli::Usage;

/// Variables by name: those of the process go before those of `.env`.
#[derive(Default)]
pub(crate) struct Environment {
    variables: HashMap<String, String>,
}

impl Environment {
    /// The process' own, and those of `.env` in the current directory if there is one. The process
    /// is not changed: what it starts sees of `.env` what the configuration hands it by name.
    pub(crate) fn read() -> Result<Self> {
        let file = Self::of_file(Path::new(".env"))?;
        let mut variables = file;
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(variables.insert(name, value)),
                // A key that is passed over would leave the door open.
                Err(_) if name.starts_with("QUEUEKIT_") => {
                    return Err(Usage::error(format!("the variable {name} is not UTF-8")));
                }
                Err(_) => {}
            }
        }
        Ok(Self { variables })
    }

    /// The value of this variable; an empty one counts as none, as files for containers set them.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The same, read as something else.
    pub(crate) fn parse<T: FromStr<Err: std::fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<Option<T>> {
        let read = |text: &str| {
            text.parse().map_err(|error| Usage::error(format!("the variable {name}: {error}")))
        };
        self.get(name).map(read).transpose()
    }

    fn of_file(path: &Path) -> Result<HashMap<String, String>> {
        match dotenvy::from_path_iter(path).and_then(Iterator::collect) {
            Ok(variables) => Ok(variables),
            Err(error) if error.not_found() => Ok(HashMap::new()),
            // What is in the file may be secret, and the error repeats it.
            Err(dotenvy::Error::LineParse(line, _)) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                let at = text.lines().position(|found| found.contains(line.trim()));
                let at = at.map_or_else(|| "a line".to_owned(), |at| format!("line {}", at + 1));
                let rule = "each is NAME=value, in quotes if it holds spaces";
                Err(Usage::error(format!("{}: {at} cannot be read: {rule}", path.display())))
            }
            Err(error) => Err(anyhow!("{} cannot be read: {error}", path.display())),
        }
    }

    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: variables.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
