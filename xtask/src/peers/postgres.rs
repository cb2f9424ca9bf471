use std::fs;
use std::path::{Path, PathBuf};

use crate::command_line::CommandLine;

/// Where Debian and its relatives keep the programs of a server, in a directory per version: they
/// are not in the search path.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The programs of a Postgres installation.
#[derive(Clone, Debug)]
pub(crate) struct Postgres {
    /// Without it, they are looked for in the search path.
    directory: Option<PathBuf>,
}

impl Postgres {
    /// The newest version that is installed.
    pub(crate) fn find() -> Self {
        Self { directory: newest(Path::new(DEBIAN)).map(|version| version.join("bin")) }
    }

    #[cfg(test)]
    pub(crate) fn in_directory(directory: &str) -> Self {
        Self { directory: Some(directory.into()) }
    }

    pub(crate) fn program(&self, name: &str) -> CommandLine {
        let program = match &self.directory {
            Some(directory) => directory.join(name).to_string_lossy().into_owned(),
            None => name.to_owned(),
        };
        CommandLine::new(program)
    }

    /// `psql` that runs one statement and prints nothing but what it answers.
    pub(crate) fn statement(&self, url: &str, sql: &str) -> CommandLine {
        let quiet = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"];
        self.program("psql").args(quiet).args(["--set", "ON_ERROR_STOP=1", "--command", sql, url])
    }
}

/// The directory with the highest version, among those named by a version.
fn newest(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let versions = entries.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((version, entry.path()))
    });
    versions.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_highest_number_not_the_last_name() {
        let directory = std::env::temp_dir().join(format!("xtask-newest-{}", std::process::id()));
        for version in ["9", "15", "common"] {
            fs::create_dir_all(directory.join(version)).unwrap();
        }
        let found = newest(&directory);
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, Some(directory.join("15")));
        assert_eq!(newest(Path::new("no/such/directory")), None);
    }

    #[test]
    fn without_a_known_directory_programs_are_searched_for() {
        let shown = Postgres { directory: None }.statement("postgres://h/d", "SELECT 1");
        assert!(shown.to_string().starts_with("psql --no-psqlrc"), "{shown}");
        assert!(shown.to_string().ends_with("--command 'SELECT 1' postgres://h/d"), "{shown}");
    }
}
