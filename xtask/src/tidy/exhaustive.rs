use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// The crates whose types applications and authors of stores use.
const LIBRARIES: &[&str] = &[
    "queuekit/",
    "queuekit-core/",
    "queuekit-worker/",
    "queuekit-conformance/",
    "queuekit-sqlite/",
    "queuekit-postgres/",
    "queuekit-redis/",
];

/// A public enum, and a public struct that others can build field by field, is `#[non_exhaustive]`,
/// or a comment above it says why it is closed. Without the attribute, every variant and field that
/// is added later breaks those who match or build it.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let is_library = |path: &str| LIBRARIES.iter().any(|krate| path.starts_with(krate));
    let sources = sources.iter().filter(|source| source.is_product() && is_library(&source.path));
    sources.flat_map(of_file).collect()
}

fn of_file(source: &Source) -> Vec<Finding> {
    let (text, code): (Vec<&str>, Vec<&str>) =
        (source.text.lines().collect(), source.product_code().lines().collect());
    let undecided = (0..code.len()).filter(|at| is_open(&code, *at) && !is_decided(&text[..*at]));
    let message = "others can build or match this type field by field: make it \
                   `#[non_exhaustive]`, or say why it is closed in a comment `// Exhaustive: ..`";
    undecided.map(|at| Finding::at(&source.path, at + 1, message)).collect()
}

/// Whether a public type begins on this line that has no private part.
fn is_open(code: &[&str], at: usize) -> bool {
    if code[at].starts_with("pub enum ") {
        return !code[at].ends_with("{}");
    }
    if !code[at].starts_with("pub struct ") || code[at].ends_with("{}") {
        return false;
    }
    if code[at].ends_with(';') {
        return code[at].contains("(pub ");
    }
    let body = code[at + 1..].iter().take_while(|line| !line.starts_with('}'));
    let mut fields = body.filter(|line| is_field(line)).peekable();
    fields.peek().is_some() && fields.all(|line| line.trim_start().starts_with("pub "))
}

fn is_field(line: &str) -> bool {
    let Some(line) = line.strip_prefix("    ") else { return false };
    let name = line.split(": ").next().unwrap_or_default();
    let name = name.rsplit(' ').next().unwrap_or_default();
    line.contains(": ") && name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
}

/// Whether the attributes and comments that end these lines settle it.
fn is_decided(above: &[&str]) -> bool {
    let belongs =
        |line: &&&str| ["#[", "//", "    ", ")]"].iter().any(|start| line.starts_with(start));
    above
        .iter()
        .rev()
        .take_while(belongs)
        .any(|line| line.starts_with("#[non_exhaustive]") || line.starts_with("// Exhaustive: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&[Source::new("queuekit-core/src/a.rs", text)]).len()
    }

    #[test]
    fn a_type_that_nobody_has_decided_about_fails() {
        for text in [
            "pub enum A {\n    B,\n}\n",
            "#[derive(Debug)]\npub struct A {\n    /// B.\n    pub b: u8,\n}\n",
            "pub struct A(pub u8);\n",
        ] {
            assert_eq!(findings(text), 1, "{text}");
        }
    }

    #[test]
    fn a_type_that_is_decided_about_or_has_a_private_part_passes() {
        for text in [
            "#[non_exhaustive]\n#[derive(\n    Debug,\n)]\npub enum A {\n    B,\n}\n",
            "// Exhaustive: a store acts on each.\n#[derive(Debug)]\npub enum A {\n    B,\n}\n",
            "pub struct A {\n    pub b: u8,\n    c: u8,\n}\n",
            "pub struct A {\n    pub(crate) b: u8,\n}\n",
            "pub struct A(u8);\n",
            "pub enum Never {}\n",
            "enum A {\n    B,\n}\n",
        ] {
            assert_eq!(findings(text), 0, "{text}");
        }
    }

    #[test]
    fn programs_and_tests_are_not_held_to_it() {
        let text = "pub enum A {\n    B,\n}\n";
        assert_eq!(check(&[Source::new("queuekit-server/src/a.rs", text)]), []);
        assert_eq!(check(&[Source::new("queuekit-core/tests/a.rs", text)]), []);
    }
}
