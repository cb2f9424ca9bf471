//! How commands reach a server.

use crate::authority::Authority;
use crate::handlers::tcp::certified;
use crate::handlers::webhook_receiver::{Answer, Receiver, Request, answer};
use crate::sandbox::Sandbox;

fn no_queues(_: usize, _: &Request) -> Answer {
    answer("200 OK", &[], "{\"queues\": []}")
}

/// Guard: the key is for this server, not for whom it points to.
#[test]
fn s8_a_command_follows_no_redirect() {
    let elsewhere = Receiver::new(no_queues);
    let location = format!("Location: {}", elsewhere.url("/v1/queues"));
    let server = Receiver::new(move |_, _| answer("307 Over There", &[&location], ""));
    let sandbox = Sandbox::new().env("QUEUEKIT_API_KEY", "hunter2");
    let ran = sandbox.run(&["queue", "list", "--server", &server.url("")]);
    ran.failed(1, &["the answer 307 Temporary Redirect is not from a queuekit server"]);
    assert_eq!(server.next().headers["authorization"], "Bearer hunter2");
    assert!(elsewhere.is_quiet(), "nobody else was asked");
}

/// Guard: no key is sent to a proxy.
#[test]
fn s8_no_variable_names_a_proxy_to_a_command() {
    let (server, proxy) = (Receiver::new(no_queues), Receiver::saying("500 Proxied"));
    let mut sandbox = Sandbox::new();
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"] {
        sandbox = sandbox.env(name, &proxy.url("/"));
    }
    sandbox.run(&["queue", "list", "--server", &server.url("")]).ok();
    assert_eq!(server.next().path, "/v1/queues?limit=1000");
    assert!(proxy.is_quiet());
}

#[test]
fn s7_a_server_shows_a_certificate_that_leads_to_an_authority() {
    let authority = Authority::new("tests");
    let server = Receiver::at("127.0.0.1:0", Some(certified(&authority)), no_queues);
    let sandbox = Sandbox::new();
    sandbox.write("ca.pem", authority.pem());
    let ca = sandbox.path("ca.pem").display().to_string();
    let trusting = sandbox.env("SSL_CERT_FILE", &ca).env("QUEUEKIT_API_KEY", "hunter2");
    let named = format!("https://localhost:{}", server.address.port());
    trusting.run(&["queue", "list", "--server", &named]).ok();
    assert_eq!(server.next().headers["authorization"], "Bearer hunter2");
    let address = format!("https://{}", server.address);
    let another = trusting.run(&["queue", "list", "--server", &address]);
    let stranger = Sandbox::new().env("QUEUEKIT_API_KEY", "hunter2");
    let unknown = stranger.run(&["queue", "list", "--server", &named]);
    for ran in [another, unknown] {
        ran.failed(1, &["no answer from", "invalid peer certificate"]);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    assert!(server.is_quiet(), "nothing was told to who could not show who it is");
}

/// Guard: `.env` may belong to another person, as in a cloned repository.
#[test]
fn s8_a_server_that_dotenv_names_gets_no_key_that_was_exported() {
    let server = Receiver::new(no_queues);
    let named = format!("QUEUEKIT_SERVER={}\n", server.url(""));
    let sandbox = Sandbox::new().env("QUEUEKIT_API_KEY", "hunter2");
    let told = |sandbox: &Sandbox, args: &[&str]| {
        let ran = sandbox.run(&[&["queue", "list"], args].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let key = server.next().headers.get("authorization").cloned();
        (key, ran.stderr.contains("QUEUEKIT_API_KEY is not sent"))
    };
    let bearer = |key: &str| Some(format!("Bearer {key}"));
    sandbox.write(".env", &named);
    assert_eq!(told(&sandbox, &[]), (None, true));
    assert_eq!(told(&sandbox, &["--server", &server.url("")]), (bearer("hunter2"), false));
    sandbox.write(".env", &format!("{named}QUEUEKIT_API_KEY=its-own\n"));
    assert_eq!(told(&sandbox, &[]), (bearer("its-own"), false));
    let exported = sandbox.env("QUEUEKIT_SERVER", &server.url(""));
    assert_eq!(told(&exported, &[]), (bearer("hunter2"), false));
    let of_file = Sandbox::new().env("QUEUEKIT_SERVER", &server.url(""));
    of_file.write(".env", "QUEUEKIT_API_KEY=its-own\n");
    assert_eq!(told(&of_file, &[]), (bearer("its-own"), false));
}
