//! What stores that are opened by URL share.

/// What a part of a URL stands for: `%XX` is a byte. None if that is no UTF-8 text, or something
/// else follows a `%`.
#[doc(hidden)]
pub fn percent_decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (code, after) = after.split_at_checked(2)?;
            let code = std::str::from_utf8(code).ok().filter(|code| !code.starts_with('+'))?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::percent_decoded;

    #[test]
    fn a_percent_sign_and_two_digits_are_a_byte_and_nothing_else_is() {
        assert_eq!(percent_decoded("/a%20b%3f%C3%A9+é").as_deref(), Some("/a b?é+é"));
        for wrong in ["%", "%2", "%+1", "%zz", "%2é", "%ff"] {
            assert_eq!(percent_decoded(wrong), None, "{wrong}");
        }
    }
}
