use std::fs;
use std::path::{Path, PathBuf};

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::peers::output;
use crate::workspace::Workspace;

/// A program that an earlier version may not have.
const ADDED: &str = "benches/src/bin/memory_peer.rs";

/// Checks a revision out, in the target directory. It is built as this version is: with the
/// profiles of this one.
pub(super) fn check_out(workspace: &Workspace, revision: &str) -> Result<PathBuf> {
    let root = &workspace.root;
    let git = |args: &[&str]| output(root, &CommandLine::new("git").args(args.iter().copied()));
    let commit = git(&["rev-parse", "--verify", &format!("{revision}^{{commit}}")])?;
    let tree = workspace.target_directory.join("xtask/pairs");
    let path = tree.to_string_lossy();
    if tree.join(".git").exists() {
        let force = ["-C", &path, "checkout", "--quiet", "--force", "--detach", commit.trim()];
        git(&force)?;
    } else {
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--quiet", "--force", "--detach", &path, commit.trim()])?;
    }
    let read = |root: &Path, file: &str| {
        let text = fs::read_to_string(root.join(file));
        text.map_err(|error| Error::failed(format!("pairs: {file}: {error}")))
    };
    let write = |file: &str, text: String| {
        let written = fs::write(tree.join(file), text);
        written.map_err(|error| Error::failed(format!("pairs: {file}: {error}")))
    };
    let manifest = "Cargo.toml";
    write(manifest, with_profiles_of(&read(&tree, manifest)?, &read(root, manifest)?))?;
    if !tree.join(ADDED).exists() {
        write(ADDED, read(root, ADDED)?)?;
    }
    Ok(tree)
}

/// A manifest with the profiles of another, which are at the end of it.
fn with_profiles_of(manifest: &str, other: &str) -> String {
    let profiles = |text: &str| text.find("\n[profile.").unwrap_or(text.len());
    [&manifest[..profiles(manifest)], &other[profiles(other)..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_gets_the_profiles_of_another() {
        let mixed =
            with_profiles_of("[a]\nb = 1\n\n[profile.dev]\nc = 2\n", "[x]\n\n[profile.y]\n");
        assert_eq!(mixed, "[a]\nb = 1\n\n[profile.y]\n");
        assert_eq!(with_profiles_of("[a]\n", "[x]\n\n[profile.y]\n"), "[a]\n\n[profile.y]\n");
    }

    #[test]
    fn profiles_are_at_the_end_of_our_manifest() {
        let root = Workspace::load().unwrap().root;
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let profiles = &manifest[manifest.find("\n[profile.").unwrap()..];
        let tables = profiles.lines().filter(|line| line.starts_with('['));
        assert!(tables.clone().count() > 0 && { tables }.all(|it| it.starts_with("[profile.")));
    }
}
