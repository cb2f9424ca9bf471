use std::thread;
use std::time::Duration;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::{Steps, all};
use crate::workspace::{Crate, Workspace};
use crate::{beside, client_types, mutants, rustdoc, test, tidy, tools, versions};

/// How much CI runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// What is a matrix or a repetition of what the daily run has once, too.
    pub nightly: bool,
}

/// How long a daily run looks at the guards that a change touched.
const MUTANTS_WITHIN: Duration = Duration::from_secs(60);

/// Ten times what a busy machine can disturb.
const FLAKE_HUNT: test::Hunt = test::Hunt { rounds: 10, beside: 2 };

/// What CI runs. Nothing here needs CI: the same command gives the same verdict on a laptop. No
/// failure hides another.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let steps = Steps::without_incremental(&workspace.root);
    let tidy = CommandLine::cargo("xtask tidy");
    let tests = test::Options {
        complete: true,
        long: options.nightly,
        lint: true,
        ..test::Options::default()
    };
    all([
        steps.run("formatting", &CommandLine::cargo("fmt --all --check")),
        steps.check("tidy", &tidy, || tidy::check(&workspace)),
        test::run_steps(&workspace, &steps, &tests, |steps, build| {
            thread::scope(|scope| {
                // These wait for registries.
                let resolved = scope.spawn(|| {
                    let typed = client_types::check(&workspace, steps);
                    all([beside::resolve(&workspace, steps), typed])
                });
                let checked = all([
                    document(&workspace, steps, build),
                    bind(steps),
                    check_alerts(steps),
                    deny(steps),
                    check_msrv(&workspace, steps),
                    compatible(steps),
                ]);
                let resolved = resolved.join();
                let resolved = resolved.unwrap_or_else(|_| Err(Error::failed("a check panicked")));
                all([checked, resolved])
            })
        }),
        if options.nightly { nightly(&workspace, &steps) } else { changed_guards(&steps) },
    ])
}

/// The cases of a guard's own rule run first, and all others only if these miss it.
fn changed_guards(steps: &Steps) -> Result<()> {
    let options = mutants::Options {
        changed: Some(mutants::Since::Branch),
        within: Some(MUTANTS_WITHIN),
        ..mutants::Options::default()
    };
    take_guards_out(steps, "guards that the last change touched", "--changed", options)
}

fn nightly(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let units = mutants::Options { units: true, ..mutants::Options::default() };
    all([
        lint_features(workspace, steps),
        take_guards_out(steps, "guards", "", mutants::Options::default()),
        versions::run(workspace, steps, &versions::Options::default()),
        test::hunt_flakes(workspace, steps, FLAKE_HUNT),
        beside::build(workspace, steps),
        take_guards_out(steps, "cargo-mutants", "--units", units),
    ])
}

fn take_guards_out(steps: &Steps, name: &str, args: &str, options: mutants::Options) -> Result<()> {
    let repeat = CommandLine::cargo(&format!("xtask mutants {args}"));
    let mut left = 0;
    let outcome = steps.check(name, &repeat, || {
        left = mutants::run(options)?;
        Ok(())
    });
    if left > 0 {
        let remedy = format!("there was no time for them; `{repeat}` takes out all");
        steps.not_checked(&format!("{left} guards"), &remedy);
    }
    outcome
}

/// Lints what the build of the tests does not: code that other features hide. Each combination
/// compiles all dependencies once more, so a daily run has one: the examples with their features.
fn lint_features(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let libraries = workspace.crates.iter().filter(|krate| krate.is_public_library);
    let alone = libraries.flat_map(features_alone);
    all(alone.map(|(name, command)| steps.run(&name, &command.yielding())))
}

/// A library with no feature and with each feature by itself: together they hide it when one uses
/// what only another brings in. The library alone is linted, because the dependencies of its tests
/// would bring the same things in again.
fn features_alone(krate: &Crate) -> Vec<(String, CommandLine)> {
    let without = format!("clippy --package {} --lib --no-default-features", krate.name);
    let command = |options: &[&str]| {
        CommandLine::cargo(&without).args(options.iter().copied()).args(["--", "-D", "warnings"])
    };
    let none = (format!("clippy: {} without features", krate.name), command(&[]));
    let each = krate.features.iter().map(|feature| {
        let name = format!("clippy: {} with {feature} alone", krate.name);
        (name, command(&["--features", feature]))
    });
    std::iter::once(none).chain(each).collect()
}

/// Crates that are only for this workspace have `doc = false`.
fn document(workspace: &Workspace, steps: &Steps, build: &test::Build<'_>) -> Result<()> {
    steps.run("docs", &build.by_driver(rustdoc::command(workspace)?).yielding())
}

/// The pages of docs/ as a book: a page that its table of contents names must exist.
fn bind(steps: &Steps) -> Result<()> {
    if !tools::has_mdbook() {
        let remedy = "mdbook is missing; `cargo install --locked mdbook` installs it";
        steps.not_checked("the book of docs/", remedy);
        return Ok(());
    }
    steps.run("book", &CommandLine::new("mdbook").arg("build").yielding())
}

