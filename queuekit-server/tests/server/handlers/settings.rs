//! Which handlers are on, and wrong settings of theirs.

use queuekit::State;

use crate::handlers::fixture::Place;
use crate::sandbox::Sandbox;

const UNTIL_IDLE: [&str; 4] = ["work", "--config", "queuekit.toml", "--until-idle"];

/// Guard: a directory, and the file in it, may belong to another person.
#[test]
fn s8_a_file_that_was_only_found_turns_on_no_handler_that_reaches_out() {
    for handler in ["http", "email", "exec"] {
        let sandbox = Sandbox::new();
        let settings = format!(
            "[handlers]\nenabled = ['echo', '{handler}']\n\
             [handlers.exec.commands.a]\nprogram = '/bin/true'\n"
        );
        sandbox.write("queuekit.toml", &settings);
        for command in [&["work", "--until-idle"][..], &["serve", "--work"], &["dev"]] {
            sandbox.run(command).failed(2, &["./queuekit.toml enables", "--config queuekit.toml"]);
        }
        assert!(!sandbox.path("queuekit.db").exists(), "it is refused before a store is made");
        sandbox.run(&UNTIL_IDLE).ok();
        // Who runs no jobs has no use for handlers.
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        assert!(sandbox.start(&serve).line().starts_with("http://"));
    }
}

#[tokio::test]
async fn handlers_that_reach_outside_are_off_until_they_are_named_and_their_jobs_are_left() {
    let place = Place::new("").await;
    for kind in ["http", "email", "exec.t"] {
        let job = place.run(kind, "{}").await;
        assert_eq!((job.state, job.attempts, job.releases), (State::Pending, 0, 1), "{job:?}");
    }
}

#[test]
fn a_worker_says_which_handlers_are_on_and_what_is_stated_for_one_that_is_off() {
    let sandbox = Sandbox::new();
    let settings = "[handlers]\nenabled = ['http', 'exec', 'sleep', 'sleep']\n\
                    [handlers.email]\nhost = 'mail'\n\
                    [handlers.exec.commands.a]\nprogram = '/bin/true'\n\
                    [handlers.exec.commands.b]\nprogram = '/bin/true'\n";
    sandbox.write("queuekit.toml", settings);
    let ran = sandbox.run(&UNTIL_IDLE);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains(r#"handlers="http, exec.a, exec.b, sleep""#), "{}", ran.stderr);
    let off = "the file has [handlers.email], but the handler is not enabled";
    assert!(ran.stderr.contains(off), "{}", ran.stderr);
    assert!(!ran.stderr.contains("[handlers.http], but"), "{}", ran.stderr);
}

#[test]
fn a_wrong_setting_is_refused_at_the_start_by_name_and_not_repeated() {
    const EXEC: &str = "[handlers]\nenabled = ['exec']\n[handlers.exec.commands.t]\n";
    for (settings, said) in [
        ("[handlers]\nenabled = ['mail']", "`mail` is unknown; did you mean `email`?"),
        ("[handlers.http]\nalow = []", "line 2: `alow` is unknown; did you mean `allow`?"),
        ("[handlers.http]\nallow = ['http://hunter2']", "line 2: write a host name"),
        ("[handlers.http]\nsecret = 'hunter2'", "line 2: a webhook secret must be `whsec_`"),
        ("[handlers.http.secrets]\nh = 'hunter2'", "line 2: a webhook secret must be"),
        (
            "[handlers]\nenabled = ['http']\n[handlers.http.secrets]\n'https://h' = \
             'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'",
            "[handlers.http.secrets]: `https://h` must be the host of a URL",
        ),
        ("[handlers.http]\nallow = ['a:0']", "line 2: write a host name"),
        (
            "[handlers.http.credentials.a]\nvariable = 'A'\norigins = ['hunter2']",
            "line 3: write a scheme and a host",
        ),
        ("[handlers.http]\ntimeout_ms = 0", "line 2: this value must be a nonzero"),
        ("[handlers.email]\npasword = 'hunter2'", "`pasword` is unknown; did you mean `password`?"),
        ("[handlers.email]\nfrom = 'hunter2'", "line 2: `from` must be an address"),
        ("[handlers.email]\nallow_from = ['hunter2']", "line 2: write an address"),
        ("[handlers.email]\ntls = 'hunter2'", "line 2: `hunter2` is unknown; known are implicit"),
        ("[handlers.exec.commands.t]\nargs = []", "missing field `program`"),
        ("[handlers]\nenabled = ['exec']", "add a table [handlers.exec.commands.NAME]"),
        (&*format!("{EXEC}program = 'sh'"), "[handlers.exec.commands.t]: `program` must be a path"),
        (&*format!("{EXEC}program = '/sh'\ndead_exit_codes = [75]"), "must not contain 0"),
        (&*format!("{EXEC}program = '/sh'\nenvironment = []"), "`environment` is unknown"),
        (
            "[handlers.exec.commands.'a b']\nprogram = '/bin/true'",
            "line 1: the name of a command must have letters, digits",
        ),
        ("hosts = ['http://hunter2/']", "line 1: the host must be a name such as jobs.example.com"),
        ("[[keys]]\nqueues = ['a b']", "line 2: a pattern must have 1 to 128 letters"),
        ("lease_ms = 10", "`lease_ms` of queuekit.toml: "),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("queuekit.toml", settings);
        let ran = sandbox.run(&UNTIL_IDLE);
        ran.failed(2, &[said]);
        let is_name = said.contains("hunter2");
        assert!(is_name || !ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}

#[test]
fn a_wrong_variable_is_refused_at_the_start_by_name_and_not_repeated() {
    for (name, said) in [
        ("QUEUEKIT_WEBHOOK_SECRET", "the variable QUEUEKIT_WEBHOOK_SECRET: a webhook secret"),
        ("SMTP_PORT", "the variable SMTP_PORT: "),
        ("SMTP_TLS", "the variable SMTP_TLS: the encryption must be implicit, starttls or none"),
        ("SMTP_FROM", "the variable SMTP_FROM must be an address"),
        ("SMTP_PASSWORD", "only one of SMTP_USER and SMTP_PASSWORD"),
    ] {
        let sandbox = Sandbox::new().env("SMTP_HOST", "mail.example").env(name, "hunter2");
        sandbox.write("queuekit.toml", "[handlers]\nenabled = ['http', 'email']\n");
        let ran = sandbox.run(&UNTIL_IDLE);
        ran.failed(2, &[said]);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    let half = Sandbox::new().env("GMAIL_USER", "ada@example.org");
    half.write("queuekit.toml", "[handlers]\nenabled = ['email']\n");
    half.run(&UNTIL_IDLE).failed(2, &["GMAIL_APP_PASSWORD"]);
}
