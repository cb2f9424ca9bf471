//! `queuekit doctor --production`

use crate::sandbox::{Ran, Sandbox};

/// The state of this item.
fn state(ran: &Ran, name: &str) -> String {
    let report = ran.json();
    let items = report["production"]["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["name"] == name).expect(name);
    item["state"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_still_to_do_is_told_with_where_it_is_set_and_what_is_done_is_ok() {
    let sandbox = Sandbox::new();
    let queue = ["enqueue", "echo", "--queue", "mails"];
    sandbox.run(&queue).ok();
    let before = sandbox.run(&["doctor", "--production", "--json"]);
    for name in ["keys", "own-keys", "migrate-off", "retention", "max-pending", "handlers"] {
        assert_eq!(state(&before, name), "to_do", "{name}");
    }
    for (name, wanted) in [("durability", "ok"), ("exec", "ok"), ("backups", "not_checked")] {
        assert_eq!(state(&before, name), wanted, "{name}");
    }
    let text = sandbox.run(&["doctor", "--production"]).ok();
    assert!(
        text.contains("mails has no limit: `queuekit queue set QUEUE --max-pending N`"),
        "{text}"
    );
    assert!(text.contains("production checklist:\n") && text.ends_with("\nhealthy\n"), "{text}");
    let settings = ["--keep-dead", "30d", "--max-pending", "1000"];
    sandbox.run(&[&["queue", "set", "mails"], &settings[..]].concat()).ok();
    let sandbox = sandbox
        .env("QUEUEKIT_URL", "sqlite://queuekit.db?migrate=off")
        .env("QUEUEKIT_API_KEY", "qk_0123456789abcdefghijklmnopqrstuvwxyz");
    sandbox.write("queuekit.toml", "[handlers]\nenabled = ['echo']\n");
    let after = sandbox.run(&["doctor", "--production", "--json"]);
    for name in ["keys", "migrate-off", "retention", "max-pending", "handlers"] {
        assert_eq!(state(&after, name), "ok", "{name}");
    }
    assert!(!after.stdout.contains("0123456789"), "no key is told");
    assert!(!sandbox.run(&["doctor", "--json"]).stdout.contains("production"));
}

/// Guard: what such a key stores would be bounded by nothing but the disk.
#[test]
fn s6_a_key_that_may_create_queues_without_a_limit_is_to_do() {
    let sandbox = Sandbox::new();
    sandbox.run(&["enqueue", "echo", "--queue", "mails"]).ok();
    sandbox.run(&["queue", "set", "mails", "--max-pending", "10"]).ok();
    for (scope, queues, wanted) in [
        ("enqueue", "", "to_do"),
        ("enqueue", "queues = ['mail*']", "to_do"),
        ("manage", "queues = ['mails', 'other']", "to_do"),
        ("enqueue", "queues = ['mails', 'event.*']", "ok"),
        ("read", "", "ok"),
    ] {
        let digest = "0".repeat(64);
        let key = format!("id = 'shop'\nsha256 = '{digest}'\nscopes = ['{scope}']");
        sandbox.write("queuekit.toml", &format!("[[keys]]\n{key}\n{queues}\n"));
        let ran = sandbox.run(&["doctor", "--production", "--json"]);
        assert_eq!(state(&ran, "max-pending"), wanted, "{scope} {queues}");
        let is_named = ran.stdout.contains("shop may create queues, which have no limit");
        assert_eq!(is_named, wanted == "to_do", "{}", ran.stdout);
    }
}

#[test]
fn of_a_store_that_is_not_there_the_settings_are_looked_at_all_the_same() {
    let ran = Sandbox::new().run(&["doctor", "--production", "--json"]);
    assert_eq!(ran.code, 4);
    let states = (state(&ran, "keys"), state(&ran, "durability"));
    assert_eq!(states, ("to_do".into(), "not_checked".into()));
}
