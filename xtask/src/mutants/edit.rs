/// `text` with `find` replaced wherever it stands, which must be `times` times: otherwise the
/// error says how often it does.
pub(super) fn replace_exactly(
    text: &str,
    find: &str,
    replace: &str,
    times: usize,
) -> Result<String, usize> {
    let found = if find.is_empty() { 0 } else { text.matches(find).count() };
    if found == times && times > 0 { Ok(text.replace(find, replace)) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_as_often_as_was_said_or_not_at_all() {
        assert_eq!(replace_exactly("a = 1 AND b = 2", " AND b = 2", "", 1), Ok("a = 1".into()));
        assert_eq!(replace_exactly("x < 1, x < 1", "<", "<=", 2), Ok("x <= 1, x <= 1".into()));
        assert_eq!(replace_exactly("x < 1, x < 1", "<", "<=", 1), Err(2));
        assert_eq!(replace_exactly("x = 1", "<", "<=", 1), Err(0));
        assert_eq!(replace_exactly("x = 1", "", "y", 1), Err(0));
        assert_eq!(replace_exactly("x = 1", "y", "z", 0), Err(0));
    }
}
