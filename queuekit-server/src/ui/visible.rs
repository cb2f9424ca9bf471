//! How pages show the texts that others have stored: as what they are.

use crate::unseen::{escaped, is_unseen};

/// The same page, with an escape for each character of its texts that would not be seen, or that
/// would turn the text around. Tags stay as they are, so the values of forms do too, and so do the
/// texts of `textarea`, which are sent back.
pub(super) fn visible(html: String) -> String {
    if !html.chars().any(is_shown) {
        return html;
    }
    let mut shown = String::with_capacity(html.len() + 64);
    let (mut in_tag, mut in_area) = (false, false);
    for (at, letter) in html.char_indices() {
        match letter {
            '<' => {
                in_tag = true;
                in_area = html[at..].starts_with("<textarea");
            }
            '>' => in_tag = false,
            _ => {}
        }
        match is_shown(letter) && !in_tag && !in_area {
            true => shown.push_str(&escaped(letter)),
            false => shown.push(letter),
        }
    }
    shown
}

/// Whether an escape is shown for it: not for the ends of lines and tabs, which texts have.
fn is_shown(letter: char) -> bool {
    is_unseen(letter) && !"\n\r\t".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_text_with_changes_of_direction_looks_like_what_it_is() {
        let all = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}\u{e0041}";
        let page = |text: &str| {
            format!("<b title=\"{all}\">é{text}\n</b><textarea a>{all}</textarea><i>{text}</i>")
        };
        let seen = r"\u061c\u200e\u200f\u202a\u202e\u2066\u2069\udb40\udc41";
        assert_eq!(visible(page(all)), page(seen));
        assert_eq!(visible(page("plain")), page("plain"));
    }
}
