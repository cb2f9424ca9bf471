use std::collections::BTreeSet;
use std::path::Path;

use super::scratch::git;
use crate::error::Result;

/// The files that differ from where this branch left `origin/main`; where there is none, or the
/// branch has not left it, from the last commit but one. What is not committed is included.
pub(super) fn files(root: &Path) -> Result<BTreeSet<String>> {
    let head = git(root, &["rev-parse", "HEAD"])?;
    let left = git(root, &["merge-base", "HEAD", "origin/main"]).ok();
    let base = match left.filter(|left| *left != head) {
        Some(left) => left,
        None => git(root, &["rev-parse", "HEAD~1"])?,
    };
    let differing = git(root, &["diff", "--name-only", base.trim()])?;
    let new = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    Ok(differing.lines().chain(new.lines()).map(str::to_owned).collect())
}
