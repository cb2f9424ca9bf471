use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::{Steps, all};
use crate::test::Build;
use crate::workspace::{Crate, Example, Workspace};

/// The crate whose examples a new user runs first.
const FACADE: &str = "queuekit";

/// An example is to show something, not to serve for ever. Building is not counted.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Builds every example as the tests are built, for [`run`] and for tests that start one.
pub(crate) fn build(build: &Build<'_>) -> Result<()> {
    let all_features = CommandLine::cargo("build --workspace --all-features --examples");
    build.run("build the examples", all_features).map(drop)
}

/// Checks those of the facade with the features that a user has.
pub(crate) fn check_for_users(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let check = CommandLine::cargo("check --examples").args(options(workspace.find(FACADE)?));
    steps.run("check the examples with a user's features", &check.yielding())
}

/// Where [`build`] leaves them.
pub(crate) fn directory(workspace: &Workspace) -> PathBuf {
    workspace.target_directory.join("debug/examples")
}

/// Runs every example of the facade; each has to end well, by itself, when given no arguments (or
/// those of [`arguments`]).
pub(crate) fn run(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let facade = workspace.find(FACADE)?;
    if facade.examples.is_empty() {
        steps.not_checked("examples", &format!("the crate `{FACADE}` has none"));
        return Ok(());
    }
    all(facade.examples.iter().map(|example| run_one(workspace, steps, example)))
}

fn run_one(workspace: &Workspace, steps: &Steps, example: &Example) -> Result<()> {
    let program =
        |name: &str| CommandLine::new(directory(workspace).join(name).display().to_string());
    let command = program(&example.name).args(arguments(&example.name, workspace)?);
    let command = match giver(example) {
        Some(giver) => command.behind(program(giver)),
        None => command,
    };
    steps.run_within(TIME_LIMIT, &format!("example {}", example.name), &command)
}

/// Default features and those an example asks for, nothing more: with all features of the whole
/// workspace an example may build that does not build for a user. All examples get the same, so
/// that they share one build.
fn options(facade: &Crate) -> Vec<String> {
    let mut options = vec!["--package".to_owned(), facade.name.clone()];
    let features: BTreeSet<&str> = facade
        .examples
        .iter()
        .flat_map(|example| &example.required_features)
        .map(String::as_str)
        .collect();
    if !features.is_empty() {
        options.push("--features".to_owned());
        options.push(features.into_iter().collect::<Vec<_>>().join(","));
    }
    options
}

/// The program that runs an example with a server, if it needs one.
fn giver(example: &Example) -> Option<&'static str> {
    let needs = |feature| example.required_features.iter().any(|required| required == feature);
    let givers = [("postgres", "with_postgres"), ("redis", "with_redis")];
    givers.into_iter().find(|(feature, _)| needs(*feature)).map(|(_, giver)| giver)
}

/// What an example gets so that it is quick and touches nothing of the user's.
fn arguments(example: &str, workspace: &Workspace) -> Result<Vec<String>> {
    match example {
        "checksum" => {
            let directory = workspace.target_directory.join("xtask/checksum");
            generate_files(&directory)?;
            let url = format!("sqlite://{}", directory.with_extension("db").display());
            let directory = directory.display().to_string();
            Ok(["--url", &url, &directory].map(str::to_owned).to_vec())
        }
        _ => Ok(Vec::new()),
    }
}

/// A few small files in two levels, always the same.
fn generate_files(directory: &Path) -> Result<()> {
    let below = directory.join("below");
    let failed = |path: &Path, error: std::io::Error| {
        Error::failed(format!("cannot write {} for an example: {error}", path.display()))
    };
    fs::create_dir_all(&below).map_err(|error| failed(&below, error))?;
    for number in 0..20_usize {
        let parent = if number % 2 == 0 { directory } else { &below };
        let path = parent.join(format!("file-{number:02}.txt"));
        let content = format!("line of file {number}\n").repeat(number * 100);
        fs::write(&path, content).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facade(required: &[&[&str]]) -> Crate {
        let example = |features: &&[&str]| Example {
            name: "one".to_owned(),
            required_features: features.iter().map(|&name| name.to_owned()).collect(),
        };
        Crate {
            name: FACADE.to_owned(),
            examples: required.iter().map(example).collect(),
            ..Crate::default()
        }
    }

    #[test]
    fn all_examples_share_the_features_that_any_of_them_needs() {
        let all = options(&facade(&[&["worker"], &["sqlite", "worker"], &[]]));
        assert_eq!(all.join(" "), "--package queuekit --features sqlite,worker");
        assert_eq!(options(&facade(&[&[]])).join(" "), "--package queuekit");
    }

    #[test]
    fn only_checksum_gets_arguments_a_store_and_a_directory_with_files() {
        let workspace = Workspace::load().unwrap();
        assert!(arguments("hello", &workspace).unwrap().is_empty());
        let given = arguments("checksum", &workspace).unwrap();
        let store = Path::new(given[1].strip_prefix("sqlite://").unwrap());
        let directory = Path::new(&given[2]);
        assert!(
            [store, directory].iter().all(|path| path.starts_with(&workspace.target_directory))
        );
        assert!(directory.join("below/file-01.txt").exists());
    }
}
