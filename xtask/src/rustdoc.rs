//! The pages of the libraries, from what the tests were built of.
//!
//! `cargo doc` checks every crate that they depend on once more: it starts from metadata, and the
//! tests from libraries. `cargo test --doc` has the libraries, and starts rustdoc on each crate. In
//! [`command`] this program takes the place of that rustdoc, and lets the real one write pages
//! where it was to run doctests.

use std::env;
use std::process::{Command, ExitCode};

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// The crates to document, separated by commas, if this program is started as rustdoc.
const CRATES: &str = "QUEUEKIT_XTASK_DOCUMENTS";
/// Where the pages go.
const OUT: &str = "QUEUEKIT_XTASK_DOCUMENTS_IN";
/// What rustdoc takes only when it runs doctests; each has a value.
const OF_TESTS: [&str; 2] = ["--test-run-directory", "--test-args"];

/// Documents every library that is not only for this workspace. A warning is an error.
pub(crate) fn command(workspace: &Workspace) -> Result<CommandLine> {
    let failed = |error| Error::failed(format!("cannot tell where this program is: {error}"));
    let this = env::current_exe().map_err(failed)?;
    let crates: Vec<String> = workspace
        .crates
        .iter()
        .filter(|krate| krate.is_documented)
        .map(|krate| krate.name.replace('-', "_"))
        .collect();
    Ok(CommandLine::cargo("test --workspace --all-features --doc --no-fail-fast")
        .env("RUSTDOC", &this.display().to_string())
        .env("RUSTDOCFLAGS", "-D warnings")
        .env(CRATES, &crates.join(","))
        .env(OUT, &workspace.target_directory.join("doc").display().to_string()))
}

/// Does what rustdoc is asked for, if this program was started in its place.
pub(crate) fn in_its_place() -> Option<ExitCode> {
    let crates = env::var(CRATES).ok()?;
    let args: Vec<String> = env::args().skip(1).collect();
    let Some(mut args) = documenting(&args, &crates) else { return Some(ExitCode::SUCCESS) };
    if let Ok(out) = env::var(OUT) {
        args.extend(["--out-dir".to_owned(), out]);
    }
    Some(match Command::new("rustdoc").args(&args).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cannot start rustdoc: {error}");
            ExitCode::FAILURE
        }
    })
}

/// The arguments that write the pages of a crate, from those that run its doctests. None for a
/// crate that has no pages.
fn documenting(args: &[String], crates: &str) -> Option<Vec<String>> {
    let name = args.iter().skip_while(|arg| *arg != "--crate-name").nth(1)?;
    crates.split(',').find(|documented| documented == name)?;
    let mut kept = Vec::with_capacity(args.len());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if OF_TESTS.contains(&arg.as_str()) {
            rest.next();
        } else if arg != "--test" {
            kept.push(arg.clone());
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_documented_with_what_its_doctests_get() {
        let args = "--crate-name queuekit_core --test src/lib.rs --test-run-directory /a \
                    --extern serde=/b --test-args --quiet -D warnings";
        let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        let documented = documenting(&args, "queuekit,queuekit_core").unwrap().join(" ");
        let expected = "--crate-name queuekit_core src/lib.rs --extern serde=/b -D warnings";
        assert_eq!(documented, expected);
        assert_eq!(documenting(&args, "queuekit"), None);
    }

    #[test]
    fn libraries_for_others_are_documented() {
        let line = command(&Workspace::load().unwrap()).unwrap().to_string();
        let crates = line.split_once("DOCUMENTS=").unwrap().1;
        let crates: Vec<&str> = crates.split(' ').next().unwrap().split(',').collect();
        assert!(crates.contains(&"queuekit") && crates.contains(&"queuekit_derive"), "{crates:?}");
        assert!(!crates.contains(&"queuekit_benches"), "{crates:?}");
    }
}
