use std::env;
use std::path::{Path, PathBuf};

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::{system, tools};

/// By it tests fail, and do not skip, when what it names is not there.
pub(crate) const REQUIRE: &str = "QUEUEKIT_TEST_REQUIRE";

/// What tests need beside Rust. They look for it themselves, see `servers` of `integration-tests`.
const PROGRAMS: &[Program] = &[
    Program::server("postgres-local", "postgres", "postgresql", POSTGRES),
    Program::new("pgbouncer", "pgbouncer", "pgbouncer"),
    Program::server("redis-local", "redis-server", "redis-server", REDIS),
    Program::new("python3", "python3", "python3-venv"),
    Program::new("node", "node", "nodejs"),
    // Debian has it in a package of its own.
    Program::new("npm", "npm", "npm"),
    Program::new("cc", "cc", "gcc"),
    Program::new("chromium", "chromium", "chromium"),
    Program::new("chromedriver", "chromedriver", "chromium-driver"),
];

const POSTGRES: Server = Server { word: "postgres", url: "QUEUEKIT_TEST_POSTGRES_URL" };
const REDIS: Server = Server { word: "redis", url: "QUEUEKIT_TEST_REDIS_URL" };

/// Where Debian puts programs that are not in everyone's path.
const PLACES: &[&str] = &["/usr/sbin", "/usr/lib/postgresql/*/bin"];

/// Makes sure that the servers that tests need are here, and returns the value of [`REQUIRE`].
///
/// What is missing is installed if that can be done: as root on Debian it is, and with `install`
/// also by way of sudo. A server may come from elsewhere as well, and one that comes from nowhere
/// fails the run. Of what else is missing the summary tells, or, if `all` is required, the run
/// fails.
pub(crate) fn provide(steps: &Steps, install: bool, all: bool) -> Result<String> {
    if !cfg!(unix) {
        steps.not_checked("stores with a server", "their tests run on Unix only");
        return Ok(String::new());
    }
    let missing = missing();
    if let Some(installer) = Installer::find(install).filter(|_| !missing.is_empty()) {
        for (name, command) in installer.steps(&missing) {
            steps.run(&name, &command)?;
        }
    }
    let found = Found {
        missing: self::missing(),
        has_docker: tools::docker_answers(),
        urls: servers().map(|server| server.url).filter(|url| is_set(url)).collect(),
        allowed: system::allowed(),
    };
    if all && !found.missing.is_empty() {
        let names: Vec<&str> = found.missing.iter().map(|program| program.name).collect();
        let remedy = remedy(&found.missing);
        return Err(Error::failed(format!("{} is missing: {remedy}", names.join(", "))));
    }
    for program in &found.missing {
        steps.not_checked(&format!("what needs {} itself", program.name), &remedy(&[program]));
    }
    found.requirements()
}

/// A program that tests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Program {
    /// How tests call it when it is required.
    word: &'static str,
    name: &'static str,
    /// The package of Debian that has it.
    package: &'static str,
    /// If it may come from elsewhere.
    server: Option<Server>,
}

/// A server that the tests of a store need, wherever it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Server {
    /// How tests call it when it is required.
    word: &'static str,
    /// The variable with its URL.
    url: &'static str,
}

fn servers() -> impl Iterator<Item = Server> {
    PROGRAMS.iter().filter_map(|program| program.server)
}

impl Program {
    const fn new(word: &'static str, name: &'static str, package: &'static str) -> Self {
        Self { word, name, package, server: None }
    }

    const fn server(
        word: &'static str,
        name: &'static str,
        package: &'static str,
        server: Server,
    ) -> Self {
        Self { word, name, package, server: Some(server) }
    }
}

/// What this machine has, and what it has not.
#[derive(Debug, Default)]
struct Found {
    missing: Vec<&'static Program>,
    has_docker: bool,
    urls: Vec<&'static str>,
    /// What tests may do to this system.
    allowed: Vec<&'static str>,
}

impl Found {
    /// Everything that is here, so that what was lost is not skipped unseen.
    fn requirements(&self) -> Result<String> {
        let here = |program: &&Program| !self.missing.contains(program);
        let mut words: Vec<&str> = PROGRAMS.iter().filter(here).map(|p| p.word).collect();
        for program in PROGRAMS {
            let Some(Server { word, url }) = program.server else { continue };
            if !(here(&program) || self.has_docker || self.urls.contains(&url)) {
                return Err(Error::failed(format!(
                    "no {name}: {remedy}; or set {url} to that of one that runs, or start Docker",
                    name = word,
                    remedy = remedy(&[program]),
                )));
            }
            words.push(word);
        }
        words.extend(&self.allowed);
        Ok(words.join(","))
    }
}

