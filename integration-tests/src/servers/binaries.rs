use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Result;
use super::environment::variable;

/// Where distributions that keep several versions side by side put each.
const PLACES: &[(&str, &str)] = &[
    ("/usr/lib/postgresql", "bin"),
    ("/usr/local/opt", "bin"),
    ("/opt/homebrew/opt", "bin"),
    ("/usr", "bin"),
];

/// The programs of one installed Postgres.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binaries {
    /// Where they are.
    pub(super) directory: PathBuf,
    major: u32,
}

impl Binaries {
    /// The programs in the path, else the newest ones; or those of the requested version.
    pub(super) fn find() -> Option<Self> {
        let asked = asked_version();
        let matches = |found: &Self| asked.as_ref().is_none_or(|v| *v == found.major.to_string());
        on_path().chain(side_by_side()).find(matches)
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn in_directory(directory: &Path) -> Option<Self> {
        // Links lead to where the other programs of the same version are.
        let postgres = directory.join("postgres").canonicalize().ok()?;
        let directory = postgres.parent()?.to_owned();
        let complete = directory.join("initdb").exists();
        let output = Command::new(&postgres).arg("--version").output().ok().filter(|_| complete)?;
        let major = major(&String::from_utf8_lossy(&output.stdout))?;
        Some(Self { directory, major })
    }
}

/// The major version to use, if the environment names one.
pub(super) fn asked_version() -> Option<String> {
    variable("QUEUEKIT_TEST_POSTGRES_VERSION")
}

/// An error if the tests are to run with another version of Redis than the one that answers.
pub(super) fn is_asked_redis(program: &Path, version: &str) -> Result<()> {
    match variable("QUEUEKIT_TEST_REDIS_VERSION") {
        Some(asked) if asked != version => Err(format!(
            "{} is Redis {version}, and QUEUEKIT_TEST_REDIS_VERSION asks for {asked}",
            program.display()
        )),
        _ => Ok(()),
    }
}

/// A program that is not Postgres's own, by name; `sbin` is not in everyone's path.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    let more = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"].map(PathBuf::from);
    let mut places = path().into_iter().chain(more).map(|directory| directory.join(name));
    places.find(|path| path.is_file())
}

fn on_path() -> impl Iterator<Item = Binaries> {
    path().into_iter().filter_map(|directory| Binaries::in_directory(&directory))
}

fn path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map_or_else(Vec::new, |path| std::env::split_paths(&path).collect())
}

fn side_by_side() -> impl Iterator<Item = Binaries> {
    let directories = PLACES.iter().flat_map(|(parent, bin)| versions(Path::new(parent), bin));
    let mut found: Vec<_> = directories.filter_map(|dir| Binaries::in_directory(&dir)).collect();
    found.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
    found.into_iter()
}

/// `15/bin`, `pgsql-15/bin`, `postgresql@15/bin`.
fn versions(parent: &Path, bin: &str) -> Vec<PathBuf> {
    let entries = parent.read_dir().into_iter().flatten().flatten();
    let is_version = |name: &OsStr| {
        let name = name.to_string_lossy();
        let number = name.trim_start_matches("pgsql-").trim_start_matches("postgresql@");
        number.parse::<u32>().is_ok()
    };
    let named = entries.filter(|entry| is_version(&entry.file_name()));
    named.map(|entry| entry.path().join(bin)).collect()
}

/// Of `postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)`, `17beta1` included.
fn major(version: &str) -> Option<u32> {
    let number = version.split("(PostgreSQL)").nth(1)?.trim_start();
    let digits = number.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_a_server_says_of_itself() {
        assert_eq!(major("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)\n"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 19beta1"), Some(19));
        assert_eq!(major("postgres: not found"), None);
    }

    #[test]
    fn a_program_that_nobody_has_is_not_found() {
        assert_eq!(program("no-such-program-anywhere"), None);
        assert_eq!(Binaries::in_directory(Path::new("/nowhere")), None);
    }
}
