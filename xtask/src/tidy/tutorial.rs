use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::Page;

const PAGE: &str = "docs/tutorial.md";
/// The program that the page builds, which the compiler checks and tests.
const PROGRAM: &str = "examples/shop/";

/// Every Rust block of the tutorial is in its program, word for word: otherwise readers would copy
/// code that was never compiled.
pub(crate) fn check(pages: &[Page], sources: &[Source]) -> Vec<Finding> {
    let page = pages.iter().find(|page| page.path == PAGE);
    let blocks = page.map(|page| rust_blocks(&page.text)).unwrap_or_default();
    let is_compiled = |block: &Block| {
        let mut files = sources.iter().filter(|source| source.path.starts_with(PROGRAM));
        files.any(|file| file.text.contains(&block.code))
    };
    let stray = blocks.iter().filter(|block| !is_compiled(block));
    stray
        .map(|block| {
            let message = format!("this code is not in {PROGRAM}src; make the two the same");
            Finding::at(PAGE, block.line, message)
        })
        .collect()
}

struct Block {
    line: usize,
    code: String,
}

/// The blocks without the comment in their first line that names their file.
fn rust_blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((line, fence)) = lines.next() {
        if fence == "```rust" {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let code = inside.filter(|line| !line.starts_with("// src/"));
            blocks.push(Block { line, code: code.map(|line| format!("{line}\n")).collect() });
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(code: &str) -> Vec<Finding> {
        let text = "# T\n\n```rust\n// src/main.rs\nfn main() {\n    go();\n}\n```\n".to_owned();
        let page = Page { path: PAGE.to_owned(), text };
        check(&[page], &[Source::new("examples/shop/src/main.rs", code)])
    }

    #[test]
    fn code_that_the_program_has_passes() {
        assert_eq!(findings("fn main() {\n    go();\n}\n\nfn go() {}\n"), []);
    }

    #[test]
    fn code_that_the_program_has_otherwise_fails_at_its_block() {
        let found = findings("fn main() {\n    run();\n}\n");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), (PAGE, Some(3)));
    }
}
