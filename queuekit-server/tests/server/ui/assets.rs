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

#[test]
fn files_are_compressed_for_those_that_accept_it() {
    let server = guarded();
    for (name, least) in [("app.css", 3), ("live.js", 2), ("vendor/uplot-1.6.32.iife.min.js", 2)] {
        let url = format!("/ui/assets/{name}");
        let head = || server.ask("HEAD", &url);
        let plain = head().send().expect(200);
        assert!(plain.header("content-encoding").is_none());
        assert_eq!(plain.header("vary"), Some("accept-encoding"));
        let accepting = || head().header("accept-encoding", "br, gzip");
        let zipped = accepting().send().expect(200);
        assert_eq!(zipped.header("content-encoding"), Some("gzip"), "{name}");
        assert_eq!(zipped.header("content-type"), plain.header("content-type"));
        let length = |of: &crate::common::Reply| -> usize {
            of.header("content-length").expect("a length").parse().unwrap()
        };
        assert!(length(&zipped) * least < length(&plain), "{name}: {}", length(&zipped));
        let tag = zipped.header("etag").unwrap();
        assert_ne!(Some(tag), plain.header("etag"));
        accepting().header("if-none-match", tag).send().expect(304);
    }
}
