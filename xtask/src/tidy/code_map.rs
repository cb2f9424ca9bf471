use std::path::Path;

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

/// The page with the map of the code.
const PAGE: &str = "ARCHITECTURE.md";
/// Endings of the names of files that it names.
const ENDINGS: [&str; 6] = [".rs", ".sql", ".lua", ".md", ".toml", "/"];

/// Files and folders that the map names exist: below the root, or somewhere in the crate of its
/// section. In sections of no crate, somewhere in any.
pub(crate) fn check(root: &Path, tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.page(PAGE) else {
        return vec![Finding::file(PAGE, "the map of the code is missing")];
    };
    let scripts = tree.scripts.iter().map(|script| &script.path);
    let files: Vec<String> = tree
        .rust
        .iter()
        .map(|source| &source.path)
        .chain(scripts)
        .map(|it| format!("/{it}"))
        .collect();
    let mut findings = Vec::new();
    let mut section = "";
    for (number, line) in (1..).zip(page.lines()) {
        if let Some(title) = line.strip_prefix("##") {
            section = title.trim_matches(['#', ' ', '`']);
        }
        let krate = Some(section).filter(|section| root.join(section).is_dir());
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_file(name)) {
            let is_it = |file: &&String| match name.ends_with('/') {
                true => file.contains(&format!("/{name}")),
                false => file.ends_with(&format!("/{name}")),
            };
            let prefix = krate.map_or_else(String::new, |krate| format!("/{krate}/"));
            let in_crate = |file: &&String| file.starts_with(&prefix);
            let is_there = root.join(name).exists()
                || root.join(section).join(name).exists()
                || files.iter().filter(in_crate).any(|file| is_it(&file));
            if !is_there {
                let message = format!("there is no `{name}` in {section}; name the file as it is");
                findings.push(Finding::at(PAGE, number, message));
            }
        }
    }
    findings
}

fn is_file(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    name.chars().all(plain) && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::Source;
    use crate::tidy::tree::Page;

    fn found(text: &str) -> Vec<String> {
        let page = Page { path: PAGE.to_owned(), text: text.to_owned() };
        let rust = vec![Source::new("xtask/src/tidy/tree.rs", "")];
        let tree = Tree { pages: vec![page], rust, ..Tree::default() };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        check(&root, &tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn files_below_the_root_or_in_the_crate_of_the_section_are_found() {
        let text = "### `xtask`\n| `src/main.rs`, `tree.rs`, `tidy/` | `xtask/src/ci.rs` |\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_was_renamed_is_named() {
        let found = found("### `xtask`\n| `src/tidy/tree.rs`, `bush.rs` | |\n");
        assert_eq!(found, ["there is no `bush.rs` in xtask; name the file as it is"]);
    }
}
