//! The names of the layout in scripts. `inline` replaces them by numbers, so that they cost nothing
//! when a script runs.
//!
//! | in a script | becomes |
//! |---|---|
//! | `sub(state, STATE.token)` | `sub(state, 15, 42)`: a field or span, from and to |
//! | `STATE.seq.from`, `.to`, `.width` | `43`, `54`, `12` |
//! | `STATE.seq.zero`, `.one` | `'000000000000'`, `'000000000001'` |
//! | `STATE.seq.hex`, `BEAT.at.decimal` | `'%012x'`, `'%013.0f'`: for `format` |
//! | `STATE.head.to`, `STATE.rest` | `122`, `123`: where the head ends, and the rest begins |
//! | `STATE.write({ state = 'r', .. })` | the head, from all its fields in any order |
//! | `STATE.with(old, { size = size })` | the record `old` with other values of some fields |
//! | `KEYS[LOG.order]`, `LOG.count` | `KEYS[2]`, `7` |
//! | `KEYS[QUEUE.next]` | `KEYS[26]`: the first one after those of a queue |
//! | `QUEUE.named(base)` | `{ meta = KEYS[base], data = KEYS[base + 1], .. }` |
//!
//! A name that is not in the layout stays as it is; a test finds it.

use std::ops::Range;

use super::{Keys, Record, keys, records};

/// The script with numbers instead of the names of the layout.
pub(crate) fn inline(lua: &str) -> String {
    Layout { records: records(), keys: keys() }.inline(lua)
}

struct Layout {
    records: Vec<Record>,
    keys: Vec<Keys>,
}

impl Layout {
    fn inline(&self, lua: &str) -> String {
        let mut text = String::with_capacity(lua.len());
        let mut rest = lua;
        // By bytes, which is twice as fast as by characters: all scripts together have 500 KB.
        while let Some(at) = rest.bytes().position(|byte| byte.is_ascii_uppercase()) {
            let (before, from) = rest.split_at(at);
            let (name, after) = word(from);
            let is_whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            text.push_str(before);
            rest = match self.replaced(name, after).filter(|_| is_whole) {
                Some((number, after)) => {
                    text.push_str(&number);
                    after
                }
                None => {
                    text.push_str(name);
                    after
                }
            };
        }
        text.push_str(rest);
        text
    }

    /// The text for a name and what follows it, and the rest after that.
    fn replaced<'a>(&self, name: &str, after: &'a str) -> Option<(String, &'a str)> {
        let (part, after) = word(after.strip_prefix('.')?);
        if let Some(keys) = self.keys.iter().find(|keys| keys.name == name) {
            return of_keys(keys, part, after);
        }
        let record = self.records.iter().find(|record| record.name == name)?;
        match part {
            "rest" => return Some(((record.len() + 1).to_string(), after)),
            "write" => {
                let (inside, after) = balanced(after)?;
                return Some((self.joined(record, None, inside)?, after));
            }
            "with" => {
                let (inside, after) = balanced(after)?;
                let (old, values) = inside.split_once(", ")?;
                return Some((self.joined(record, Some(old), values)?, after));
            }
            _ => {}
        }
        let at = record.part(part)?;
        let (suffix, behind) = after.strip_prefix('.').map_or(("", after), word);
        let fields = record.fields.iter().filter(|(_, field)| is_in(field, &at));
        let text = match suffix {
            "" => format!("{}, {}", at.start + 1, at.end),
            "from" => (at.start + 1).to_string(),
            "to" => at.end.to_string(),
            "width" => at.len().to_string(),
            "zero" => format!("'{}'", "0".repeat(at.len())),
            "one" => format!("'{:01$}'", 1, at.len()),
            "hex" => {
                let formats: Vec<String> =
                    fields.map(|(_, field)| format!("%0{}x", field.len())).collect();
                format!("'{}'", formats.concat())
            }
            "decimal" => format!("'%0{}.0f'", at.len()),
            _ => return None,
        };
        Some((text, behind))
    }

    /// A record of values by field, and of what the old one has between them.
    fn joined(&self, record: &Record, old: Option<&str>, values: &str) -> Option<String> {
        let values = values.trim().strip_prefix('{')?.strip_suffix('}')?;
        let mut parts = Vec::new();
        for value in split(values) {
            let (name, value) = value.split_once('=')?;
            parts.push((record.part(name.trim())?, self.inline(value.trim())));
        }
        parts.sort_by_key(|(at, _)| at.start);
        let mut pieces: Vec<String> = Vec::new();
        let mut end = 0;
        for (at, value) in parts {
            if at.start > end {
                pieces.push(format!("sub({}, {}, {})", old?, end + 1, at.start));
            } else if at.start < end {
                return None;
            }
            match pieces.last_mut() {
                Some(last) if is_literal(last) && is_literal(&value) => {
                    last.pop();
                    last.push_str(&value[1..]);
                }
                _ => pieces.push(value),
            }
            end = at.end;
        }
        match old {
            Some(old) => pieces.push(format!("sub({old}, {})", end + 1)),
            None if end == record.len() => {}
            None => return None,
        }
        Some(pieces.join(" .. "))
    }
}

