//! Mail: what is sent, and what becomes of a job by what the server says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use queuekit::State;
use serde_json::{Value, json};

use crate::authority::Authority;
use crate::handlers::fixture::{Place, dead, result, retried};
use crate::handlers::smtp_server::{Begin, MailServer, Manners};
use crate::handlers::tcp::certified;
use crate::sandbox::Sandbox;

pub(crate) const ON: &str = "lease_ms = 3000\n[handlers]\nenabled = ['email', 'echo']\n\
                             [handlers.email]\nfrom = 'Shop <shop@example.org>'\n";

pub(crate) fn mail() -> Value {
    json!({"to": "ada@example.org", "subject": "Hello", "text": "Good day"})
}

/// With the variables that name this server.
pub(crate) fn beside(server: &MailServer) -> Sandbox {
    at(server, "127.0.0.1")
}

fn at(server: &MailServer, host: &str) -> Sandbox {
    Sandbox::new().env("SMTP_HOST", host).env("SMTP_PORT", &server.address.port().to_string())
}

#[tokio::test]
async fn mail_goes_to_all_it_names_under_the_id_of_its_job() {
    let server = MailServer::new(Manners::default());
    let place = Place::within(beside(&server), ON).await;
    let payload = json!({
        "to": ["Ada <ada@example.org>"], "cc": "b@example.org", "bcc": "hidden@example.org",
        "subject": "Hello", "text": "one\n.\ntwo", "html": "<p>one</p>",
    });
    let job = place.run("email", payload).await;
    let id = format!("<{}@example.org>", job.id);
    assert_eq!(result(&job), json!({"message_id": id, "answer": "250 queued as 42"}));
    let mail = server.next();
    assert_eq!(mail.from, "<shop@example.org>");
    assert_eq!(mail.to, ["<ada@example.org>", "<b@example.org>", "<hidden@example.org>"]);
    for text in [&*format!("Message-ID: {id}"), "From: Shop <shop@example.org>", "\n..\ntwo"] {
        assert!(mail.data.contains(text), "{text} is not in {}", mail.data);
    }
    assert!(!mail.data.contains("hidden") && mail.login.is_none(), "{mail:?}");
}

