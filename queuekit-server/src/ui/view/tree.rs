//! JSON as a tree that can be folded. Numbers stay as they are written, however long.

use std::fmt;

use askama::Template;
use serde::Deserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::parts;

/// A value with those in it.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/tree.html")]
pub(crate) struct Tree {
    /// The name or number in the parent; none for the root.
    pub(crate) name: Option<String>,
    /// The text of a plain value, or of one that is too deep or too much to unfold.
    pub(crate) text: String,
    /// `string`, `number`, `word`, `raw`, `object` or `list`
    pub(crate) class: &'static str,
    pub(crate) children: Vec<Self>,
    /// How many children are not shown.
    pub(crate) more: usize,
    pub(crate) depth: usize,
}

parts!(Tree);

const DEEPEST: usize = 24;
const MOST_NODES: usize = 200;

impl Tree {
    /// The tree of a JSON text, at most 200 values; none if it is no JSON.
    pub(crate) fn of(json: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        Some(Self::node(None, raw.get(), 0, &mut MOST_NODES.clone()))
    }

    fn node(name: Option<String>, text: &str, depth: usize, left: &mut usize) -> Self {
        let text = text.trim();
        *left = left.saturating_sub(1);
        let class = match text.as_bytes().first() {
            Some(b'{' | b'[') if depth >= DEEPEST => "raw",
            Some(b'{') => "object",
            Some(b'[') => "list",
            Some(b'"') => "string",
            Some(b'-' | b'0'..=b'9') => "number",
            _ => "word",
        };
        let mut node = Self { name, text: String::new(), class, children: vec![], more: 0, depth };
        match class {
            "object" | "list" => node.unfold(text, left),
            _ => text.clone_into(&mut node.text),
        }
        node
    }

    fn unfold(&mut self, text: &str, left: &mut usize) {
        let mut json = serde_json::Deserializer::from_str(text);
        let Ok(items) = json.deserialize_any(Items) else { return };
        for (name, raw) in items {
            if *left == 0 {
                self.more += 1;
                continue;
            }
            self.children.push(Self::node(Some(name), raw.get(), self.depth + 1, left));
        }
    }

    pub(crate) fn is_branch(&self) -> bool {
        !self.children.is_empty() || self.more > 0
    }

    /// `3 fields`, `12 items`
    pub(crate) fn size(&self) -> String {
        let count = self.children.len() + self.more;
        let noun = if self.class == "list" { "item" } else { "field" };
        format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
    }

    /// What stands for a branch without children.
    pub(crate) fn empty(&self) -> &'static str {
        if self.class == "list" { "[]" } else { "{}" }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.depth < 2
    }
}

/// Reads the values of an object or list in their order, without looking into them.
struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = map.next_entry()? {
            items.push(item);
        }
        Ok(items)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push((items.len().to_string(), item));
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are_written() {
        let tree = Tree::of(r#"{"id": 90071992547409931234, "sum": 1284.50}"#).unwrap();
        let texts: Vec<&str> = tree.children.iter().map(|node| node.text.as_str()).collect();
        assert_eq!(texts, ["90071992547409931234", "1284.50"]);
    }

    #[test]
    fn two_hundred_values_are_shown_and_the_rest_counted() {
        let json = format!("[{}0]", "0,".repeat(999));
        let tree = Tree::of(&json).unwrap();
        assert_eq!((tree.children.len(), tree.more), (MOST_NODES - 1, 1000 - MOST_NODES + 1));
        assert_eq!(tree.size(), "1000 items");
    }

    #[test]
    fn deep_values_are_shown_as_text() {
        let json = "[".repeat(100) + &"]".repeat(100);
        let html = Tree::of(&json).unwrap().to_string();
        assert_eq!(html.matches("<details").count(), DEEPEST);
        assert!(Tree::of("{").is_none());
    }

    #[test]
    fn names_and_texts_are_escaped() {
        let html = Tree::of(r#"{"<b>": "<script>alert(1)</script>"}"#).unwrap().to_string();
        assert!(!html.contains("<b>") && !html.contains("<script>"), "{html}");
    }
}
