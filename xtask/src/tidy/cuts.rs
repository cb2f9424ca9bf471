use crate::tidy::finding::Finding;
use crate::tidy::tree::Script;

/// The functions that take a piece of a record out of it, from a place and to a place.
const CUTS: &[&str] = &["sub(", "hex(", "byte("];
const LUA_OF_REDIS: &str = "queuekit-redis/lua/";

/// Scripts name the fields of records. Their places are in one table, which Rust reads too:
/// `queuekit-redis/src/layout.rs`. A place that is written as a number would repeat it. Only 1 may
/// be written: it is the beginning of a text, and the step to what comes after a place.
pub(crate) fn check(scripts: &[Script]) -> Vec<Finding> {
    let scripts = scripts.iter().filter(|script| script.path.starts_with(LUA_OF_REDIS));
    scripts.flat_map(|script| findings(&script.path, &script.text)).collect()
}

fn findings(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("--"));
    let is_bad = |places: &Vec<&str>| {
        matches!(places[..], [_, "1"]) || places.iter().any(|place| is_number(place))
    };
    let cut = lines.filter(|(_, line)| cuts(line).iter().any(is_bad));
    cut.map(|(at, line)| {
        let message = format!(
            "cuts a record at a number; name the field, as in `sub(state, STATE.token)`: {}",
            line.trim()
        );
        Finding::at(path, at + 1, &message)
    })
    .collect()
}

/// The places of each cut of a line: what follows the text that is cut.
fn cuts(line: &str) -> Vec<Vec<&str>> {
    let mut cuts = Vec::new();
    for name in CUTS {
        for (at, _) in line.match_indices(name) {
            let is_whole = !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let mut parts = arguments(&line[at + name.len()..]).into_iter();
            // A method has the text before it.
            if is_whole && (line[..at].ends_with(':') || parts.next().is_some()) {
                cuts.push(parts.collect());
            }
        }
    }
    cuts
}

/// The arguments of a call, from behind its parenthesis on.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut arguments) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => {
                arguments.push(text[from..at].trim());
                break;
            }
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    arguments
}

/// Whether a place has a number other than 1, outside of what it calls.
fn is_number(place: &str) -> bool {
    let mut depth = 0;
    let own: String = place
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        })
        .collect();
    let words = own.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).any(|word| word != "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(line: &str) -> usize {
        findings("queuekit-redis/lua/ack.lua", line).len()
    }

    #[test]
    fn a_cut_at_a_number_fails() {
        for line in [
            "local token = sub(state, 15, 42)",
            "x = hex(call('HGET', Q.state, id) or '', 3, 6)",
            "if byte(data, 46) == 49 then",
            "key = state:sub(123)",
            "sub(member, from + 28, to)",
            "sub(member, -16)",
            "if sub(state, 1, 1) == 'r' then",
        ] {
            assert_eq!(count(line), 1, "{line}");
        }
    }

    #[test]
    fn a_cut_at_a_name_passes() {
        for line in [
            "local token = sub(state, STATE.token)",
            "sub(member, 1, member:find('\\0', 1, true) - 1)",
            "sub(data, key_to + 1, key_to + hex(data, DATA.unique))",
            "seq_hex(tonumber(found[item + 12], 16))",
            "sub(window[item * 2 - 1], ENTRY.rest)",
            "-- sub(state, 15, 42)",
        ] {
            assert_eq!(count(line), 0, "{line}");
        }
    }

    #[test]
    fn other_scripts_are_not_looked_at() {
        let text = "local part = sub(text, 2, 3)".to_owned();
        assert!(check(&[Script { path: "benches/http/enqueue.lua".to_owned(), text }]).is_empty());
    }
}
