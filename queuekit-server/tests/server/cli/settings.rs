//! Where settings come from, and wrong ones.

use crate::sandbox::Sandbox;

/// The store that is meant, whether it is there or not.
fn store(sandbox: &Sandbox, args: &[&str]) -> String {
    let args = [&["doctor", "--json"], args].concat();
    sandbox.run(&args).json()["store"].as_str().unwrap().to_owned()
}

#[test]
fn a_flag_goes_before_the_environment_before_dotenv_before_the_file_before_the_default() {
    let sandbox = Sandbox::new();
    let shown = |name: &str| format!("sqlite://{name}.db");
    assert_eq!(store(&sandbox, &[]), shown("queuekit"));
    sandbox.write("queuekit.toml", "url = 'sqlite://file.db'");
    assert_eq!(store(&sandbox, &[]), shown("file"));
    sandbox.write("other.toml", "url = 'sqlite://other.db'");
    assert_eq!(store(&sandbox, &["--config", "other.toml"]), shown("other"));
    sandbox.write(".env", "QUEUEKIT_URL=sqlite://dotenv.db\n");
    assert_eq!(store(&sandbox, &[]), shown("dotenv"));
    let sandbox = sandbox.env("QUEUEKIT_URL", "sqlite://environment.db");
    assert_eq!(store(&sandbox, &[]), shown("environment"));
    assert_eq!(store(&sandbox, &["--url", "sqlite://flag.db"]), shown("flag"));
}

#[test]
fn an_unknown_name_in_the_file_is_refused_with_what_was_meant() {
    let sandbox = Sandbox::new();
    sandbox.write("queuekit.toml", "# settings\nlisen = '127.0.0.1:1'\n");
    let ran = sandbox.run(&["doctor"]);
    ran.failed(2, &["queuekit.toml line 2", "`lisen` is unknown; did you mean `listen`?"]);
}

#[test]
fn a_file_that_is_not_there_is_refused_if_it_was_named() {
    let ran = Sandbox::new().run(&["doctor", "--config", "none.toml"]);
    ran.failed(2, &["none.toml", "--config"]);
}

#[test]
fn a_url_of_no_store_is_refused_with_those_there_are() {
    let sandbox = Sandbox::new();
    for command in [&["doctor"][..], &["work"], &["serve"], &["enqueue", "a"], &["migrate", "up"]] {
        let ran = sandbox.run(&[command, &["--url", "mysql://db"]].concat());
        ran.failed(2, &["mysql:", "memory:, sqlite:, postgres:, redis:"]);
        sandbox.run(&[command, &["--url", "jobs.db"]].concat()).failed(2, &["sqlite://jobs.db"]);
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_named_with_what_to_do() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["enqueue", "a", "--url", "sqlite://missing/jobs.db"]);
    ran.failed(1, &["missing/jobs.db", "its directory exists"]);
    let nobody = "postgres://127.0.0.1:1/jobs?op_timeout_ms=100";
    sandbox.run(&["enqueue", "a", "--url", nobody]).failed(1, &["127.0.0.1:1/jobs"]);
}

#[test]
fn a_word_that_is_nearly_right_is_corrected() {
    let sandbox = Sandbox::new();
    for (args, meant) in [
        (&["enqeue", "a"][..], "enqueue"),
        (&["enqueue", "a", "--paylod", "1"], "--payload"),
        (&["migrate", "statsu"], "status"),
        (&["--json", "jbo", "list"], "a similar subcommand exists: 'job'"),
        (&["dlq", "lits"], "a similar subcommand exists: 'list'"),
        (&["doctor", "--log-format", "jsno"], "json"),
        (&["enqueue", "a", "--delay", "10"], "did you mean 10s"),
    ] {
        sandbox.run(args).failed(2, &[meant]);
    }
    let far = sandbox.run(&["wash"]);
    assert!(!far.stderr.contains("similar"), "{}", far.stderr);
}

#[test]
fn more_slots_than_a_process_has_use_for_are_refused() {
    let sandbox = Sandbox::new().env("QUEUEKIT_CONCURRENCY", "18446744073709551615");
    sandbox.run(&["work"]).failed(2, &["concurrency", "1..=100000"]);
    for command in [&["serve", "--work"][..], &["dev"]] {
        let ran = sandbox.run(&[command, &["--listen", "127.0.0.1:0"]].concat());
        ran.failed(2, &["concurrency", "1..=100000"]);
        assert_eq!(ran.stdout, "", "nobody was told of a server");
    }
}

#[test]
fn help_and_version_are_answers() {
    let sandbox = Sandbox::new();
    for command in ["dev", "serve", "work", "enqueue", "migrate", "doctor", "key"] {
        let help = sandbox.run(&[command, "--help"]).ok();
        assert!(help.contains("Usage: queuekit"), "{help}");
    }
    assert!(sandbox.run(&["--version"]).ok().starts_with("queuekit "));
    sandbox.run(&[]).failed(2, &["Usage: queuekit"]);
}
