use std::fs;
use std::path::Path;

use crate::tidy::finding::Finding;
use crate::workspace::Crate;

/// What a build of the image gets to see.
const IGNORE: &str = "deploy/Dockerfile.dockerignore";

/// The image is built with every member of the workspace: cargo refuses to build one without the
/// others, and this would only be noticed where images are built.
pub(crate) fn check(root: &Path, crates: &[Crate]) -> Vec<Finding> {
    let Ok(ignore) = fs::read_to_string(root.join(IGNORE)) else {
        return vec![Finding::file(IGNORE, "cannot be read; the image needs it")];
    };
    missing(&ignore, crates.iter().map(|krate| krate.directory.as_str()))
}

fn missing<'a>(ignore: &str, members: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let hidden = members.filter(|member| !lets_through(ignore, member));
    let message = |member| format!("hides the member `{member}`; add a line `!{member}`");
    hidden.map(|member| Finding::file(IGNORE, message(member))).collect()
}

/// The last line that matches decides, as in Docker.
fn lets_through(ignore: &str, member: &str) -> bool {
    let lines = ignore.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut deciding = lines.filter(|line| matches(line.trim_start_matches('!'), member));
    let decides = deciding.next_back();
    decides.is_none_or(|line| line.starts_with('!'))
}

/// Whether a pattern matches the directory or one above it; a star stands for the end of a name.
fn matches(pattern: &str, directory: &str) -> bool {
    let above = directory.match_indices('/').map(|(end, _)| &directory[..end]);
    above.chain([directory]).any(|directory| match pattern.strip_suffix('*') {
        Some(start) => directory.strip_prefix(start).is_some_and(|rest| !rest.contains('/')),
        None => directory == pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_the_image_does_not_get_is_found() {
        let ignore = "# all\n*\n!store\n!store-*\n!examples/shop\n**/target\n!late\nlate\n";
        let members = ["store", "store-json", "examples/shop", "stores", "examples/mart", "late"];
        let found = missing(ignore, members.into_iter());
        let found: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        let is_hidden = |member| found.iter().any(|message| message.contains(member));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(["`stores`", "`examples/mart`", "`late`"].into_iter().all(is_hidden), "{found:?}");
    }
}
