//! A worker is killed in the middle of a job, and another one runs the job again.

use std::io::Read;
use std::process::Command;

use queuekit::{Job, State};
use serde_json::json;

use super::{email, exec, http};
use crate::handlers::fixture::Place;
use crate::handlers::smtp_server::{MailServer, Manners};
use crate::handlers::webhook_receiver::{Answer, Receiver, answer};

#[tokio::test]
async fn r0_2_a_webhook_whose_worker_is_killed_is_sent_again_under_its_id() {
    let receiver = Receiver::new(|number, _| match number {
        1 => Answer::Silence,
        _ => answer("200 OK", &[], ""),
    });
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let settings = format!("{}secret = '{secret}'\n", http::ON);
    let place = Place::new(&settings).await;
    let id = place.enqueue("http", json!({"url": receiver.url("/"), "body": 1})).await;
    let mut worker = place.worker();
    let first = receiver.next();
    worker.signal("KILL");
    worker.ended();
    let _other = place.worker();
    let second = receiver.next();
    let job = place.until(id, State::Completed).await;
    ran_twice(&job);
    assert_eq!(first.body, second.body);
    for request in [first, second] {
        assert_eq!(request.headers["webhook-id"], job.id.to_string());
    }
}

#[tokio::test]
async fn r0_2_a_mail_whose_worker_is_killed_is_sent_again_under_its_id() {
    // The server accepts the first mail, and the worker gets no reply.
    let says = |number, verb: &str| (number == 1 && verb == "END").then_some("");
    let manners = Manners { says: Some(Box::new(says)), ..Manners::default() };
    let server = MailServer::new(manners);
    let place = Place::within(email::beside(&server), email::ON).await;
    let id = place.enqueue("email", email::mail()).await;
    let mut worker = place.worker();
    let first = server.next();
    worker.signal("KILL");
    worker.ended();
    let _other = place.worker();
    let second = server.next();
    ran_twice(&place.until(id, State::Completed).await);
    for mail in [first, second] {
        assert!(mail.data.contains(&format!("Message-ID: <{id}@example.org>")), "{}", mail.data);
    }
}

#[tokio::test]
async fn r0_2_a_command_whose_worker_is_killed_runs_again() {
    let script = "if [ $QUEUEKIT_LEASE_SEQ = 1 ]; then exec > pipe; echo $$; exec sleep 100; fi";
    let place = Place::new(&exec::shell(script, "")).await;
    exec::pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let mut worker = place.worker();
    let mut pipe = exec::opened(&place);
    let mut leader = [0; 32];
    let read = pipe.read(&mut leader).unwrap();
    worker.signal("KILL");
    worker.ended();
    let _other = place.worker();
    ran_twice(&place.until(id, State::Completed).await);
    // Nobody was left who could end it.
    let leader = str::from_utf8(&leader[..read]).unwrap().trim();
    assert!(Command::new("sh").args(["-c", &format!("kill {leader}")]).status().unwrap().success());
    exec::let_go(pipe);
}

/// As docs/handlers.md says how.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_behind_setpriv_ends_with_a_worker_that_is_killed() {
    let settings = exec::shell("exec > pipe; echo; exec sleep 100", "")
        .replace("'/bin/sh'", "'/usr/bin/setpriv'")
        .replace("['-c'", "['--pdeathsig', 'KILL', 'prlimit', '--nofile=64', '/bin/sh', '-c'");
    let place = Place::new(&settings).await;
    exec::pipe(&place.sandbox);
    place.enqueue("exec.t", "").await;
    let mut worker = place.worker();
    let mut pipe = exec::opened(&place);
    assert_eq!(pipe.read(&mut [0; 1]).unwrap(), 1, "it runs");
    worker.signal("KILL");
    worker.ended();
    exec::let_go(pipe);
}

#[track_caller]
fn ran_twice(job: &Job) {
    assert_eq!((job.attempts, job.lease_seq), (2, 2), "{job:?}");
    assert_eq!(job.errors[0].error.to_string(), "lease expired");
}
