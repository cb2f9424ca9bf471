//! Characters that drive a terminal, or make a text look other than it is.

/// Control characters, changes of the writing direction, and invisible characters.
pub(crate) fn is_unseen(letter: char) -> bool {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
    // Not U+200C and U+200D, which are part of words and of emoji.
    let hides = matches!(letter, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        )
        || matches!(letter, '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(letter, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    letter.is_control() || turns || hides
}

/// The letter as JSON escapes it.
pub(crate) fn escaped(letter: char) -> String {
    letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}
