use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::{Crate, Example, Workspace};

/// The crate whose examples a new user runs first.
const FACADE: &str = "queuekit";

/// An example is to show something, not to serve for ever. Building is not counted.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Builds and runs every example of the facade; each has to end well, by itself, when given no
/// arguments (or those of [`arguments`]).
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let facade = workspace.find(FACADE)?;
    if facade.examples.is_empty() {
        steps.not_checked("examples", &format!("the crate `{FACADE}` has none"));
        return Ok(());
    }
    let options = options(facade);
    let build = CommandLine::cargo("build").args(&options).arg("--examples");
    steps.run("build the examples", &build)?;
    let givers: BTreeSet<&str> = facade.examples.iter().filter_map(giver).collect();
    for giver in givers {
        let build = CommandLine::cargo("build").args(with_server(giver));
        steps.run(&format!("build {giver}, which gives them a server"), &build)?;
    }
    for example in &facade.examples {
        let command = CommandLine::cargo("run --quiet").args(&options);
        let command = command.args(["--example", &example.name]);
        let command = command.args(arguments(&example.name, workspace)?);
        let command = match giver(example) {
            Some(giver) => {
                let server = CommandLine::cargo("run --quiet").args(with_server(giver)).arg("--");
                command.behind(server)
            }
            None => command,
        };
        steps.run_within(TIME_LIMIT, &format!("example {}", example.name), &command)?;
    }
    Ok(())
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

fn with_server(giver: &str) -> Vec<String> {
    let words = "--package queuekit-integration-tests --features servers --example";
    words.split_whitespace().chain([giver]).map(str::to_owned).collect()
}

/// What an example gets so that it is quick and touches nothing of the user's.
fn arguments(example: &str, workspace: &Workspace) -> Result<Vec<String>> {
    match example {
        "checksum" => {
            let directory = workspace.target_directory.join("xtask/checksum");
            generate_files(&directory)?;
            let url = format!("sqlite://{}", directory.with_extension("db").display());
            let directory = directory.display().to_string();
            Ok(["--", "--url", &url, &directory].map(str::to_owned).to_vec())
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
        let store = Path::new(given[2].strip_prefix("sqlite://").unwrap());
        let directory = Path::new(&given[3]);
        assert!(
            [store, directory].iter().all(|path| path.starts_with(&workspace.target_directory))
        );
        assert!(directory.join("below/file-01.txt").exists());
    }
}