#[tokio::test]
async fn what_the_server_puts_off_is_tried_again_and_what_it_refuses_is_dead() {
    for (verb, text) in [
        ("GREETING", "421 too many connections"),
        ("MAIL", "451 try later"),
        ("RCPT", "450 mailbox busy"),
        ("DATA", "452 no room"),
        ("END", "451 greylisted"),
    ] {
        let server = MailServer::saying(verb, text);
        let place = Place::within(beside(&server), ON).await;
        retried(&place.run("email", mail()).await, &text[4..]);
    }
    for (verb, text) in [
        ("MAIL", "553 not you"),
        ("RCPT", "550 no such user"),
        ("DATA", "554 no"),
        ("END", "552 too large"),
    ] {
        let server = MailServer::saying(verb, text);
        let place = Place::within(beside(&server), ON).await;
        dead(&place.run("email", mail()).await, &text[4..]);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_silent_is_tried_again() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sandbox = Sandbox::new().env("SMTP_HOST", "127.0.0.1");
    let place = Place::within(sandbox.env("SMTP_PORT", &gone.port().to_string()), ON).await;
    retried(&place.run("email", mail()).await, &format!("127.0.0.1:{} did not", gone.port()));
    let silent = MailServer::saying("MAIL", "");
    let place = Place::within(beside(&silent), &format!("{ON}timeout_ms = 300\n")).await;
    retried(&place.run("email", mail()).await, "within 300ms");
}

#[tokio::test]
async fn a_mail_that_was_accepted_is_sent_whatever_the_server_says_at_the_end() {
    let server = MailServer::saying("QUIT", "");
    let place = Place::within(beside(&server), &format!("{ON}timeout_ms = 60000\n")).await;
    result(&place.run("email", mail()).await);
    server.next();
}

#[tokio::test]
async fn s6_an_answer_of_a_mail_server_that_has_no_end_is_given_up() {
    for (verb, text) in
        [("GREETING", "2"), ("GREETING", "220-here\r\n"), ("EHLO", "250-AUTH PLAIN\r\n")]
    {
        let server = MailServer::repeating(verb, text);
        let place = Place::within(beside(&server), ON).await;
        retried(&place.run("email", mail()).await, "has more than 32768 bytes or 256 lines");
    }
}

#[tokio::test]
async fn without_a_server_only_mail_fails_and_says_what_to_set() {
    let on = "[handlers]\nenabled = ['email', 'echo']\n";
    let place = Place::new(&format!("{on}[handlers.email]\nallow_from = ['@example.org']\n")).await;
    retried(&place.run("email", mail()).await, "SMTP_FROM");
    let mut with_from = mail();
    with_from["from"] = json!("shop@example.org");
    retried(&place.run("email", with_from).await, "no mail server is set: set SMTP_HOST");
    assert_eq!(result(&place.run("echo", "1").await), json!(1));
}

#[tokio::test]
async fn a_mail_that_is_none_is_dead_and_reaches_nobody() {
    let server = MailServer::new(Manners::default());
    let place = Place::within(beside(&server), ON).await;
    for (field, value, said) in [
        ("to", "ada@example.org\r\nBcc: evil@example.org", "`to` has an invalid address"),
        ("subject", "a\r\nBcc: evil@example.org", "`subject` must be one line"),
        ("from", "a\nb <a@example.org>", "`from` has an invalid address"),
    ] {
        let mut payload = mail();
        payload[field] = json!(value);
        dead(&place.run("email", payload).await, said);
    }
    assert!(server.is_quiet());
}

#[tokio::test]
async fn s8_a_job_writes_as_whom_and_to_whom_the_settings_allow_and_as_nobody_else() {
    let server = MailServer::new(Manners::default());
    let with = |field: &str, value: &str| {
        let mut payload = mail();
        payload[field] = json!(value);
        payload
    };
    let place = Place::within(beside(&server), ON).await;
    dead(&place.run("email", with("from", "ceo@corp.example")).await, "to `allow_from`");
    assert!(server.is_quiet(), "nobody wrote as the CEO");
    result(&place.run("email", with("from", "The shop <shop@example.org>")).await);
    assert_eq!(server.next().from, "<shop@example.org>");
    let open = format!("{ON}allow_from = ['ceo@corp.example']\nallow_to = ['@example.org']\n");
    let place = Place::within(beside(&server), &open).await;
    for field in ["to", "cc", "bcc"] {
        let payload = with(field, "somebody@evil.example");
        dead(&place.run("email", payload).await, "`allow_to` of [handlers.email]");
    }
    assert!(server.is_quiet(), "nobody else was written to");
    result(&place.run("email", with("from", "ceo@corp.example")).await);
    assert_eq!(server.next().from, "<ceo@corp.example>");
}

#[tokio::test]
async fn s7_a_server_elsewhere_encrypts_or_gets_no_mail() {
    let authority = Authority::new("tests");
    for begin in [Begin::Encrypted, Begin::Plain] {
        let tls = Some((certified(&authority), begin));
        let server = MailServer::new(Manners { tls, ..Manners::default() });
        let how = if begin == Begin::Encrypted { "implicit" } else { "starttls" };
        let sandbox = || {
            let sandbox = at(&server, "localhost").env("SMTP_TLS", how);
            sandbox.env("SMTP_USER", "shop").env("SMTP_PASSWORD", "hunter2")
        };
        let place = Place::within(sandbox(), ON).await;
        retried(&place.run("email", mail()).await, "did not accept the mail");
        assert!(server.is_quiet(), "it could not show who it is");
        let trusting = sandbox();
        trusting.write("ca.pem", authority.pem());
        let ca = trusting.path("ca.pem").display().to_string();
        let place = Place::within(trusting.env("SSL_CERT_FILE", &ca), ON).await;
        result(&place.run("email", mail()).await);
        let mail = server.next();
        assert!(mail.encrypted, "{mail:?}");
        assert_eq!(mail.login.unwrap(), STANDARD.encode("\0shop\0hunter2"));
    }
    let plain = MailServer::new(Manners::default());
    let place = Place::within(beside(&plain).env("SMTP_TLS", "starttls"), ON).await;
    retried(&place.run("email", mail()).await, "STARTTLS");
    assert!(plain.is_quiet());
}

#[tokio::test]
async fn s9_a_login_that_is_refused_is_tried_again_and_told_nowhere() {
    // It repeats the login, as it was sent and in plain text.
    let server = MailServer::saying("AUTH", "535 bad: AUTH PLAIN AHNob3AAaHVudGVyMg== hunter2");
    let sandbox = beside(&server).env("SMTP_USER", "shop").env("SMTP_PASSWORD", "hunter2");
    let place = Place::within(sandbox.env("RUST_LOG", "trace"), ON).await;
    let id = place.enqueue("email", mail()).await;
    let ran = place.work();
    let job = place.job(id).await;
    retried(&job, "check SMTP_USER and SMTP_PASSWORD: ");
    let error = job.errors[0].error.to_string();
    for secret in ["hunter2", &STANDARD.encode("\0shop\0hunter2")] {
        assert!(!ran.stderr.contains(secret) && !error.contains(secret), "{}", ran.stderr);
    }
    assert_eq!(job.state, State::Pending);
}