/// The rules of deploy/monitoring, and when each fires. `tidy` compares their metrics with docs.
fn check_alerts(steps: &Steps) -> Result<()> {
    if !tools::has_promtool() {
        let remedy = "promtool is missing; Debian's package `prometheus` has it";
        steps.not_checked("the alerts of deploy/monitoring", remedy);
        return Ok(());
    }
    let promtool = |args: &str| CommandLine::new("promtool").args(args.split(' ')).yielding();
    all([
        steps.run("alerts", &promtool("check rules deploy/monitoring/alerts.yaml")),
        steps.run("tests of alerts", &promtool("test rules deploy/monitoring/alerts_test.yaml")),
        steps.run(
            "prometheus.yaml",
            &promtool("check config --syntax-only deploy/monitoring/prometheus.yaml"),
        ),
    ])
}

fn deny(steps: &Steps) -> Result<()> {
    if !tools::has_cargo_deny() {
        let remedy = "cargo-deny is missing; `cargo install --locked cargo-deny` installs it";
        steps.not_checked("licences, bans, sources and advisories of dependencies", remedy);
        return Ok(());
    }
    let advisories = if tools::has_advisory_database() {
        steps.run("deny: advisories", &advisories_denied())
    } else {
        let remedy = "there is no database; `cargo deny fetch db` downloads it";
        steps.not_checked("advisories about dependencies", remedy);
        Ok(())
    };
    all([steps.run("deny", &dependencies_denied()), advisories])
}

/// Of every platform and feature. Needs the crates of them all, which cargo downloads once.
fn dependencies_denied() -> CommandLine {
    CommandLine::cargo("deny --locked --workspace --all-features check licenses bans sources")
}

/// By the database that is there: a check that asks the network differs from one run to the next.
fn advisories_denied() -> CommandLine {
    CommandLine::cargo("deny --locked --offline --workspace --all-features check advisories")
}

/// Whether the public API breaks what the last release had more than the version says.
fn compatible(steps: &Steps) -> Result<()> {
    let what = "whether the public API is compatible with the last release";
    let Some(release) = tools::last_release() else {
        steps.not_checked(what, "there is no tag of a release; `git fetch --tags` fetches them");
        return Ok(());
    };
    if !tools::has_semver_checks() {
        let remedy = "cargo-semver-checks is missing; \
                      `cargo install --locked cargo-semver-checks` installs it";
        steps.not_checked(what, remedy);
        return Ok(());
    }
    let check = CommandLine::cargo("semver-checks --workspace --all-features --baseline-rev");
    steps.run("semver", &check.arg(release))
}

/// With every target: a test that needs a newer compiler breaks the promise for contributors.
fn check_msrv(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let Some(version) = &workspace.find("queuekit")?.msrv else {
        steps.not_checked("MSRV", "Cargo.toml states no rust-version; state one");
        return Ok(());
    };
    let Some(toolchain) = tools::toolchain(version) else {
        let remedy = format!("it is missing; `rustup toolchain install {version}` installs it");
        steps.not_checked(&format!("MSRV, Rust {version}"), &remedy);
        return Ok(());
    };
    // `cargo +toolchain` would not do: inside `cargo xtask` the name `cargo` may mean the binary
    // of the outer toolchain, which does not know the `+`.
    let check = CommandLine::new("rustup").args(["run", &toolchain, "cargo", "check"]);
    let check = check.args(["--workspace", "--all-targets", "--all-features"]);
    steps.run(&format!("MSRV {version}"), &check)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cargo-deny 0.20 understands before its command, by its help; its `check` has none of
    /// these, and refuses what it does not know.
    const DENY_OPTIONS: [&str; 5] =
        ["--locked", "--offline", "--workspace", "--all-features", "--frozen"];

    #[test]
    fn what_denies_dependencies_is_asked_with_options_that_it_knows() {
        for line in [dependencies_denied(), advisories_denied()] {
            let line = line.to_string();
            let words = line.strip_prefix("cargo deny ").unwrap().split(' ');
            let (options, rest): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with('-'));
            assert!(options.iter().all(|option| DENY_OPTIONS.contains(option)), "{line}");
            assert_eq!(rest.first(), Some(&"check"));
            assert!(line.ends_with(&rest.join(" ")), "options come first: {line}");
        }
    }

    #[test]
    fn a_library_is_linted_without_features_and_with_each_alone() {
        let features = ["memory", "worker"].map(str::to_owned).to_vec();
        let krate = Crate { name: "queuekit".to_owned(), features, ..Crate::default() };
        let commands = features_alone(&krate);
        let commands: Vec<_> = commands.iter().map(|(_, command)| command.to_string()).collect();
        let without = "cargo clippy --package queuekit --lib --no-default-features";
        let none = format!("{without} -- -D warnings");
        let with = |feature| format!("{without} --features {feature} -- -D warnings");
        assert_eq!(commands, [none, with("memory"), with("worker")]);
    }
}
