//! Where a login leads: to a page of the dashboard, and nowhere else.

/// Longest address.
const BYTES: usize = 2048;

/// The address without the base path, if it is one of a page of the dashboard.
pub(super) fn checked(next: &str) -> Option<&str> {
    let (path, _) = next.split_once('?').unwrap_or((next, ""));
    let below = path.strip_prefix("/ui")?;
    let is_below = below.is_empty() || below.starts_with('/');
    // A browser takes `\` for `/`, and these for a step up.
    let is_step =
        |part: &str| matches!(part.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..");
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let stays = !path.split('/').any(is_step) && !path.contains("//");
    (is_below && is_plain && stays && next.len() <= BYTES).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_login_leads_to_no_other_site_and_no_other_path() {
        for own in ["/ui", "/ui/jobs", "/ui/jobs?q=status:dead%20kind:a&x=//", "/ui/queues/a.b"] {
            assert_eq!(checked(own), Some(own));
        }
        let long = format!("/ui/{}", "a".repeat(BYTES));
        for other in [
            "",
            "/",
            "/v1/jobs",
            "/uix",
            "//evil.example/ui",
            "https://evil.example/ui",
            "ui",
            "/ui/../v1/jobs",
            "/ui/%2e%2E/x",
            "/ui/./x",
            "/ui//evil.example",
            "/ui\\evil.example",
            "/ui/a b",
            "/ui/a\r\nset-cookie: x",
            "/ui/\u{e9}",
            &long,
        ] {
            assert_eq!(checked(other), None, "{other}");
        }
    }
}
