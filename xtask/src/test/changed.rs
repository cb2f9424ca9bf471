use std::collections::BTreeSet;

use super::lanes::{Extent, Lanes};
use super::programs::{self, Program};
use super::{Build, Environment, Options, git, run_lanes};
use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::{Steps, all};
use crate::tidy;
use crate::workspace::Workspace;

/// What can break by a change below a folder: the programs of unit tests to run, and the test
/// programs. The first row that fits a file counts. What depends on all stores, as the server
/// does, is left to the whole run, which is named at the end.
const NEEDS: &[Needs] = &[
    Needs::new(
        "queuekit-core/",
        &["queuekit-core"],
        &["memory", "suite", "sqlite", "schedules", "worker"],
    ),
    Needs::new("queuekit-derive/", &["queuekit-derive"], &[]),
    Needs::new("queuekit-sqlite/", &["queuekit-sqlite"], &["sqlite"]),
    Needs::new("queuekit-postgres/", &["queuekit-postgres"], &["postgres"]),
    Needs::new("queuekit-redis/", &["queuekit-redis"], &["redis"]),
    Needs::new("queuekit-transactions/", &["queuekit-transactions"], &["postgres"]),
    Needs::new("queuekit-worker/", &["queuekit-worker"], &["memory", "worker"]),
    Needs::new("queuekit-server/", &["queuekit-server"], &["server"]),
    Needs::new("queuekit/", &["queuekit"], &["checksum"]),
    Needs::new("queuekit-conformance/", &[], &["units", "memory", "suite", "sqlite"]),
    Needs::new("integration-tests/tests/suite/", &[], &["suite"]),
    Needs::new("integration-tests/tests/sqlite/", &[], &["sqlite"]),
    Needs::new("integration-tests/tests/postgres/", &[], &["postgres"]),
    Needs::new("integration-tests/tests/redis/", &[], &["redis"]),
    Needs::new("integration-tests/tests/common/", &[], &["sqlite", "postgres", "redis"]),
    Needs::new("integration-tests/", &["queuekit-integration-tests"], &["suite", "sqlite"]),
    Needs::new("templates/queuekit-store-json/", &[], &["conformance"]),
    Needs::new("examples/shop/", &["bin shop"], &[]),
    Needs::new("examples/webshop/", &["bin webshop"], &[]),
    Needs::new("xtask/", &["bin xtask"], &[]),
];

#[derive(Debug)]
struct Needs {
    below: &'static str,
    units: &'static [&'static str],
    programs: &'static [&'static str],
}

impl Needs {
    const fn new(
        below: &'static str,
        units: &'static [&'static str],
        programs: &'static [&'static str],
    ) -> Self {
        Self { below, units, programs }
    }
}

/// Formatting, tidy, and the tests that what has changed since a revision can break.
pub(super) fn run(
    workspace: &Workspace,
    steps: &Steps,
    options: &Options,
    since: &str,
) -> Result<()> {
    let needed = Needed::of(&files_changed(steps, since)?);
    let tidy = CommandLine::cargo("xtask tidy");
    all([
        steps.run("formatting", &CommandLine::cargo("fmt --all --check")),
        steps.check("tidy", &tidy, || tidy::check(workspace)),
        test(workspace, steps, options, &needed),
    ])
}

fn test(workspace: &Workspace, steps: &Steps, options: &Options, needed: &Needed) -> Result<()> {
    if needed.names.is_empty() {
        steps.tell("no test program can tell what has changed".to_owned());
        return Ok(());
    }
    let environment = Environment::new(workspace, steps, options)?;
    let built = programs::build(&Build::new(steps), "build the tests", needed.targets())?;
    let programs: Vec<Program> =
        built.into_iter().filter(|program| needed.names.contains(program.name())).collect();
    let extent = if options.long { Extent::Everything } else { Extent::Changed };
    let lanes = Lanes::of(&programs, extent);
    let (report, outcome) = run_lanes(steps, &environment, &lanes, |_| Ok(()));
    report.lines().into_iter().for_each(|line| steps.tell(line));
    let ran: Vec<&str> = needed.names.iter().copied().collect();
    let left = programs.iter().flat_map(|program| extent.leaves_out(program));
    let left: BTreeSet<&str> = left.filter_map(|module| module.split("::").next()).collect();
    let left: Vec<&str> = left.into_iter().collect();
    let left = if left.is_empty() { String::new() } else { format!(", not {}", left.join(", ")) };
    steps.tell(format!("ran {}{left}; `cargo xtask test` runs everything", ran.join(", ")));
    outcome
}

/// Names of programs, and whether unit tests are among them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needed {
    names: BTreeSet<&'static str>,
    targets: BTreeSet<Vec<&'static str>>,
}

impl Needed {
    fn of(files: &[String]) -> Self {
        let mut needed = Self::default();
        let fits = |file: &String| NEEDS.iter().find(|needs| file.starts_with(needs.below));
        for needs in files.iter().filter_map(fits) {
            needed.names.extend(needs.units.iter().chain(needs.programs));
            needed.targets.extend(needs.units.iter().map(|unit| match unit.strip_prefix("bin ") {
                Some(program) => vec!["--bin", program],
                None => vec!["--lib"],
            }));
            needed.targets.extend(needs.programs.iter().map(|program| vec!["--test", *program]));
        }
        needed
    }

    fn targets(&self) -> Vec<&'static str> {
        self.targets.iter().flatten().copied().collect()
    }
}

fn files_changed(steps: &Steps, since: &str) -> Result<Vec<String>> {
    let tracked = git::output(steps, &["diff", "--name-only", since])?;
    let new = git::output(steps, &["ls-files", "--others", "--exclude-standard"])?;
    let files: Vec<String> = tracked.lines().chain(new.lines()).map(str::to_owned).collect();
    if files.is_empty() {
        return Err(Error::failed(format!(
            "nothing has changed since {since}; --changed=REV compares with another revision"
        )));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(file: &str) -> Needed {
        Needed::of(&[file.to_owned()])
    }

    #[test]
    fn a_change_in_a_store_runs_its_units_and_its_program() {
        let needed = needed("queuekit-sqlite/sql/ack.sql");
        assert_eq!(needed.names, BTreeSet::from(["queuekit-sqlite", "sqlite"]));
        assert_eq!(needed.targets(), ["--lib", "--test", "sqlite"]);
    }

    #[test]
    fn the_first_row_that_fits_counts() {
        let needed = needed("integration-tests/tests/redis/keys.rs");
        assert_eq!(needed.targets(), ["--test", "redis"]);
    }

    #[test]
    fn a_document_needs_no_test() {
        assert_eq!(needed("docs/http.md"), Needed::default());
    }

    /// A row that is forgotten here would leave a change untested.
    #[test]
    fn every_crate_has_a_row() {
        let workspace = Workspace::load().unwrap();
        for krate in workspace.crates.iter().filter(|krate| krate.name != "queuekit-benches") {
            let below = match krate.name.as_str() {
                "queuekit-integration-tests" => "integration-tests/".to_owned(),
                "queuekit-store-json" => "templates/queuekit-store-json/".to_owned(),
                name @ ("shop" | "webshop") => format!("examples/{name}/"),
                name => format!("{name}/"),
            };
            assert!(NEEDS.iter().any(|needs| needs.below == below), "{below} has no row");
        }
    }
}
