use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether `cargo deny` can be run here.
pub(crate) fn has_cargo_deny() -> bool {
    output_of("cargo", &["deny", "--version"]).is_some()
}

/// Whether `cargo semver-checks` can be run here.
pub(crate) fn has_semver_checks() -> bool {
    output_of("cargo", &["semver-checks", "--version"]).is_some()
}

/// The tag of the last release, if there was one.
pub(crate) fn last_release() -> Option<String> {
    let tag = output_of("git", &["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"])?;
    Some(tag.trim().to_owned())
}

/// Whether `mdbook` can be run here.
pub(crate) fn has_mdbook() -> bool {
    output_of("mdbook", &["--version"]).is_some()
}

/// Whether `promtool` can be run here.
pub(crate) fn has_promtool() -> bool {
    output_of("promtool", &["--version"]).is_some()
}

/// The compiler with clippy's lints in it, which `cargo clippy` has cargo start for each crate of
/// the workspace.
pub(crate) fn clippy_driver() -> Option<String> {
    let sysroot = output_of("rustc", &["--print", "sysroot"])?;
    let driver = PathBuf::from(sysroot.trim()).join("bin/clippy-driver");
    driver.is_file().then(|| driver.display().to_string())
}

/// Whether cargo-deny has a database of advisories it can use without the network.
pub(crate) fn has_advisory_database() -> bool {
    cargo_home().is_some_and(|home| holds_a_directory(&home.join("advisory-dbs")))
}

/// Each database is a directory. A `cargo deny fetch db` that failed leaves a lock file alone.
fn holds_a_directory(path: &Path) -> bool {
    let entries = path.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.is_dir())
}

/// Whether there is a Docker that starts containers for this user.
pub(crate) fn docker_answers() -> bool {
    output_of("docker", &["version"]).is_some()
}

pub(crate) fn is_root() -> bool {
    output_of("id", &["-u"]).is_some_and(|id| id.trim() == "0")
}

/// The full name of the installed toolchain of this version, if there is one.
pub(crate) fn toolchain(version: &str) -> Option<String> {
    find_toolchain(&output_of("rustup", &["toolchain", "list"])?, version)
}

/// `1.89.0` is found in both of the forms under which rustup may have it: `1.89.0-x86_64-..` and
/// `1.89-x86_64-..`.
fn find_toolchain(list: &str, version: &str) -> Option<String> {
    let short = version.strip_suffix(".0").unwrap_or(version);
    list.lines()
        .filter_map(|line| line.split_whitespace().next())
        .find(|name| {
            let number = name.split('-').next().unwrap_or(name);
            number == version || number == short
        })
        .map(str::to_owned)
}

/// What a tool printed, or `None` if it is missing or failed.
fn output_of(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cargo_home() -> Option<PathBuf> {
    let given = env::var_os("CARGO_HOME").map(PathBuf::from);
    given.or_else(|| Some(env::home_dir()?.join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_found_by_number_in_either_form_and_by_nothing_else() {
        let list =
            "stable-x86_64-unknown-linux-gnu (active, default)\n1.89-x86_64-pc-windows-gnu\n";
        let found = Some("1.89-x86_64-pc-windows-gnu".to_owned());
        assert_eq!(find_toolchain(list, "1.89.0"), found);
        let list = "1.89.0-aarch64-apple-darwin (default)\n";
        assert_eq!(find_toolchain(list, "1.89.0"), Some("1.89.0-aarch64-apple-darwin".to_owned()));
        assert_eq!(find_toolchain("1.8.0-x86_64\n1.890.0-x86_64\n", "1.89.0"), None);
    }

    #[test]
    fn a_fetch_of_advisories_that_failed_has_left_no_database() {
        let databases = tempfile::tempdir().unwrap();
        assert!(!holds_a_directory(&databases.path().join("missing")));
        std::fs::write(databases.path().join("db.lock"), "").unwrap();
        assert!(!holds_a_directory(databases.path()), "a lock alone");
        std::fs::create_dir(databases.path().join("advisory-db-3157b0e258782691")).unwrap();
        assert!(holds_a_directory(databases.path()));
    }

    #[test]
    fn a_missing_tool_is_none() {
        assert_eq!(output_of("no-such-program-anywhere", &[]), None);
        assert_eq!(output_of("cargo", &["no-such-subcommand-anywhere"]), None);
    }
}
