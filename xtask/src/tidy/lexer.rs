/// What is between quotes, or a comment with its slashes, and the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub line: usize,
    pub text: String,
}

/// A Rust file, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub code: String,
    pub strings: Vec<Literal>,
    /// The comments that begin with two slashes, doc comments among them.
    pub comments: Vec<Literal>,
}

/// Splits a Rust file into code, string literals and comments.
///
/// In the code every character of a comment and of the inside of a literal becomes a space, and
/// line breaks stay: lines and columns are those of the file. Escapes inside strings are left as
/// they are written.
pub(crate) fn split(text: &str) -> Parts {
    let mut lexer = Lexer { chars: text.chars().collect(), line: 1, ..Lexer::default() };
    while lexer.at < lexer.chars.len() {
        lexer.next();
    }
    lexer.parts
}

#[derive(Default)]
struct Lexer {
    chars: Vec<char>,
    at: usize,
    /// That of `at`.
    line: usize,
    parts: Parts,
}

impl Lexer {
    fn next(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', _) => self.char_or_lifetime(),
            (c, _) if c.is_alphabetic() || c == '_' => self.identifier(),
            _ => self.keep(1),
        }
    }

    fn line_comment(&mut self) {
        let (line, start) = (self.line, self.at);
        self.blank_while(|lexer| lexer.peek(0) != '\n');
        let comment = self.literal(line, start);
        self.parts.comments.push(comment);
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        self.blank_while(|lexer| {
            match (lexer.peek(0), lexer.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => return true,
            }
            lexer.blank(1);
            depth > 0
        });
        self.blank(1);
    }

    fn string(&mut self) {
        self.keep(1);
        let (line, start) = (self.line, self.at);
        self.blank_while(|lexer| {
            if lexer.peek(0) == '\\' {
                lexer.blank(1);
                return true;
            }
            lexer.peek(0) != '"'
        });
        let string = self.literal(line, start);
        self.parts.strings.push(string);
        self.keep(1);
    }

    /// At the first `#` or the quote after `r`, `br` or `cr`.
    fn raw_string(&mut self, hashes: usize) {
        self.keep(hashes + 1);
        let (line, start) = (self.line, self.at);
        self.blank_while(|lexer| {
            let closes = (1..=hashes).all(|ahead| lexer.peek(ahead) == '#');
            !(lexer.peek(0) == '"' && closes)
        });
        let string = self.literal(line, start);
        self.parts.strings.push(string);
        self.keep(hashes + 1);
    }

    fn char_or_lifetime(&mut self) {
        self.keep(1);
        if self.peek(0) == '\\' {
            self.blank(2);
            self.blank_while(|lexer| lexer.peek(0) != '\'');
            self.keep(1);
        } else if self.peek(1) == '\'' {
            self.blank(1);
            self.keep(1);
        }
    }

    /// Taken whole, so that the `r` at the end of a name is no raw string's. A raw identifier
    /// (`r#type`) has no quote after its `#`.
    fn identifier(&mut self) {
        let start = self.at;
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            self.keep(1);
        }
        let name: String = self.chars[start..self.at].iter().collect();
        if matches!(name.as_str(), "r" | "br" | "cr") {
            let hashes = (0..).take_while(|&ahead| self.peek(ahead) == '#').count();
            if self.peek(hashes) == '"' {
                self.raw_string(hashes);
            }
        }
    }

    /// What was read since `start`, which is on `line`.
    fn literal(&self, line: usize, start: usize) -> Literal {
        Literal { line, text: self.chars[start..self.at].iter().collect() }
    }

    /// A NUL after the end, which no comparison here takes for anything.
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn keep(&mut self, count: usize) {
        let end = (self.at + count).min(self.chars.len());
        self.parts.code.extend(&self.chars[self.at..end]);
        self.pass(end);
    }

    fn blank(&mut self, count: usize) {
        let end = (self.at + count).min(self.chars.len());
        let blanks = self.chars[self.at..end].iter().map(|&c| if c == '\n' { c } else { ' ' });
        self.parts.code.extend(blanks);
        self.pass(end);
    }

    fn pass(&mut self, end: usize) {
        self.line += self.chars[self.at..end].iter().filter(|&&c| c == '\n').count();
        self.at = end;
    }

    fn blank_while(&mut self, mut goes_on: impl FnMut(&mut Self) -> bool) {
        while self.at < self.chars.len() && goes_on(self) {
            self.blank(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        split(text).code
    }

    fn strings(text: &str) -> Vec<String> {
        split(text).strings.into_iter().map(|literal| literal.text).collect()
    }

    #[test]
    fn comments_are_blanked_and_lines_stay() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b\n/* c */ d */ e"), "a     \n             e");
        assert_eq!(code("/* never closed"), " ".repeat(15));
    }

    #[test]
    fn strings_are_blanked_and_collected() {
        assert_eq!(code(r#"f("a // b", x)"#), r#"f("      ", x)"#);
        assert_eq!(strings(r#"f("a\"b", b"c")"#), [r#"a\"b"#, "c"]);
        assert_eq!(strings("let s = r##\"a\"# b\"##; r#type(\"c\")"), ["a\"# b", "c"]);
        assert_eq!(strings("// \"no\"\n\"yes\""), ["yes"]);
        assert_eq!(strings("var\"x\""), ["x"]);
    }

    #[test]
    fn a_string_knows_the_line_it_begins_on() {
        let strings = split("a\n\"b\nc\"\n\"d\"").strings;
        assert_eq!(strings.iter().map(|literal| literal.line).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn comments_are_collected_and_not_out_of_strings() {
        let comments = split("/// a\nb // \"c\"\n\"// d\" /* e */ //! f").comments;
        let comment = |line, text: &str| Literal { line, text: text.to_owned() };
        assert_eq!(comments, [comment(1, "/// a"), comment(2, "// \"c\""), comment(3, "//! f")]);
    }

    #[test]
    fn chars_and_lifetimes_open_no_string() {
        assert_eq!(code(r#"if c == '"' { x }"#), r#"if c == ' ' { x }"#);
        assert_eq!(code(r"'\'' // b"), r"'  '     ");
        assert_eq!(code("fn f<'a>(x: &'a str)"), "fn f<'a>(x: &'a str)");
        assert_eq!(strings("f('a', \"b\")"), ["b"]);
    }
}
