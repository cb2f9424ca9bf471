use std::io::{self, Read};

use serde_json::Value;

use crate::error::{Error, Result};

/// What links out of docs/ begin with.
const OUTSIDE: &str = "](../";

/// A preprocessor of mdBook, which `book.toml` names. The book has the pages of docs/ only, so a
/// link to another file of the repository works on GitHub and would lead nowhere in the book. This
/// replaces such a link by its text and the path of the file.
pub(crate) fn run() -> Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input).map_err(|error| unreadable(&error))?;
    let (_context, mut book): (Value, Value) =
        serde_json::from_str(&input).map_err(|error| unreadable(&error))?;
    rewrite(&mut book);
    println!("{book}");
    Ok(())
}

fn unreadable(error: &dyn std::error::Error) -> Error {
    Error::failed(format!("book: stdin is not what mdBook sends: {error}; run `mdbook build`"))
}

/// Rewrites the `content` of each chapter, however deep it is.
fn rewrite(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "content" => *text = without_links(text),
                    other => rewrite(other),
                }
            }
        }
        _ => {}
    }
}

fn without_links(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(at) = rest.find(OUTSIDE) {
        let (before, link) = rest.split_at(at);
        let target = &link[OUTSIDE.len()..];
        let (Some(begin), Some(end)) = (before.rfind('['), target.find(')')) else { break };
        out.push_str(&before[..begin]);
        out.push_str(&in_words(&before[begin + 1..], &target[..end]));
        rest = &target[end + 1..];
    }
    out + rest
}

/// The path alone, if the text says no more than the path does.
fn in_words(text: &str, target: &str) -> String {
    let path = target.split('#').next().unwrap_or(target);
    let shown = text.trim_matches('`').trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let is_file = name.contains('.') && !path.contains("/examples/");
    if shown == path || (is_file && (shown == name || shown == stem)) {
        return format!("`{path}`");
    }
    format!("{text} in `{path}`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_link_out_of_the_book_becomes_its_text_and_the_path() {
        for (page, expected) in [
            ("see [http.md](http.md#keys)", "see [http.md](http.md#keys)"),
            ("the [README](../README.md), then", "the `README.md`, then"),
            ("([install](../README.md#install)):", "(install in `README.md`):"),
            ("as [deploy/](../deploy) does", "as `deploy` does"),
            ("run [`roles.sql`](../deploy/roles.sql)", "run `deploy/roles.sql`"),
            ("[`redis`](../queuekit/examples/redis.rs)", "`redis` in `queuekit/examples/redis.rs`"),
            ("[a](b.md) [C](../c) [D](../d)", "[a](b.md) C in `c` D in `d`"),
        ] {
            assert_eq!(without_links(page), expected);
        }
    }

    #[test]
    fn chapters_within_chapters_are_rewritten() {
        let chapter = |link: &str| {
            json!({"Chapter": {"name": "A", "content": link, "sub_items": [
                {"Chapter": {"content": link}}, "Separator",
            ]}})
        };
        let mut book = json!({"sections": [chapter("[A](../a)")]});
        rewrite(&mut book);
        assert_eq!(book, json!({"sections": [chapter("A in `a`")]}));
    }
}
