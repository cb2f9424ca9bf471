use crate::tidy::lexer::{self, Literal, Parts};

/// A Rust file, split into what runs and what is only text.
#[derive(Debug)]
pub(crate) struct Source {
    /// Below the root, with `/`.
    pub path: String,
    pub text: String,
    /// The text with comments and the inside of literals blanked out; line by line the same.
    pub code: String,
    pub strings: Vec<Literal>,
    pub comments: Vec<Literal>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let Parts { code, strings, comments } = lexer::split(text);
        Self { path: path.to_owned(), text: text.to_owned(), code, strings, comments }
    }

    /// Numbered from 1.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }

    /// The code up to the unit tests, which are last in a file.
    pub(crate) fn product_code(&self) -> &str {
        self.code.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&self.code)
    }

    /// Whether it is part of what users get: the `src` of a crate called `queuekit` or
    /// `queuekit-...`, but for the conformance suite.
    pub(crate) fn is_product(&self) -> bool {
        let mut parts = self.path.split('/');
        let is_product = |name: &str| name.starts_with("queuekit") && name != SUITE;
        parts.next().is_some_and(is_product) && parts.next() == Some("src")
    }
}

/// Made of tests alone, though others depend on it.
const SUITE: &str = "queuekit-conformance";

/// Whether `text` names `word` as a whole identifier, not as a part of one.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_identifier) && !after.is_some_and(is_identifier)
    })
}

/// The identifiers, keywords and numbers of `text`, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_identifier(c)).filter(|word| !word.is_empty())
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_src_of_the_crates_users_get_is_product() {
        let is_product = |path| Source::new(path, "").is_product();
        assert!(is_product("queuekit/src/lib.rs"));
        assert!(is_product("queuekit-core/src/memory/store.rs"));
        assert!(!is_product("queuekit/examples/hello.rs"));
        assert!(!is_product("integration-tests/src/lib.rs"));
        assert!(!is_product("queuekit-conformance/src/lib.rs"));
    }

    #[test]
    fn product_code_ends_where_the_unit_tests_begin() {
        let source = Source::new("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\n");
        assert_eq!(source.product_code(), "fn a() {}\n");
        let source = Source::new("a.rs", "#[cfg(test)]\nmod tests;\nfn a() {}\n");
        assert!(source.product_code().contains("fn a"));
    }

    #[test]
    fn a_word_is_a_whole_identifier() {
        assert!(has_word("let delay = 1;", "delay"));
        assert!(!has_word("let delays = my_delay;", "delay"));
        assert!(has_word("delays + delay", "delay"));
    }
}
