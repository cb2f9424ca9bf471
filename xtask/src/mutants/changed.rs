use std::collections::BTreeSet;
use std::path::Path;

use super::scratch::git;
use crate::error::Result;

/// The files that differ from where this branch left `origin/main`, or without one from the last
/// commit but one; what is not committed included.
pub(super) fn files(root: &Path) -> Result<BTreeSet<String>> {
    let base = git(root, &["merge-base", "HEAD", "origin/main"])
        .or_else(|_| git(root, &["rev-parse", "HEAD~1"]))?;
    let differing = git(root, &["diff", "--name-only", base.trim()])?;
    let new = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    Ok(differing.lines().chain(new.lines()).map(str::to_owned).collect())
}
