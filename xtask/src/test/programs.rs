use std::path::PathBuf;

use cargo_metadata::{Artifact, TargetKind};

use super::Build;

use crate::command_line::CommandLine;
use crate::error::Result;

/// A program with tests in it, as cargo has built it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The crate it tests, for example `queuekit-core`.
    pub package: String,
    /// As cargo's options call it: `--lib`, `--test postgres`.
    pub target: String,
    pub executable: PathBuf,
    /// Where cargo would start it.
    pub directory: PathBuf,
}

impl Program {
    /// `queuekit-core` for the unit tests of a library, `postgres` for a test program, and
    /// `bin xtask` or `bench redis` for others.
    pub(crate) fn name(&self) -> &str {
        match self.target.strip_prefix("--test ") {
            Some(test) => test,
            None if self.target == "--lib" => &self.package,
            None => self.target.trim_start_matches('-'),
        }
    }
}

/// Builds what `targets` asks for, with every feature of the whole workspace: all commands of this
/// program ask for the same features, so that what one has built serves the next.
pub(crate) fn build<'t>(
    build: &Build<'_>,
    name: &str,
    targets: impl IntoIterator<Item = &'t str>,
) -> Result<Vec<Program>> {
    let command = CommandLine::cargo("test --workspace --all-features --no-run").args(targets);
    let artifacts = build.run(name, command)?;
    Ok(artifacts.into_iter().filter_map(program).collect())
}

/// None for what has no tests: libraries, build scripts, and the binaries that tests start.
fn program(artifact: Artifact) -> Option<Program> {
    let executable = artifact.executable.filter(|_| artifact.profile.test)?;
    let name = &artifact.target.name;
    let target = match artifact.target.kind.first()? {
        TargetKind::Test => format!("--test {name}"),
        TargetKind::Bin => format!("--bin {name}"),
        TargetKind::Bench => format!("--bench {name}"),
        TargetKind::Example => format!("--example {name}"),
        _ => "--lib".to_owned(),
    };
    let directory = artifact.manifest_path.parent()?;
    Some(Program {
        package: directory_name(artifact.package_id.repr.as_str())?,
        target,
        executable: executable.into(),
        directory: directory.into(),
    })
}

/// `queuekit-core` of `path+file:///somewhere/queuekit-core#0.1.0`, and
/// `queuekit-integration-tests` of `path+file:///somewhere/integration-tests#queuekit-integration-tests@0.1.0`.
fn directory_name(id: &str) -> Option<String> {
    let (path, rest) = id.rsplit_once('#')?;
    let name = match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next()?,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_known_by_its_id() {
        let named = directory_name("path+file:///a/integration-tests#queuekit-x@0.1.0");
        assert_eq!(named.as_deref(), Some("queuekit-x"));
        let as_its_folder = directory_name("path+file:///a/queuekit-core#0.1.0");
        assert_eq!(as_its_folder.as_deref(), Some("queuekit-core"));
    }

    #[test]
    fn a_program_is_called_by_what_it_tests() {
        let program = |target: &str| Program {
            package: "queuekit-core".to_owned(),
            target: target.to_owned(),
            executable: PathBuf::new(),
            directory: PathBuf::new(),
        };
        assert_eq!(program("--lib").name(), "queuekit-core");
        assert_eq!(program("--test schedules").name(), "schedules");
        assert_eq!(program("--bin queuekit").name(), "bin queuekit");
    }
}
