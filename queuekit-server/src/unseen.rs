//! Characters that drive a terminal, or make a text look other than it is.

/// Control characters, changes of the writing direction, and invisible characters.
pub(crate) fn is_unseen(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    let hides = matches!(letter, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    letter.is_control() || turns || hides
}

/// The letter as JSON escapes it.
pub(crate) fn escaped(letter: char) -> String {
    letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}
