use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::{Steps, all};
use crate::workspace::Workspace;

/// An application's own dependency on a database crate.
struct Beside {
    name: &'static str,
    dependency: &'static str,
    /// Whether the feature `sqlite` of queuekit fits beside it, as docs/transactions.md says. A
    /// program can link SQLite once, so each must take one version of it.
    with_sqlite: bool,
    /// How the application runs a statement in its transaction, if it does.
    driver: Option<&'static str>,
}

/// What an application with such a driver does.
const MAIN: &str = include_str!("../beside/main.rs");

impl Beside {
    const fn new(name: &'static str, dependency: &'static str, with_sqlite: bool) -> Self {
        Self { name, dependency, with_sqlite, driver: None }
    }

    const fn driven(self, driver: &'static str) -> Self {
        Self { driver: Some(driver), ..self }
    }

    /// Features of queuekit, and whether it resolves with them. What resolves with two features
    /// resolves with each and with none: they only add to what has to fit.
    const fn verdicts(&self) -> &'static [(&'static str, bool)] {
        if self.with_sqlite {
            &[("\"postgres\", \"sqlite\"", true)]
        } else {
            &[("\"postgres\"", true), ("\"sqlite\"", false)]
        }
    }
}

/// Versions are exact, so that a release of another crate does not change the verdict of CI.
const APPLICATIONS: &[Beside] = &[
    Beside::new(
        "sqlx 0.8",
        r#"sqlx = { version = "=0.8.6", features = [EACH, "migrate", "runtime-tokio"] }"#,
        false,
    )
    .driven(include_str!("../beside/sqlx_0_8.rs")),
    Beside::new(
        "sqlx 0.9",
        r#"sqlx = { version = "=0.9.0", features = [EACH, "migrate", "runtime-tokio"] }"#,
        true,
    )
    .driven(include_str!("../beside/sqlx_0_9.rs")),
    Beside::new(
        "SeaORM 1",
        r#"sea-orm = { version = "=1.1.20", features = [SQLX, "runtime-tokio"] }"#,
        false,
    )
    .driven(include_str!("../beside/sea_orm_1.rs")),
    Beside::new(
        "SeaORM 2",
        r#"sea-orm = { version = "=2.0.4", features = [SQLX, "runtime-tokio"] }"#,
        true,
    )
    .driven(include_str!("../beside/sea_orm_2.rs")),
    Beside::new("diesel 2", r#"diesel = { version = "=2.3.14", features = [EACH] }"#, true),
    Beside::new(
        "diesel-async 0.7",
        r#"diesel-async = { version = "=0.7.4", features = ["postgres"] }
diesel = { version = "=2.3.14", default-features = false }"#,
        true,
    )
    .driven(include_str!("../beside/diesel_async.rs")),
    Beside::new("rusqlite 0.41", r#"rusqlite = "=0.41.1""#, true),
    Beside::new("rusqlite 0.40", r#"rusqlite = "=0.40.2""#, true),
    Beside::new("rusqlite 0.39", r#"rusqlite = "=0.39.0""#, true),
    Beside::new("rusqlite 0.38", r#"rusqlite = "=0.38.0""#, true),
    Beside::new("rusqlite 0.37", r#"rusqlite = "=0.37.0""#, false),
];

/// Resolves queuekit beside the database crates of applications, as the page says that it can be.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::load()?;
    let steps = Steps::new(&workspace.root);
    all([resolve(&workspace, &steps), build(&workspace, &steps)])
}

/// Asks the registry for versions, and downloads no crate.
pub(crate) fn resolve(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let repeat = CommandLine::cargo("xtask beside");
    let mut outcome = Ok(None);
    let checked = steps.check("beside other database crates", &repeat, || {
        outcome = resolve_all(workspace, steps);
        outcome.as_ref().map(drop).map_err(|error| Error::failed(error.to_string()))
    });
    if let Ok(Some(why)) = &outcome {
        steps.not_checked("whether queuekit resolves beside other database crates", why);
    }
    checked
}

/// Why nothing could be said, if so.
fn resolve_all(workspace: &Workspace, steps: &Steps) -> Result<Option<String>> {
    let mut wrong = Vec::new();
    for application in APPLICATIONS {
        for &(features, fits) in application.verdicts() {
            let package = Package::write(workspace, application, features)?;
            let output = package.generate_lockfile(steps)?;
            let said = String::from_utf8_lossy(&output.stderr);
            let clashes = said.contains("links to the native library");
            match output.status.success() {
                resolved if resolved == fits && (resolved || clashes) => {}
                // No verdict about versions: the registry gave no answer, or not its own.
                false if !said.contains("failed to select a version") => {
                    let line = said.lines().find(|line| line.starts_with("error")).unwrap_or("");
                    return Ok(Some(format!("cargo got no answer about versions: {line}")));
                }
                resolved => {
                    let verdict = if resolved { "resolves" } else { "does not resolve" };
                    let name = application.name;
                    wrong.push(format!(
                        "queuekit with [{features}] {verdict} beside {name}, \
                         other than docs/transactions.md says\n{said}"
                    ));
                }
            }
        }
    }
    if wrong.is_empty() { Ok(None) } else { Err(Error::failed(wrong.join("\n"))) }
}

/// Compiles each of them: what is resolved can still be of types that do not fit.
pub(crate) fn build(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let fitting = |application: &'static Beside| {
        let fits = application.verdicts().iter().filter(|(_, fits)| *fits);
        fits.map(move |&(features, _)| (application, features))
    };
    all(APPLICATIONS.iter().flat_map(fitting).map(|(application, features)| {
        let package = Package::write(workspace, application, features)?;
        let target = workspace.target_directory.join("beside");
        let check = CommandLine::new("cargo").args(["check", "--manifest-path"]);
        let check = check.arg(package.manifest.display().to_string());
        let check = check.arg("--target-dir").arg(target.display().to_string());
        steps.run(&format!("beside {}, built", application.name), &check)
    }))
}

/// A package of an application, outside of this workspace.
struct Package {
    manifest: PathBuf,
}

impl Package {
    fn write(workspace: &Workspace, application: &Beside, features: &str) -> Result<Self> {
        let name = format!("{} {features}", application.name);
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let root = workspace.target_directory.join("xtask").join("beside").join(name);
        let text = manifest(&workspace.root, application, features);
        let write = || {
            let source = root.join("src");
            fs::create_dir_all(&source)?;
            match application.driver {
                Some(driver) => {
                    fs::write(source.join("driver.rs"), driver)?;
                    fs::write(source.join("main.rs"), MAIN)?;
                }
                None => fs::write(source.join("lib.rs"), "")?,
            }
            fs::write(root.join("Cargo.toml"), text)
        };
        let failed = |error| Error::failed(format!("{}: {error}", root.display()));
        write().map_err(failed)?;
        Ok(Self { manifest: root.join("Cargo.toml") })
    }

    fn generate_lockfile(&self, steps: &Steps) -> Result<Output> {
        let line = CommandLine::new("cargo").args(["generate-lockfile", "--manifest-path"]);
        let line = line.arg(self.manifest.display().to_string());
        let output = steps.command(&line).output();
        output.map_err(|error| Error::failed(format!("{line} could not be run: {error}")))
    }
}

fn manifest(workspace: &Path, application: &Beside, features: &str) -> String {
    let dependency = application.dependency.replace("EACH", r#""postgres", "sqlite""#);
    let dependency = dependency.replace("SQLX", r#""sqlx-postgres", "sqlx-sqlite""#);
    let path = workspace.join("queuekit").display().to_string();
    format!(
        "[package]\nname = \"application\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         queuekit = {{ path = {path:?}, features = [\"transactions\", {features}] }}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\
         {dependency}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_has_queuekit_as_documented_and_its_own_crate() {
        let text = manifest(Path::new("/w"), &APPLICATIONS[0], "\"sqlite\"");
        let table: toml::Table = toml::from_str(&text).unwrap();
        let queuekit = &table["dependencies"]["queuekit"];
        assert_eq!(queuekit["path"].as_str(), Some("/w/queuekit"));
        assert_eq!(queuekit["features"][1].as_str(), Some("sqlite"));
        assert!(queuekit.get("default-features").is_none(), "as `cargo add` writes it");
        let sqlx = &table["dependencies"]["sqlx"]["features"];
        assert_eq!(sqlx.as_array().unwrap().len(), 4);
    }

    #[test]
    fn every_application_is_a_row_of_the_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let page = fs::read_to_string(root.join("docs/transactions.md")).unwrap();
        for Beside { name, with_sqlite, .. } in APPLICATIONS {
            let verdict = if *with_sqlite { "works" } else { "cargo fails" };
            let row = format!("| {name} | works | {verdict} |");
            assert!(page.contains(&row), "docs/transactions.md lacks {row}");
        }
    }
}
