//! Webhooks: what becomes of a job by what is answered.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use queuekit::State;
use queuekit::jobs::CancelOutcome;
use serde_json::json;
use sha2::Sha256;

use crate::authority::Authority;
use crate::handlers::fixture::{Place, dead, result, retried};
use crate::handlers::tcp::certified;
use crate::handlers::webhook_receiver::{Answer, Receiver, answer};
use crate::sandbox::Sandbox;

pub(crate) const ON: &str = "lease_ms = 3000\n[handlers]\nenabled = ['http', 'echo']\n\
                             [handlers.http]\nallow = ['127.0.0.1:*', '127.0.0.2:*']\n";

#[tokio::test]
async fn a_2xx_completes_the_job_and_the_answer_is_its_result() {
    let receiver = Receiver::new(|_, _| answer("202 Accepted", &[], "thanks"));
    let place = Place::new(ON).await;
    let payload = json!({
        "url": receiver.url("/hook?a=1"), "method": "PUT",
        "headers": {"Authorization": "Bearer t", "X-Own": "1"}, "body": {"n": 1},
    });
    let job = place.run("http", payload).await;
    assert_eq!(result(&job), json!({"status": 202, "body": "thanks"}));
    let request = receiver.next();
    assert_eq!((&*request.method, &*request.path), ("PUT", "/hook?a=1"));
    assert_eq!(request.body, r#"{"n":1}"#);
    for (name, value) in [
        ("authorization", "Bearer t"),
        ("content-type", "application/json"),
        ("host", &*receiver.address.to_string()),
        ("webhook-id", &*job.id.to_string()),
        ("x-own", "1"),
    ] {
        assert_eq!(request.headers[name], value);
    }
    assert!(!request.headers.contains_key("webhook-signature"), "no secret is set");
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_will_not_is_dead() {
    let place = Place::new(ON).await;
    for status in ["408 Request Timeout", "429 Too Many Requests", "503 Service Unavailable"] {
        let receiver = Receiver::saying(status);
        retried(&place.run("http", json!({"url": receiver.url("/")})).await, status);
    }
    for status in ["400 Bad Request", "404 Not Found", "410 Gone", "304 Not Modified"] {
        let receiver = Receiver::saying(status);
        dead(&place.run("http", json!({"url": receiver.url("/")})).await, status);
    }
    dead(&place.run("http", json!({"url": "ftp://a.example"})).await, "`url`");
}

/// R13.8: a worker of a newer program may know the field.
/// Guard: what does not have the handler's form is parked, what it refuses is dead.
#[tokio::test]
async fn a_payload_of_another_form_is_parked_by_each_handler() {
    let place = Place::new("[handlers]\nenabled = [\"sleep\", \"http\", \"email\"]\n").await;
    for (kind, payload, said) in [
        ("sleep", json!({"seconds": 1}), "seconds"),
        ("http", json!({"uri": "https://a.example"}), "unknown field `uri`"),
        ("email", json!({"to": "a@b.c", "subjct": "s"}), "unknown field `subjct`"),
    ] {
        let job = place.run(kind, payload).await;
        assert_eq!((job.state, job.attempts), (State::Pending, 0), "{job:?}");
        let mark = job.undecodable().expect("a mark");
        assert!(mark.error.as_str().contains(said), "{mark:?}");
    }
}

#[tokio::test]
async fn a_receiver_that_says_when_is_obeyed() {
    let receiver = Receiver::new(|_, _| answer("429 Slow Down", &["Retry-After: 3600"], ""));
    let place = Place::new(ON).await;
    let job = place.run("http", json!({"url": receiver.url("/")})).await;
    retried(&job, "answered 429");
    let wait = job.scheduled_at.since(job.errors[0].at);
    assert!((3590..=3600).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test]
async fn who_is_not_there_or_silent_or_breaks_off_is_tried_again() {
    let place =
        Place::new(&format!("{ON}connect_timeout_ms = 2000\nread_timeout_ms = 200\n")).await;
    let silent = Receiver::new(|_, _| Answer::Silence);
    retried(&place.run("http", json!({"url": silent.url("/")})).await, "did not answer");
    silent.left_alone();
    let rude = Receiver::new(|_, _| Answer::Bytes("HTTP/1.1 200".to_owned()));
    retried(&place.run("http", json!({"url": rude.url("/")})).await, "did not answer");
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    retried(&place.run("http", json!({"url": format!("http://{gone}/")})).await, "cannot connect");
    let nowhere = json!({"url": "https://nowhere.invalid/"});
    retried(&place.run("http", nowhere).await, "cannot look up its name");
    let settings = format!("{ON}timeout_ms = 200\n");
    let place = Place::new(&settings).await;
    retried(&place.run("http", json!({"url": silent.url("/")})).await, "within 200ms");
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n";
    let receiver = Receiver::new(|_, _| Answer::Endless(head.to_owned(), "x"));
    let place = Place::new(ON).await;
    let stored = result(&place.run("http", json!({"url": receiver.url("/")})).await);
    assert_eq!((&stored["status"], &stored["truncated"]), (&json!(200), &json!(true)));
    assert_eq!(stored["body"].as_str().unwrap().len(), 16 * 1024);
    receiver.left_alone();
}

#[tokio::test]
async fn s6_a_receiver_that_sends_interim_answers_without_end_is_given_up() {
    let more = "HTTP/1.1 100 Continue\r\n\r\n";
    let receiver = Receiver::new(move |_, _| Answer::Endless(String::new(), more));
    let place = Place::new(ON).await;
    retried(&place.run("http", json!({"url": receiver.url("/")})).await, "did not answer");
    receiver.left_alone();
}

#[tokio::test]
async fn a_request_is_signed_with_the_secret_of_its_host() {
    let secret = |byte: u8| format!("whsec_{}", STANDARD.encode([byte; 32]));
    let receiver = Receiver::saying("204 No Content");
    let settings = format!("{ON}[handlers.http.secrets]\n'127.0.0.1' = '{}'\n", secret(1));
    let sandbox = Sandbox::new().env("QUEUEKIT_WEBHOOK_SECRET", &secret(2));
    let place = Place::within(sandbox, &settings).await;
    let elsewhere = Receiver::at("127.0.0.2:0", None, |_, _| answer("204 No Content", &[], ""));
    for (receiver, key) in [(&receiver, 1), (&elsewhere, 2)] {
        let job = place.run("http", json!({"url": receiver.url("/"), "text": "a"})).await;
        let headers = receiver.next().headers;
        assert_eq!(headers["webhook-id"], job.id.to_string());
        let mut mac = Hmac::<Sha256>::new_from_slice(&[key; 32]).unwrap();
        mac.update(format!("{}.{}.a", job.id, headers["webhook-timestamp"]).as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        assert_eq!(headers["webhook-signature"], format!("v1,{signature}"));
        let sent: i64 = headers["webhook-timestamp"].parse().unwrap();
        assert!((sent - job.created_at.as_millis() / 1000).abs() < 60, "it is the time");
    }
}

#[tokio::test]
async fn s8_a_signature_that_the_receiver_repeats_is_not_stored() {
    let hook = Receiver::new(|_, request| {
        answer("410 Gone", &[], &format!("signed {}", request.headers["webhook-signature"]))
    });
    let secret = format!("whsec_{}", STANDARD.encode([1; 32]));
    let settings = format!("{ON}[handlers.http.secrets]\n'127.0.0.1' = '{secret}'\n");
    let place = Place::new(&settings).await;
    let job = place.run("http", json!({"url": hook.url("/")})).await;
    let error = job.errors[0].error.as_str();
    assert!(error.contains("signed ***") && !error.contains("v1,"), "{error}");
}

#[tokio::test]
async fn a_cancelled_job_gives_its_request_up() {
    let receiver = Receiver::new(|_, _| Answer::Silence);
    let place = Place::new(ON).await;
    let id = place.enqueue("http", json!({"url": receiver.url("/")})).await;
    let _worker = place.worker();
    receiver.next();
    let admin = place.client.backend().capabilities().admin.unwrap();
    assert_eq!(admin.cancel(&[id]).await.unwrap(), [CancelOutcome::Requested]);
    receiver.left_alone();
    place.until(id, State::Cancelled).await;
}

#[tokio::test]
async fn a_lost_lease_gives_its_request_up() {
    let receiver = Receiver::new(|_, _| Answer::Silence);
    let place = Place::new(ON).await;
    let id = place.enqueue("http", json!({"url": receiver.url("/")})).await;
    let _worker = place.worker();
    receiver.next();
    assert!(place.client.backend().delete_job(id, true).await.unwrap());
    receiver.left_alone();
}

#[tokio::test]
async fn s7_a_receiver_shows_a_certificate_that_leads_to_an_authority() {
    let authority = Authority::new("tests");
    let receiver = || {
        let tls = Some(certified(&authority));
        Receiver::at("127.0.0.1:0", tls, |_, _| answer("200 OK", &[], "in private"))
    };
    let sandbox = Sandbox::new();
    sandbox.write("ca.pem", authority.pem());
    let ca = sandbox.path("ca.pem").display().to_string();
    let settings = ON.replace("'127.0.0.2:*'", "'localhost:*', '127.0.0.2:*'");
    let place = Place::within(sandbox.env("SSL_CERT_FILE", &ca), &settings).await;
    let (known, host) = (receiver(), "https://localhost");
    let url = json!({"url": format!("{host}:{}/", known.address.port())});
    assert_eq!(result(&place.run("http", &url).await)["body"], "in private");
    let address = json!({"url": format!("https://{}/", known.address)});
    retried(&place.run("http", address).await, "the TLS handshake failed");
    let place = Place::new(&settings).await;
    retried(&place.run("http", url).await, "the TLS handshake failed");
    known.next();
    assert!(known.is_quiet(), "nothing was told to who could not show who it is");
}

#[tokio::test]
async fn s9_no_log_tells_a_url_a_header_or_a_secret() {
    let receiver = Receiver::saying("500 Internal Server Error");
    let secret = format!("whsec_{}", STANDARD.encode(b"hunter2-hunter2-hunter2-hunter2!"));
    let sandbox = Sandbox::new().env("RUST_LOG", "trace").env("QUEUEKIT_WEBHOOK_SECRET", &secret);
    let place = Place::within(sandbox, ON).await;
    let payload = json!({
        "url": receiver.url("/services/hunter2"), "body": "hunter2",
        "headers": {"Authorization": "hunter2"},
    });
    let id = place.enqueue("http", &payload).await;
    let ran = place.work();
    receiver.next();
    for told in ["hunter2", &secret, &secret["whsec_".len()..]] {
        assert!(!ran.stderr.contains(told), "{}", ran.stderr);
    }
    let job = place.job(id).await;
    assert!(!job.errors[0].error.to_string().contains("hunter2"), "{job:?}");
    assert!(job.scheduled_at.since(job.errors[0].at) < Duration::from_secs(60));
}
