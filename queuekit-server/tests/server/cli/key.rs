//! `queuekit key`

use sha2::{Digest, Sha256};

use crate::sandbox::Sandbox;

#[test]
fn the_lines_that_are_printed_let_the_key_in() {
    let sandbox = Sandbox::new();
    let args = "key new --id shop --scope enqueue --scope read --queue shop.* --expires 90d";
    let args: Vec<&str> = args.split_whitespace().collect();
    let printed = sandbox.run(&args).ok();
    let (secret, lines) = printed.split_once('\n').unwrap();
    assert!(secret.starts_with("qk_shop_") && secret.len() == 8 + 43, "{secret}");
    let digest: String = Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(lines.starts_with("[[keys]]\nid = \"shop\"\n") && lines.contains(&digest), "{lines}");
    assert!(!lines.contains(secret));
    sandbox.write("queuekit.toml", lines);
    // With a key it may be reached from other machines.
    let mut serve = sandbox.start(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(serve.line().starts_with("http://"));
    serve.signal("TERM");
    assert_eq!(serve.ended().0, Some(0));
}

#[test]
fn a_key_is_json_for_programs_and_a_wrong_scope_is_refused() {
    let sandbox = Sandbox::new();
    let made = sandbox.run(&["key", "new", "--json", "--scope", "work"]).json();
    assert_eq!(made["entry"]["scopes"], serde_json::json!(["work"]));
    assert!(made["key"].as_str().unwrap().starts_with("qk_key_"));
    sandbox
        .run(&["key", "new", "--scope", "walk"])
        .failed(2, &["read, enqueue, work, manage or admin"]);
    for glob in ["a b", "a,b", ""] {
        sandbox.run(&["key", "new", "--queue", glob]).failed(2, &["a pattern must have 1 to 128"]);
    }
    let host = ["serve", "--listen", "127.0.0.1:0", "--host", "http://x/"];
    sandbox.run(&host).failed(2, &["without scheme and port"]);
    sandbox.run(&["key", "new", "--id", "a_b"]).failed(2, &["letters, digits and -"]);
    sandbox.run(&["key", "new", "--expires", "soon"]).failed(2, &["RFC 3339"]);
}
