//! Scripts and styles.

use crate::common::guarded;

#[test]
fn files_of_a_page_need_no_key_and_are_kept_for_good() {
    let server = guarded();
    let login = server.get("/ui/login").send().expect(200).text;
    let (_, rest) = login.split_once("rel=\"stylesheet\" href=\"").expect("a style");
    let url = rest.split('"').next().unwrap();
    let style = server.get(url).send().expect(200);
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    let kept = "public, max-age=31536000, immutable";
    assert_eq!(style.header("cache-control"), Some(kept), "its address has its version");
    let tag = style.header("etag").unwrap();
    let again = server.get(url).header("if-none-match", tag).send().expect(304);
    assert!(again.text.is_empty());
    let unversioned = server.get("/ui/assets/app.css").send().expect(200);
    assert_eq!(unversioned.header("cache-control"), Some("no-cache"));
    assert_eq!(unversioned.text, style.text);
    let older = server.get("/ui/assets/0123456789abcdef/app.css").send().expect(200);
    assert_eq!(older.header("cache-control"), Some("no-cache"), "of a page before an update");
    for missing in ["nothing.js", "../Cargo.toml", "%2e%2e/Cargo.toml", "vendor", "x/app.css"] {
        server.get(&format!("/ui/assets/{missing}")).send().expect(404);
    }
}
