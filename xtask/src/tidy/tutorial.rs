use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::Page;

/// Pages that show a program, and how the paths of the program begin, which the compiler checks and
/// tests.
const TUTORIALS: [(&str, &str); 3] = [
    ("docs/testing.md", "queuekit/examples/testing"),
    ("docs/tutorial.md", "examples/shop/src/"),
    ("examples/webshop/README.md", "examples/webshop/src/"),
];

/// Every Rust block of a tutorial is in its program, word for word but for the indentation of the
/// whole block: otherwise readers would copy code that was never compiled.
pub(crate) fn check(pages: &[Page], sources: &[Source]) -> Vec<Finding> {
    let text = |path| pages.iter().find(|page| page.path == path).map(|page| page.text.as_str());
    let mut findings = Vec::new();
    for (page, program) in TUTORIALS {
        let is_compiled = |block: &Block| {
            let mut files = sources.iter().filter(|source| source.path.starts_with(program));
            files.any(|file| block.is_in(&file.text))
        };
        let blocks = text(page).map(rust_blocks).unwrap_or_default();
        let strays = blocks.iter().filter(|block| !is_compiled(block));
        findings.extend(strays.map(|block| {
            let message = format!("this code is not in {program}; make the two the same");
            Finding::at(page, block.line, message)
        }));
    }
    findings
}

struct Block {
    line: usize,
    code: String,
}

/// The most that a block of a function is indented.
const INDENTS: usize = 3;

impl Block {
    fn is_in(&self, text: &str) -> bool {
        (0..=INDENTS).any(|indents| {
            let indented = |line: &str| match line {
                "" => "\n".to_owned(),
                line => format!("{:width$}{line}\n", "", width = 4 * indents),
            };
            text.contains(&self.code.lines().map(indented).collect::<String>())
        })
    }
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

    /// Of each tutorial, with one block, beside a program of this code.
    fn findings(code: &str) -> Vec<Finding> {
        let text = "# T\n\n```rust\n// src/main.rs\nfn main() {\n    go();\n}\n```\n";
        let page = |(path, _): (&str, &str)| Page { path: path.to_owned(), text: text.to_owned() };
        let source = |(_, program)| Source::new(&format!("{program}main.rs"), code);
        check(&TUTORIALS.map(page), &TUTORIALS.map(source))
    }

    #[test]
    fn code_that_the_program_has_passes() {
        assert_eq!(findings("fn main() {\n    go();\n}\n\nfn go() {}\n"), []);
    }

    #[test]
    fn code_that_the_program_has_within_a_function_passes() {
        assert_eq!(findings("mod a {\n    fn main() {\n        go();\n    }\n}\n"), []);
        assert_ne!(findings("mod a {\n    fn main() {\n    go();\n    }\n}\n"), []);
    }

    #[test]
    fn code_that_the_program_has_otherwise_fails_at_its_block() {
        let found = findings("fn main() {\n    run();\n}\n");
        let places: Vec<_> = found.iter().map(|finding| (&*finding.path, finding.line)).collect();
        assert_eq!(places, TUTORIALS.map(|(page, _)| (page, Some(3))));
    }
}
