use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::tidy::source::Source;

/// The contract, a heading per rule.
pub(crate) const SEMANTICS: &str = "docs/semantics.md";
/// The tests of each rule of the contract.
pub(crate) const SEMANTICS_TESTS: &str = "docs/semantics-tests.md";

/// Cargo puts this file into every target directory, wherever it is and whatever its name.
const CACHE_MARK: &str = "CACHEDIR.TAG";

/// The files that the checks look at, read once.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub rust: Vec<Source>,
    pub scripts: Vec<Script>,
    pub pages: Vec<Page>,
}

/// A statement for a store, in a file of its own: `.sql` or `.lua`.
#[derive(Debug)]
pub(crate) struct Script {
    pub path: String,
    pub text: String,
}

/// A page of documentation: `.md`.
#[derive(Debug)]
pub(crate) struct Page {
    pub path: String,
    pub text: String,
}

impl Tree {
    /// Reads what is on the disk, committed or not: a rule is to fail before the commit.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_directory(root, "")?;
        Ok(tree)
    }

    /// The text of a page, by its path.
    pub(crate) fn page(&self, path: &str) -> Option<&str> {
        self.pages.iter().find(|page| page.path == path).map(|page| page.text.as_str())
    }

    /// `prefix` is the path below the root, with `/` on every system, so that rules can name files.
    fn read_directory(&mut self, directory: &Path, prefix: &str) -> Result<()> {
        let failed =
            |error| Error::failed(format!("tidy: cannot list {}: {error}", directory.display()));
        let entries = directory.read_dir().map_err(failed)?;
        let mut entries = entries.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(failed)?;
            let path = format!("{prefix}{name}");
            if kind.is_file() {
                self.read_file(&entry.path(), path)?;
            } else if kind.is_dir() && !is_foreign(&entry.path(), &name) {
                self.read_directory(&entry.path(), &format!("{path}/"))?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Path, path: String) -> Result<()> {
        let read = || {
            fs::read_to_string(file)
                .map_err(|error| Error::failed(format!("tidy: cannot read {path}: {error}")))
        };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => self.rust.push(Source::new(&path, &read()?)),
            Some("sql" | "lua") => {
                let text = read()?;
                self.scripts.push(Script { path, text });
            }
            Some("md") => {
                let text = read()?;
                self.pages.push(Page { path, text });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Git's own files, an editor's, and what cargo built.
fn is_foreign(directory: &Path, name: &str) -> bool {
    name.starts_with('.') || directory.join(CACHE_MARK).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn reads_this_workspace_and_not_what_cargo_built() {
        let tree = Tree::read(&Workspace::load().unwrap().root).unwrap();
        let paths: Vec<&str> = tree.rust.iter().map(|source| source.path.as_str()).collect();
        assert!(paths.contains(&"xtask/src/tidy/tree.rs"));
        assert!(paths.iter().all(|path| !path.starts_with("target/")), "{paths:?}");
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_named() {
        let error = Tree::read(Path::new("no/such/directory")).unwrap_err().to_string();
        assert!(error.contains("no/such/directory"), "{error}");
    }
}