/// Debian's way to get a package, by someone who may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Installer {
    needs_sudo: bool,
}

impl Installer {
    fn find(asked: bool) -> Option<Self> {
        let is_debian = locate("apt-get").is_some();
        Self::choose(is_debian, tools::is_root(), asked)
    }

    /// Root has made its choice by being root; for anyone else a password is asked, so they have
    /// to want it.
    fn choose(is_debian: bool, is_root: bool, asked: bool) -> Option<Self> {
        (is_debian && (is_root || asked)).then_some(Self { needs_sudo: !is_root })
    }

    fn steps(self, missing: &[&Program]) -> Vec<(String, CommandLine)> {
        let packages: Vec<&str> = missing.iter().map(|program| program.package).collect();
        let apt = || {
            let sudo = CommandLine::new("sudo").arg("apt-get");
            if self.needs_sudo { sudo } else { CommandLine::new("apt-get") }
        };
        let install = apt().args(["install", "--yes", "--no-install-recommends"]);
        vec![
            ("lists of packages".to_owned(), apt().arg("update")),
            (format!("install {}", packages.join(" ")), install.args(packages)),
        ]
    }
}

fn remedy(programs: &[&Program]) -> String {
    let packages: Vec<&str> = programs.iter().map(|program| program.package).collect();
    format!(
        "install it, on Debian with `sudo apt-get install {}` or `cargo xtask test --install`",
        packages.join(" ")
    )
}

fn missing() -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| locate(program.name).is_none()).collect()
}

fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

fn locate(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(PLACES.iter().flat_map(|place| directories(place)));
    places.map(|place| place.join(name)).find(|file| file.is_file())
}

/// A path in which one part may be `*`.
fn directories(place: &str) -> Vec<PathBuf> {
    let Some((parent, rest)) = place.split_once("/*/") else { return vec![place.into()] };
    let entries = Path::new(parent).read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(installer: Installer, missing: &[&Program]) -> Vec<String> {
        installer.steps(missing).into_iter().map(|(_, command)| command.to_string()).collect()
    }

    #[test]
    fn everything_that_is_here_is_required() {
        let all = Found { allowed: vec!["mount"], ..Found::default() }.requirements();
        let words = "postgres-local,pgbouncer,redis-local,python3,node,npm,cc,chromium,\
                     chromedriver,postgres,redis,mount";
        assert_eq!(all, Ok(words.to_owned()));
    }

    #[test]
    fn a_server_may_come_from_elsewhere_and_what_only_programs_do_is_not_required_then() {
        let missing: Vec<&Program> = PROGRAMS.iter().collect();
        let docker = Found { missing: missing.clone(), has_docker: true, ..Found::default() };
        assert_eq!(docker.requirements(), Ok("postgres,redis".to_owned()));
        let urls = vec![POSTGRES.url, REDIS.url];
        let given = Found { missing, urls, ..Found::default() };
        assert_eq!(given.requirements(), Ok("postgres,redis".to_owned()));
    }

    #[test]
    fn a_server_from_nowhere_fails_with_every_way_to_get_one() {
        let nothing = Found { missing: PROGRAMS.iter().collect(), ..Found::default() };
        let error = nothing.requirements().unwrap_err().to_string();
        for way in ["sudo apt-get install postgresql", "--install", "_POSTGRES_URL", "Docker"] {
            assert!(error.contains(way), "{way}: {error}");
        }
    }

    #[test]
    fn root_installs_others_only_when_they_asked_and_nobody_where_there_is_no_apt() {
        let root = Some(Installer { needs_sudo: false });
        assert_eq!(Installer::choose(true, true, false), root);
        assert_eq!(Installer::choose(true, false, false), None);
        assert_eq!(Installer::choose(true, false, true), Some(Installer { needs_sudo: true }));
        assert_eq!(Installer::choose(false, true, true), None);
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        let install = "apt-get install --yes --no-install-recommends";
        assert_eq!(
            lines(Installer { needs_sudo: false }, &[&PROGRAMS[1]]),
            ["apt-get update".to_owned(), format!("{install} pgbouncer")]
        );
        assert_eq!(
            lines(Installer { needs_sudo: true }, &[&PROGRAMS[0], &PROGRAMS[1]]),
            ["sudo apt-get update".to_owned(), format!("sudo {install} postgresql pgbouncer")]
        );
    }
}
