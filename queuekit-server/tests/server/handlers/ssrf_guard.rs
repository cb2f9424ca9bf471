//! S8: a job does not reach what only this machine can.

use serde_json::json;

use crate::handlers::fixture::{Place, dead, result};
use crate::handlers::http::ON;
use crate::handlers::webhook_receiver::{Receiver, answer};
use crate::sandbox::Sandbox;

const CLOSED: &str = "[handlers]\nenabled = ['http']\n[handlers.http]\ninsecure_http = true\n";

#[tokio::test]
async fn s8_loopback_is_refused_by_address_and_by_name_unless_it_is_allowed() {
    let receiver = Receiver::saying("200 OK");
    let port = receiver.address.port();
    let place = Place::new(CLOSED).await;
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "127.1", "2130706433", "0.0.0.0", "[::]"] {
        let job = place.run("http", json!({"url": format!("http://{host}:{port}/")})).await;
        dead(&job, "not at a public address");
    }
    assert!(receiver.is_quiet(), "nobody came");
    let place = Place::new(&format!("{CLOSED}allow = ['localhost:{port}']\n")).await;
    let by_name = json!({"url": format!("http://localhost:{port}/")});
    result(&place.run("http", by_name).await);
    let by_address = json!({"url": format!("http://127.0.0.1:{port}/")});
    dead(&place.run("http", by_address).await, "not at a public address");
}

#[tokio::test]
async fn s8_a_host_that_is_allowed_is_open_at_the_ports_that_are_named() {
    let (hook, beside) = (Receiver::saying("200 OK"), Receiver::saying("200 OK"));
    for allow in ["127.0.0.1", "127.0.0.1:80"] {
        let place = Place::new(&format!("{CLOSED}allow = ['{allow}']\n")).await;
        dead(&place.run("http", json!({"url": hook.url("/")})).await, "which is not allowed");
    }
    let port = hook.address.port();
    let place = Place::new(&format!("{CLOSED}allow = ['127.0.0.1:{port}']\n")).await;
    result(&place.run("http", json!({"url": hook.url("/")})).await);
    dead(&place.run("http", json!({"url": beside.url("/")})).await, "which is not allowed");
    let to = format!("Location: {}", beside.url("/"));
    let open = Receiver::new(move |_, _| answer("307 Temporary Redirect", &[&to], ""));
    let also = format!("{CLOSED}allow = ['127.0.0.1:{}']\n", open.address.port());
    let place = Place::new(&also).await;
    dead(&place.run("http", json!({"url": open.url("/")})).await, "which is not allowed");
    assert!(beside.is_quiet(), "nobody came");
}

#[tokio::test]
async fn s8_metadata_users_and_other_schemes_are_refused() {
    let place = Place::new(ON).await;
    for (url, said) in [
        ("http://169.254.169.254/latest/meta-data/", "not at a public address"),
        ("http://[fd00:ec2::254]/", "not at a public address"),
        ("https://[::ffff:127.0.0.1]/", "not at a public address"),
        ("http://1.1.1.1/", "not encrypted"),
        ("https://ada:pw@127.0.0.1/", "a user or a password"),
        ("file:///etc/passwd", "must begin with https://"),
    ] {
        dead(&place.run("http", json!({ "url": url })).await, said);
    }
}

#[tokio::test]
async fn s8_a_redirect_leads_nowhere_that_a_job_may_not_name() {
    let closed = Receiver::at("127.0.0.3:0", None, |_, _| answer("200 OK", &[], ""));
    let place = Place::new(ON).await;
    for (to, said) in [
        (closed.url("/"), "not at a public address"),
        ("http://169.254.169.254/latest/".to_owned(), "not at a public address"),
        ("http://0.0.0.0:1/".to_owned(), "not at a public address"),
        ("http://ada:pw@127.0.0.1/".to_owned(), "a user or a password"),
        ("file:///etc/passwd".to_owned(), "must begin with https://"),
    ] {
        let to = format!("Location: {to}");
        let open = Receiver::new(move |_, _| answer("307 Temporary Redirect", &[&to], ""));
        dead(&place.run("http", json!({"url": open.url("/")})).await, said);
    }
    assert!(closed.is_quiet(), "nobody came");
}

