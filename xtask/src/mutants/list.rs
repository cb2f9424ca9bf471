use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::edit::replace_exactly;
use super::options::Store;
use crate::error::{Error, Result};

/// Where the lists are: one per store, in the root of the workspace.
const DIRECTORY: &str = "xtask/mutants";

/// The guards of a store, each with the edit that takes it out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub mutant: Vec<Mutant>,
    /// Rules with a guard that is no line of this store, each with the place that has it.
    #[serde(default)]
    pub elsewhere: BTreeMap<String, String>,
}

/// A guard that is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mutant {
    /// What the store does then, as `ack without the nonce`.
    pub name: String,
    /// The rule it breaks; its cases run first.
    pub rule: String,
    /// From the root of the workspace.
    pub file: String,
    pub find: String,
    pub replace: String,
    /// How often the text stands in the file.
    #[serde(default = "once")]
    pub times: usize,
    /// Why no case is expected to catch it.
    pub survives: Option<String>,
}

fn once() -> usize {
    1
}

impl List {
    pub(super) fn load(root: &Path, store: Store) -> Result<Self> {
        let path = format!("{DIRECTORY}/{}.toml", store.name());
        let text = fs::read_to_string(root.join(&path));
        let text = text.map_err(|error| Error::failed(format!("{path}: {error}")))?;
        Self::parse(&text).map_err(|error| Error::failed(format!("{path}: {error}")))
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let list: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut names = BTreeSet::new();
        for mutant in &list.mutant {
            if !names.insert(&mutant.name) {
                return Err(format!("two mutants are called `{}`", mutant.name));
            }
            if mutant.find == mutant.replace {
                return Err(format!("`{}` replaces a text by itself", mutant.name));
            }
            if mutant.survives.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
                return Err(format!("`{}` survives without a reason", mutant.name));
            }
        }
        Ok(list)
    }

    /// What no longer fits the files below `root`, all of it: a guard that moved takes its mutant
    /// along.
    pub(super) fn check(&self, root: &Path) -> Result<()> {
        let stale = self.mutant.iter().filter_map(|mutant| mutant.texts(root).err());
        let stale: Vec<String> = stale.map(|error| error.to_string()).collect();
        if stale.is_empty() { Ok(()) } else { Err(Error::failed(stale.join("\n"))) }
    }
}

impl Mutant {
    /// Whether a part of its name or of its file reads so.
    pub(super) fn mentions(&self, part: &str) -> bool {
        self.name.contains(part) || self.file.contains(part)
    }

    /// The text of its file as it is, and with the guard gone.
    pub(super) fn texts(&self, root: &Path) -> Result<(String, String)> {
        let stale = |what: String| {
            Error::failed(format!("the list is stale: `{}`: {}: {what}", self.name, self.file))
        };
        let text = fs::read_to_string(root.join(&self.file));
        let text = text.map_err(|error| stale(error.to_string()))?;
        let edited = replace_exactly(&text, &self.find, &self.replace, self.times);
        let edited = edited.map_err(|found| {
            let times = self.times;
            stale(format!("its text stands there {found} times, not {times}:\n{}", self.find))
        })?;
        Ok((text, edited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[mutant]]\nname = 'a'\nrule = 'R3.1'\nfile = 'f.sql'\n";

    #[test]
    fn a_mutant_is_read_with_what_it_leaves_out() {
        let text = format!("{ONE}find = ' AND x'\nreplace = ''\n[elsewhere]\n'R2.7' = 'core'\n");
        let list = List::parse(&text).unwrap();
        let mutant = Mutant {
            name: "a".to_owned(),
            rule: "R3.1".to_owned(),
            file: "f.sql".to_owned(),
            find: " AND x".to_owned(),
            replace: String::new(),
            times: 1,
            survives: None,
        };
        assert_eq!(list.mutant, [mutant]);
        assert_eq!(list.elsewhere.get("R2.7").map(String::as_str), Some("core"));
    }

    #[test]
    fn a_list_that_makes_no_sense_is_refused() {
        let good = format!("{ONE}find = 'x'\nreplace = 'y'\n");
        let wrong = [
            (format!("{good}{good}"), "two mutants"),
            (format!("{ONE}find = 'x'\nreplace = 'x'\n"), "by itself"),
            (format!("{good}survives = ' '\n"), "without a reason"),
            (format!("{good}expects = 'x'\n"), "unknown field"),
            (ONE.to_owned(), "missing field"),
        ];
        for (text, expected) in wrong {
            let error = List::parse(&text).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn a_text_that_moved_is_told_by_the_name_of_its_mutant() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("f.sql"), "SELECT x, x;").unwrap();
        let list = List::parse(&format!("{ONE}find = 'x'\nreplace = 'y'\n")).unwrap();
        let error = list.check(directory.path()).unwrap_err().to_string();
        assert!(error.contains("`a`: f.sql") && error.contains("2 times, not 1"), "{error}");
        let twice = List::parse(&format!("{ONE}find = 'x'\nreplace = 'y'\ntimes = 2\n")).unwrap();
        assert_eq!(twice.check(directory.path()), Ok(()));
        let (_, edited) = twice.mutant[0].texts(directory.path()).unwrap();
        assert_eq!(edited, "SELECT y, y;");
    }

    #[test]
    fn the_lists_fit_this_tree() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for store in Store::ALL {
            List::load(root, store).and_then(|list| list.check(root)).unwrap();
        }
    }
}
