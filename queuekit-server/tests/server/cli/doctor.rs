//! `queuekit doctor`

use crate::sandbox::Sandbox;

#[test]
fn a_store_that_is_well_is_healthy_and_described() {
    let sandbox = Sandbox::new();
    sandbox.run(&["migrate", "up"]).ok();
    let report = sandbox.run(&["doctor", "--json"]);
    assert_eq!(report.code, 0);
    let report = report.json();
    assert_eq!((&report["healthy"], &report["durability"]), (&true.into(), &"power_loss".into()));
    assert_eq!(report["findings"], serde_json::json!([]));
    let facts = report["facts"].as_array().unwrap();
    let clock = facts.iter().find(|fact| fact["name"] == "clock").expect("without a queue too");
    assert_eq!(clock["value"], "the same as this machine's");
    let text = sandbox.run(&["doctor"]).ok();
    assert!(
        text.contains("a successful call survives  ") && text.ends_with("\nhealthy\n"),
        "{text}"
    );
}

#[test]
fn what_is_not_as_it_should_be_is_named_with_its_remedy() {
    let sandbox = Sandbox::new();
    sandbox.run(&["enqueue", "echo", "--queue", "mails"]).ok();
    let text = sandbox.run(&["doctor", "--url", "sqlite://queuekit.db?synchronous=normal"]).ok();
    assert!(text.contains("warning: synchronous is normal"), "{text}");
    assert!(text.contains("queue mails: 1 job ready, and no worker serves it"), "{text}");
    assert!(text.contains("-> start a worker: queuekit work --queues mails"), "{text}");
}

#[test]
fn jobs_that_died_lately_are_told_with_where_to_read_why() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        sandbox.run(&["enqueue", "mail", "--queue", "mails"]).ok();
    }
    sandbox.run(&["job", "dead-letter", "queue:mails", "--yes"]).ok();
    let text = sandbox.run(&["doctor"]).ok();
    assert!(text.contains("queue mails: 3 jobs died within the last hour"), "{text}");
    assert!(text.contains("queuekit dlq show mails"), "{text}");
    sandbox.run(&["dlq", "purge", "mails", "--yes"]).ok();
    assert!(!sandbox.run(&["doctor"]).ok().contains("died within"));
}

#[test]
fn who_is_not_well_is_unhealthy_by_exit_code() {
    let sandbox = Sandbox::new();
    let missing = sandbox.run(&["doctor", "--json"]);
    assert_eq!((missing.code, &missing.json()["healthy"]), (4, &false.into()));
    assert!(!sandbox.path("queuekit.db").exists(), "looking creates nothing");
    sandbox.write("queuekit.db", "");
    let empty = sandbox.run(&["doctor", "--json"]);
    assert_eq!((empty.code, &empty.json()["schema"]["stored"]), (4, &0.into()));
    let finding = empty.json()["findings"][0]["message"].to_string();
    assert!(finding.contains("no queuekit here") && finding.contains("migrate up"), "{finding}");
    let (directory, replica) = ("sqlite://none/a.db", "postgres://127.0.0.1:1/a?op_timeout_ms=100");
    for url in [directory, replica] {
        let said = sandbox.run(&["doctor", "--url", url]).stdout;
        assert!(!said.contains("create=nothing") && !said.contains("migrate"), "{said}");
    }
    sandbox.write("notes.txt", &"no database\n".repeat(100));
    let text = sandbox.run(&["doctor", "--url", "sqlite://notes.txt"]);
    assert!(text.code == 4 && text.stdout.contains("not healthy"), "{text:?}");
    let nobody = "postgres://127.0.0.1:1/jobs?op_timeout_ms=100";
    assert_eq!(sandbox.run(&["doctor", "--url", nobody]).code, 4);
}