#[tokio::test]
async fn s8_another_host_is_told_neither_the_headers_nor_the_signature() {
    let last = Receiver::at("127.0.0.2:0", None, |_, _| answer("200 OK", &[], ""));
    let to = format!("Location: {}", last.url("/there"));
    let first = Receiver::new(move |_, request| match &*request.path {
        "/" => answer("308 Permanent Redirect", &["Location: /here"], ""),
        _ => answer("307 Temporary Redirect", &[&to], ""),
    });
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let sandbox = Sandbox::new().env("QUEUEKIT_WEBHOOK_SECRET", secret);
    let place = Place::within(sandbox, ON).await;
    let payload = json!({
        "url": first.url("/"), "body": 1, "headers": {"Authorization": "t", "X-Api-Key": "t"},
    });
    let job = place.run("http", payload).await;
    result(&job);
    let private = ["authorization", "x-api-key", "webhook-signature", "webhook-timestamp"];
    for _ in 0..2 {
        let request = first.next();
        assert!(private.iter().all(|name| request.headers.contains_key(*name)), "{request:?}");
    }
    let request = last.next();
    assert_eq!((&*request.path, &*request.body), ("/there", "1"));
    assert!(!private.iter().any(|name| request.headers.contains_key(*name)), "{request:?}");
    assert_eq!(
        request.headers["webhook-id"],
        job.id.to_string(),
        "no secret, and told apart by it"
    );
}

#[tokio::test]
async fn s8_a_credential_goes_to_its_origin_and_into_no_payload_result_or_log() {
    let elsewhere = Receiver::at("127.0.0.2:0", None, |_, _| answer("200 OK", &[], ""));
    let to = format!("Location: {}", elsewhere.url("/"));
    let hook = Receiver::new(move |_, request| match &*request.path {
        "/on" => answer("307 Temporary Redirect", &[&to], ""),
        _ => answer("200 OK", &[], &request.headers["authorization"]),
    });
    let origin = hook.url("");
    let settings = format!(
        "{ON}[handlers.http.credentials.billing]\nvariable = 'BILLING'\norigins = ['{origin}']\n"
    );
    let sandbox = Sandbox::new().env("RUST_LOG", "trace").env("BILLING", "Bearer hunter2");
    let place = Place::within(sandbox, &settings).await;
    let headers = json!({"Authorization": {"secret": "billing"}});
    let id = place.enqueue("http", json!({"url": hook.url("/"), "headers": headers})).await;
    let ran = place.work();
    let job = place.job(id).await;
    assert_eq!(hook.next().headers["authorization"], "Bearer hunter2");
    assert_eq!(result(&job)["body"], "***", "though the receiver repeats it");
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    let on = place.run("http", json!({"url": hook.url("/on"), "headers": headers})).await;
    result(&on);
    assert!(!elsewhere.next().headers.contains_key("authorization"));
    let other = place.run("http", json!({"url": elsewhere.url("/"), "headers": headers})).await;
    dead(&other, "see its `origins`");
    assert!(elsewhere.is_quiet(), "nobody came");
}

#[tokio::test]
async fn s8_redirects_end() {
    let receiver = Receiver::new(|_, _| answer("307 On And On", &["Location: /"], ""));
    let place = Place::new(ON).await;
    let job = place.run("http", json!({"url": receiver.url("/")})).await;
    dead(&job, "more than 3 times");
    let came = std::iter::from_fn(|| (!receiver.is_quiet()).then_some(())).count();
    assert_eq!(came, 4);
}

#[tokio::test]
async fn s8_no_variable_names_a_proxy() {
    let (receiver, proxy) = (Receiver::saying("200 OK"), Receiver::saying("500 Proxied"));
    let mut sandbox = Sandbox::new();
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"] {
        sandbox = sandbox.env(name, &proxy.url("/"));
    }
    let place = Place::within(sandbox, ON).await;
    result(&place.run("http", json!({"url": receiver.url("/")})).await);
    assert!(proxy.is_quiet());
}
