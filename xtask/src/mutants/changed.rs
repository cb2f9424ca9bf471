use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use super::options::Since;
use super::scratch::git;
use crate::error::Result;

/// Names what a branch is to land on, or what landed last: in a fresh clone of what has landed,
/// git does not know.
const BASE: &str = "QUEUEKIT_CI_BASE";

/// The files that differ from the base. What is not committed is included.
pub(super) fn files(root: &Path, since: &Since) -> Result<BTreeSet<String>> {
    let base = match since {
        Since::Revision(revision) => revision.clone(),
        Since::Branch => base(root, env::var(BASE).ok().filter(|base| !base.is_empty()))?,
    };
    let differing = git(root, &["diff", "--name-only", base.trim()])?;
    let new = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    Ok(differing.lines().chain(new.lines()).map(str::to_owned).collect())
}

/// Where this branch left what is named, which must exist, else where it left `origin/main`. The
/// last commit but one, if there is no such branch or this one has not left it.
fn base(root: &Path, named: Option<String>) -> Result<String> {
    let left = |branch: &str| git(root, &["merge-base", "HEAD", branch]);
    if let Some(named) = named {
        return left(&named);
    }
    let head = git(root, &["rev-parse", "HEAD"])?;
    match left("origin/main").ok().filter(|left| *left != head) {
        Some(left) => Ok(left),
        None => git(root, &["rev-parse", "HEAD~1"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        git(directory.path(), &["init", "--quiet"]).unwrap();
        for n in 0..4 {
            std::fs::write(directory.path().join(format!("{n}.sql")), "").unwrap();
            git(directory.path(), &["add", "."]).unwrap();
            let commit = ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "c"];
            git(directory.path(), &commit).unwrap();
        }
        directory
    }

    fn base_of(root: &Path, named: Option<&str>) -> Result<String> {
        base(root, named.map(str::to_owned))
    }

    #[test]
    fn a_change_is_since_what_is_named_or_where_the_branch_left_main_or_the_last_commit() {
        let repository = repository();
        let root = repository.path();
        let commit = |name: &str| git(root, &["rev-parse", name]).unwrap();
        assert_eq!(base_of(root, None), Ok(commit("HEAD~1")));
        git(root, &["update-ref", "refs/remotes/origin/main", "HEAD"]).unwrap();
        assert_eq!(base_of(root, None), Ok(commit("HEAD~1")), "it has not left it");
        git(root, &["update-ref", "refs/remotes/origin/main", "HEAD~2"]).unwrap();
        assert_eq!(base_of(root, None), Ok(commit("HEAD~2")));
        assert_eq!(base_of(root, Some("HEAD~3")), Ok(commit("HEAD~3")));
        assert!(base_of(root, Some("gone")).is_err(), "what is named must exist");
    }

    #[test]
    fn every_file_since_a_revision_is_named_and_so_is_a_new_one() {
        let repository = repository();
        std::fs::write(repository.path().join("new.sql"), "").unwrap();
        let since = Since::Revision("HEAD~2".to_owned());
        let files = files(repository.path(), &since).unwrap();
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["2.sql", "3.sql", "new.sql"]);
    }
}
