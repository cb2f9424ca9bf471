use std::cell::Cell;
use std::io::BufReader;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Instant;

use cargo_metadata::diagnostic::DiagnosticLevel;
use cargo_metadata::{Artifact, Message};

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::{Spent, Steps, failure, wait_or_kill};
use crate::tools;

/// Builds with cargo, and counts the warnings.
#[derive(Debug)]
pub(crate) struct Build<'s> {
    steps: &'s Steps,
    /// Clippy's compiler, if what is built is linted too.
    driver: Option<String>,
    /// The warnings of all builds so far.
    warnings: Cell<usize>,
}

impl<'s> Build<'s> {
    pub(crate) fn new(steps: &'s Steps) -> Self {
        Self { steps, driver: None, warnings: Cell::new(0) }
    }

    /// Compiles with clippy's compiler, so that the same code need not be checked a second time. A
    /// lint never ends the build: [`lints`](Self::lints) reports it after the tests, so that it
    /// hides no failed test.
    pub(crate) fn linting(steps: &'s Steps) -> Result<Self> {
        let remedy = "there is no clippy; `rustup component add clippy` installs it";
        let driver = tools::clippy_driver().ok_or_else(|| Error::failed(remedy))?;
        Ok(Self { driver: Some(driver), ..Self::new(steps) })
    }

    /// Runs a build command of cargo, without `--message-format`, and returns what it has built.
    pub(crate) fn run(&self, name: &str, command: CommandLine) -> Result<Vec<Artifact>> {
        println!("\n==> {command}");
        let messages = self.by_driver(command.clone().arg("--message-format=json"));
        let started = Instant::now();
        let (built, spent) = match self.steps.command(&messages).stdout(Stdio::piped()).spawn() {
            Ok(child) => self.finish(child, started),
            Err(error) => (Err(error.to_string()), Spent::since(started)),
        };
        self.steps.note(name, spent, built.is_ok());
        built.map_err(|what| failure(name, &what, &command))
    }

    /// Fails if a build had a warning.
    pub(crate) fn lints(&self) -> Result<()> {
        let what = match self.warnings.get() {
            0 => return Ok(()),
            warnings => format!("{warnings} warnings"),
        };
        let repeat = CommandLine::cargo("clippy --workspace --all-targets --all-features");
        Err(failure("clippy", &what, &repeat.args(["--", "-D", "warnings"])))
    }

    /// Sets the variables that `cargo clippy` sets. Without them, cargo builds all libraries again.
    pub(crate) fn by_driver(&self, command: CommandLine) -> CommandLine {
        let warn = "--cap-lints__CLIPPY_HACKERY__warn__CLIPPY_HACKERY__";
        match &self.driver {
            Some(driver) => command.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", warn),
            None => command,
        }
    }

    /// Reads what cargo tells until it ends.
    fn finish(&self, mut child: Child, started: Instant) -> (Told<Vec<Artifact>>, Spent) {
        let artifacts = self.artifacts(child.stdout.take());
        let (ended, spent) = wait_or_kill(child, started, None);
        let built = artifacts.and_then(|artifacts| match ended {
            Ok(Some(status)) if !status.success() => Err(status.to_string()),
            Ok(_) => Ok(artifacts),
            Err(error) => Err(error.to_string()),
        });
        (built, spent)
    }

    fn artifacts(&self, output: Option<ChildStdout>) -> Told<Vec<Artifact>> {
        let messages = output.map(BufReader::new).into_iter();
        let mut artifacts = Vec::new();
        for message in messages.flat_map(Message::parse_stream) {
            match message.map_err(|error| error.to_string())? {
                Message::CompilerArtifact(artifact) => artifacts.push(artifact),
                Message::CompilerMessage(compiler) => {
                    eprint!("{}", compiler.message.rendered.unwrap_or_default());
                    let warned = compiler.message.level == DiagnosticLevel::Warning;
                    self.warnings.update(|warnings| warnings + usize::from(warned));
                }
                _ => {}
            }
        }
        Ok(artifacts)
    }
}

/// A result whose error is a text.
type Told<T> = std::result::Result<T, String>;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_lint_fails_and_does_not_end_the_build() {
        let package = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"linted\"\nedition = \"2024\"\n\n[workspace]\n";
        fs::write(package.path().join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(package.path().join("src")).unwrap();
        let steps = Steps::new(package.path());
        let lints_of = |main: &str| {
            fs::write(package.path().join("src/main.rs"), main).unwrap();
            let command = CommandLine::cargo("build --target-dir").arg(main.len().to_string());
            let build = Build::linting(&steps).unwrap();
            assert_eq!(build.run("build", command).unwrap().len(), 1);
            build.lints()
        };
        assert_eq!(lints_of("fn main() {}\n"), Ok(()));
        // One of the compiler's lints, and one of clippy's, which would be an error.
        let failed = lints_of("fn main() {\n    let unused = 0;\n}\n").unwrap_err();
        assert!(failed.to_string().starts_with("clippy: "), "{failed}");
        let failed = lints_of("fn main() {\n    assert!(0.0 != f64::NAN);\n}\n").unwrap_err();
        assert!(failed.to_string().starts_with("clippy: "), "{failed}");
    }
}