fn of_keys<'a>(keys: &Keys, part: &str, after: &'a str) -> Option<(String, &'a str)> {
    let count = keys.keys.len();
    match part {
        "count" => Some((count.to_string(), after)),
        "next" => Some(((count + 1).to_string(), after)),
        "named" => {
            let (base, after) = balanced(after)?;
            let key = |(part, at): &(&str, usize)| match at {
                0 => format!("{part} = KEYS[{base}]"),
                at => format!("{part} = KEYS[{base} + {at}]"),
            };
            let all: Vec<String> = keys.keys.iter().map(key).collect();
            Some((format!("{{ {} }}", all.join(", ")), after))
        }
        part => {
            let (_, at) = keys.keys.iter().find(|(name, _)| *name == part)?;
            Some(((at + 1).to_string(), after))
        }
    }
}

/// A word, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'));
    text.split_at(end.unwrap_or(text.len()))
}

/// What is in the parentheses at the beginning, and what follows them.
fn balanced(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('(')?;
    let mut depth = Depth::default();
    let end = inside.char_indices().find(|(_, c)| depth.after(*c) < 0)?.0;
    Some((inside[..end].trim(), &inside[end + 1..]))
}

/// The parts between the commas that are in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = Depth::default();
    let parts = text.split(|c: char| depth.after(c) == 0 && !depth.in_text && c == ',');
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// How many parentheses and braces are open.
#[derive(Default)]
struct Depth {
    open: i32,
    in_text: bool,
}

impl Depth {
    fn after(&mut self, c: char) -> i32 {
        match c {
            '\'' => self.in_text = !self.in_text,
            _ if self.in_text => {}
            '(' | '{' | '[' => self.open += 1,
            ')' | '}' | ']' => self.open -= 1,
            _ => {}
        }
        self.open
    }
}

fn is_literal(value: &str) -> bool {
    let inside = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    inside.is_some_and(|inside| inside.chars().all(|c| c.is_ascii_alphanumeric()))
}

fn is_in(field: &Range<usize>, span: &Range<usize>) -> bool {
    span.start <= field.start && field.end <= span.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_numbers() {
        for (name, number) in [
            ("sub(state, STATE.token)", "sub(state, 15, 42)"),
            ("hex(data, DATA.level) + X.DATA", "hex(data, 47, 48) + X.DATA"),
            ("STATE.seq.from, STATE.seq.to, STATE.seq.width", "43, 54, 12"),
            ("STATE.counts.hex .. BEAT.at.decimal", "'%04x%08x%012x' .. '%013.0f'"),
            ("STATE.attempts.one .. DATA.deadline.zero", "'0001' .. '00000000000'"),
            ("STATE.head.to STATE.rest STATIC.rest", "122 123 21"),
            ("STATIC.keys DATA.keys", "8, 13 53, 58"),
            ("KEYS[LOG.order] LOG.count QUEUE.next", "KEYS[2] 7 26"),
            ("JOBS.named(base)", "{ data = KEYS[base], state = KEYS[base + 1] }"),
        ] {
            assert_eq!(inline(name), number);
        }
    }

    #[test]
    fn a_record_is_put_together_in_its_order() {
        assert_eq!(inline("ENTRY.write({ id = f(a, b), seq = x[1] })"), "x[1] .. f(a, b)");
        assert_eq!(
            inline("STATE.with(old, { finished = now, state = 'c', end_seq = '1' })"),
            "'c' .. sub(old, 2, 87) .. now .. '1' .. sub(old, 111)"
        );
        assert_eq!(
            inline("WAITING.write({ entry = e, at = WAITING.at.zero, level = '05' })"),
            "e .. '0000000000005'"
        );
    }

    #[test]
    fn what_is_not_in_the_layout_stays() {
        for text in [
            "STATE.key_of",
            "ENTRY.write({ id = id })",
            "ENTRY.write({ seq = 1, seq = 2, id = id })",
            "STATE.with(state, { nothing = 1 })",
            "LOG.nothing",
            "MY_DATA.level",
        ] {
            assert_eq!(inline(text), text);
        }
    }
}
