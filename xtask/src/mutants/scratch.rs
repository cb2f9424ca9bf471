use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::embedded::{is_embedded, with_room};
use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::workspace::Workspace;

/// A copy of the workspace, in which guards can be removed while people work on the tree.
///
/// It stays from run to run, and a file is written only where it differs: so that a mutant costs
/// the build of what it touches. What programs embed has room at its end, so that mutants of it
/// need no build. The target directory is that of the workspace, and so are the
/// features: what others depend on was built for the tests.
#[derive(Debug)]
pub(super) struct Scratch {
    pub tree: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// The copy, made equal to the tree: what is not committed is copied, too.
    pub(super) fn of(workspace: &Workspace) -> Result<Self> {
        let directory = workspace.target_directory.join("xtask/mutants");
        let target = workspace.target_directory.clone();
        let scratch = Self { tree: directory.join("tree"), target };
        let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = git(&workspace.root, &args)?;
        let listed = listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // What was deleted is still listed until that is committed.
        let files: BTreeSet<_> =
            listed.filter(|name| workspace.root.join(name).is_file()).collect();
        let synced = scratch.sync(&workspace.root, &files);
        synced.map_err(|error| Error::failed(format!("{}: {error}", scratch.tree.display())))?;
        Ok(scratch)
    }

    fn sync(&self, root: &Path, files: &BTreeSet<PathBuf>) -> std::io::Result<()> {
        fs::create_dir_all(&self.tree)?;
        for file in below(&self.tree)? {
            if !file.strip_prefix(&self.tree).is_ok_and(|name| files.contains(name)) {
                fs::remove_file(&file)?;
            }
        }
        for name in files {
            let (from, to) = (fs::read(root.join(name))?, self.tree.join(name));
            let wanted = match name {
                name if is_embedded(name) => with_room(from),
                name if name == Path::new("Cargo.toml") => {
                    of_another_version(&String::from_utf8_lossy(&from))
                }
                name if is_program(name) => conformance_alone(&String::from_utf8_lossy(&from)),
                _ => from,
            };
            if fs::read(&to).ok().as_ref() != Some(&wanted) {
                fs::create_dir_all(to.parent().unwrap_or(&self.tree))?;
                fs::write(&to, wanted)?;
            }
        }
        Ok(())
    }

    /// Writes a file of the copy.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        let written = fs::write(self.tree.join(file), text);
        written.map_err(|error| Error::failed(format!("{file} of the copy: {error}")))
    }

    /// Builds a test program of integration-tests as the copy is now; where it is.
    pub(super) fn build(&self, program: &str) -> Result<PathBuf> {
        let line = "test --workspace --all-features --no-run --message-format json";
        let build = CommandLine::cargo(line)
            .args(["--test", program])
            .env("CARGO_TARGET_DIR", &self.target.to_string_lossy())
            .env("CARGO_INCREMENTAL", "1");
        let failed = |what: String| Error::failed(format!("{build}: {what}"));
        let output = build.to_command(&self.tree).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let messages = cargo_metadata::Message::parse_stream(&output.stdout[..]);
        let built = messages.flatten().find_map(|message| match message {
            cargo_metadata::Message::CompilerArtifact(artifact) => artifact.executable,
            _ => None,
        });
        built.map(PathBuf::from).ok_or_else(|| failed("it tells of no program".to_owned()))
    }
}

/// The workspace's manifest with another version, which meets the same requirements. In one target
/// directory cargo identifies packages by name and version, not by where they are: without this it
/// takes a mutant's library for that of the tree.
fn of_another_version(manifest: &str) -> Vec<u8> {
    const VERSION: &str = "[workspace.package]\nversion = \"";
    let versioned = manifest.split_once(VERSION).and_then(|(before, rest)| {
        let (version, rest) = rest.split_once('"')?;
        Some(format!("{before}{VERSION}{version}+mutant\"{rest}"))
    });
    versioned.unwrap_or_else(|| manifest.to_owned()).into_bytes()
}

/// Whether it is the root of a store's test program.
fn is_program(file: &Path) -> bool {
    file.parent().and_then(Path::parent) == Some(Path::new("integration-tests/tests"))
        && file.file_name().is_some_and(|name| name == "main.rs")
}

/// A store's test program with nothing but what conformance needs: it is built for every mutant.
fn conformance_alone(program: &str) -> Vec<u8> {
    let is_needed = |line: &&str| {
        let is_module = line.starts_with("mod ") && *line != "mod common;";
        !is_module && !line.starts_with("worker_suite!")
    };
    program.lines().filter(is_needed).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

/// What git prints in this directory.
pub(super) fn git(root: &Path, args: &[&str]) -> Result<String> {
    let command = CommandLine::new("git").args(args.iter().copied());
    let failed = |what: &str| Error::failed(format!("{command}: {what}"));
    let output = command.to_command(root).output();
    let output = output.map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files of a directory, and of those in it.
pub(super) fn below(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(below(&path)?) } else { files.push(path) }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_a_version_of_its_own() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let copy = String::from_utf8(of_another_version(&manifest)).unwrap();
        let version = format!("version = \"{}+mutant\"", env!("CARGO_PKG_VERSION"));
        assert_eq!(copy.matches(&version).count(), 1, "{version}");
        assert_eq!(copy.replace("+mutant", ""), manifest);
    }

    #[test]
    fn a_program_keeps_what_conformance_needs() {
        let program = "#[path = \"../common/mod.rs\"]\nmod common;\n\nmod kill;\n\n\
                       conformance!(a);\nworker_suite!(b);\n";
        let alone = "#[path = \"../common/mod.rs\"]\nmod common;\n\n\nconformance!(a);\n";
        assert_eq!(String::from_utf8_lossy(&conformance_alone(program)), alone);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for store in super::super::options::Store::ALL {
            let main = format!("integration-tests/tests/{}/main.rs", store.name());
            assert!(is_program(Path::new(&main)) && root.join(&main).is_file(), "{main}");
        }
        assert!(!is_program(Path::new("xtask/src/main.rs")));
    }

    #[test]
    fn the_copy_becomes_what_the_tree_is() {
        let directory = tempfile::tempdir().unwrap();
        let (root, tree) = (directory.path().join("root"), directory.path().join("tree"));
        fs::create_dir_all(root.join("sql")).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(root.join("sql/ack.sql"), "new").unwrap();
        fs::write(root.join("ack.rs"), "new").unwrap();
        fs::write(tree.join("gone.sql"), "old").unwrap();
        let scratch = Scratch { tree, target: directory.path().join("target") };
        let files = BTreeSet::from(["ack.rs", "sql/ack.sql"].map(PathBuf::from));
        scratch.sync(&root, &files).unwrap();
        let mut there = below(&scratch.tree).unwrap();
        there.sort();
        assert_eq!(there, files.iter().map(|file| scratch.tree.join(file)).collect::<Vec<_>>());
        for file in &files {
            scratch.write(&file.to_string_lossy(), "mutant").unwrap();
        }
        scratch.sync(&root, &files).unwrap();
        let text = |file| fs::read_to_string(scratch.tree.join(file)).unwrap();
        assert_eq!((text("ack.rs"), text("sql/ack.sql").trim_end()), ("new".to_owned(), "new"));
    }
}
