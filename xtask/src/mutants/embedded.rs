use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// By how much a mutant may be longer than what it replaces.
const ROOM: usize = 512;
/// What programs embed as it stands, and read when they run.
const EXTENSIONS: &[&str] = &["lua", "sql"];

/// Whether programs embed the file, so that its mutants need no build: they are written into the
/// program. A system that checks signatures would not run such a program.
pub(super) fn is_embedded(file: &Path) -> bool {
    let is_text = file.extension().is_some_and(|of| EXTENSIONS.iter().any(|&known| of == known));
    is_text && !cfg!(target_os = "macos")
}

/// A text with room at its end, as the copy has it.
pub(super) fn with_room(mut text: Vec<u8>) -> Vec<u8> {
    text.resize(text.len() + ROOM, b'\n');
    text
}

/// Makes `to` the program `from` with the mutant of a text in place of that text.
pub(super) fn replace(from: &Path, to: &Path, text: &str, mutant: &str) -> Result<()> {
    let failed = |what: String| Error::failed(format!("{}: {what}", from.display()));
    let program = fs::read(from).map_err(|error| failed(error.to_string()))?;
    let replaced = replaced(program, text, mutant).map_err(|what| failed(what.to_owned()))?;
    // Before: the program may still be running, and the copy has its permissions.
    let _ = fs::remove_file(to);
    let written = fs::copy(from, to).and_then(|_| fs::write(to, replaced));
    written.map_err(|error| failed(format!("{}: {error}", to.display())))
}

fn replaced(
    mut program: Vec<u8>,
    text: &str,
    mutant: &str,
) -> std::result::Result<Vec<u8>, &'static str> {
    let length = text.len();
    let (kept, beyond) = mutant.split_at_checked(length).unwrap_or((mutant, ""));
    if !beyond.trim().is_empty() {
        return Err("the mutant is longer than there is room for");
    }
    let mutant: Vec<u8> = kept.bytes().chain(std::iter::repeat(b'\n')).take(length).collect();
    let mut places = places(&program, text.as_bytes());
    if places.is_empty() {
        return Err("the text of the mutant does not stand in it");
    }
    while let Some(place) = places.pop() {
        program[place..place + length].copy_from_slice(&mutant);
    }
    Ok(program)
}

/// A file that several scripts include stands in the program several times.
fn places(program: &[u8], text: &[u8]) -> Vec<usize> {
    let Some(&first) = text.first() else { return Vec::new() };
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(next) = program[from..].iter().position(|&byte| byte == first) {
        let place = from + next;
        if program[place..].starts_with(text) {
            places.push(place);
        }
        from = place + 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_replaced_wherever_it_stands_and_nothing_moves() {
        let program = |text: &str| format!("\0{text}\0{text}\0").into_bytes();
        let text = "a AND b\n\n\n";
        for (mutant, expected) in
            [("a\n\n\n", "a\n\n\n\n\n\n\n\n\n"), ("a AND bc\n\n\n", "a AND bc\n\n")]
        {
            assert_eq!(replaced(program(text), text, mutant), Ok(program(expected)), "{mutant}");
        }
        assert!(replaced(program(text), text, "a AND b AND c\n\n\n").is_err());
        assert!(replaced(program("other"), text, "a").is_err());
    }

    #[test]
    fn rust_is_built() {
        assert!(!is_embedded(Path::new("src/ack.rs")));
        assert_eq!(is_embedded(Path::new("sql/ack.sql")), !cfg!(target_os = "macos"));
    }
}
