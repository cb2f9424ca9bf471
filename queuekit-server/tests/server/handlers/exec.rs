//! Commands: what a job can give them, what becomes of it, and what ends with it.

use std::fs::File;
use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use queuekit::State;
use queuekit::jobs::CancelOutcome;
use serde_json::json;

use crate::handlers::fixture::{Place, WORK, dead, result, retried};
use crate::sandbox::Sandbox;

/// A command `t` of the shell.
pub(crate) fn shell(script: &str, more: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "lease_ms = 3000\n[handlers]\nenabled = ['exec', 'echo']\n[handlers.exec.commands.t]\n\
         program = '/bin/sh'\nargs = ['-c', {script}]\n{more}\n"
    )
}

/// A pipe in the place. Its reader sees when it is opened, and when no process has it open any
/// more.
pub(crate) fn pipe(sandbox: &Sandbox) {
    assert!(Command::new("mkfifo").arg(sandbox.path("pipe")).status().unwrap().success());
}

/// Waits until a process has opened it.
pub(crate) fn opened(place: &Place) -> File {
    File::open(place.sandbox.path("pipe")).unwrap()
}

/// Waits until no process has it open, which is long before the processes end by themselves.
#[track_caller]
pub(crate) fn let_go(mut pipe: File) {
    let begun = Instant::now();
    pipe.read_to_end(&mut Vec::new()).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(60), "it ended by itself");
}

/// Runs for long in a child process of the command, which holds the pipe.
const GRANDCHILD: &str = "sleep 100 > pipe & wait";

#[tokio::test]
async fn what_a_command_writes_is_the_result_and_what_it_is_given_is_the_payload() {
    let place = Place::new(&shell("cat; echo done >&2", "")).await;
    let job = place.run("exec.t", r#"{"a":  "$(reboot)"}"#).await;
    assert_eq!(job.state, State::Completed, "{job:?}");
    assert_eq!(job.result.as_deref(), Some(&br#"{"a":  "$(reboot)"}"#[..]));
    let logs: Vec<&str> = job.logs.iter().map(|line| line.text.as_ref()).collect();
    assert_eq!(logs, ["done"]);
}

#[tokio::test]
async fn a_command_sees_what_is_allowed_and_its_job() {
    let sandbox = Sandbox::new().env("SECRET", "hunter2").env("LANG", "C");
    sandbox.write(".env", "TOKEN=of-the-file\n");
    let settings = "[handlers]\nenabled = ['exec']\n[handlers.exec.commands.env]\n\
                    program = '/usr/bin/env'\nenv = ['LANG', 'TOKEN', 'NONE']\n";
    let place = Place::within(sandbox, settings).await;
    let job = place.run("exec.env", "").await;
    let seen = String::from_utf8(job.result.clone().unwrap().to_vec()).unwrap();
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    let id = format!("QUEUEKIT_JOB_ID={}", job.id);
    let own = ["QUEUEKIT_ATTEMPT=1", &id, "QUEUEKIT_LEASE_SEQ=1", "QUEUEKIT_QUEUE=default"];
    assert_eq!(seen, [&["LANG=C"], &own[..], &["TOKEN=of-the-file"]].concat());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn s9_a_command_cannot_read_what_its_worker_knows() {
    let script = "for file in environ mem maps fd/0; do cat /proc/$PPID/$file; done; echo tried";
    let sandbox = Sandbox::new().env("QUEUEKIT_API_KEY", "hunter2");
    let place = Place::within(sandbox, &shell(script, "")).await;
    let id = place.enqueue("exec.t", "").await;
    let mut worker = unprivileged(place.sandbox.command(&[&WORK[..], &["--until-idle"]].concat()));
    assert!(worker.output().unwrap().status.success());
    let job = place.job(id).await;
    assert_eq!(job.result.as_deref(), Some(&b"tried\n"[..]), "{job:?}");
    let refused = job.logs.iter().filter(|line| line.text.contains("Permission denied"));
    assert_eq!(refused.count(), 4, "{:?}", job.logs);
}

/// The same without the privileges of root, with which everything can be read.
#[cfg(target_os = "linux")]
fn unprivileged(command: Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        return command;
    }
    let mut other = Command::new("/usr/bin/setpriv");
    other.args(["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]);
    other.arg(command.get_program()).args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().expect("that of the sandbox"));
    other
}

#[tokio::test]
async fn exit_codes_say_what_becomes_of_the_job() {
    let script = "read code; echo because >&2; exit $code";
    let place = Place::new(&shell(script, "dead_exit_codes = [64, 65]")).await;
    let job = async |code: &str| place.run("exec.t", format!("{code}\n")).await;
    assert_eq!(job("0").await.state, State::Completed);
    retried(&job("1").await, "exec.t failed (exit code 1): because");
    retried(&job("75").await, "asked to be run later");
    dead(&job("64").await, "failed for good (exit code 64): because");
    let place = Place::new(&shell("kill -9 $$", "")).await;
    retried(&place.run("exec.t", "").await, "signal: 9");
}

#[tokio::test]
async fn output_is_read_to_its_end_and_kept_within_bounds() {
    let script = "yes out | head -c 3000000; yes err | head -c 3000000 >&2";
    let place = Place::new(&shell(script, "")).await;
    let job = place.run("exec.t", "x".repeat(1_000_000)).await;
    assert_eq!(job.result.as_ref().map(|result| result.len()), Some(64 * 1024));
    let logs: Vec<&str> = job.logs.iter().map(|line| line.text.as_ref()).collect();
    assert!(logs.contains(&"stdout: only the first 65536 of 3000000 bytes are kept"), "{logs:?}");
    assert!(logs.contains(&"stderr: only the last 16384 of 3000000 bytes are kept"), "{logs:?}");
}

#[tokio::test]
async fn a_command_that_takes_too_long_ends_with_all_it_has_started() {
    let place = Place::new(&shell(GRANDCHILD, "timeout_ms = 1500")).await;
    pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let mut worker = place.worker();
    let_go(opened(&place));
    worker.signal("TERM");
    assert_eq!(worker.ended().0, Some(0));
    let job = place.job(id).await;
    assert!(job.errors[0].error.to_string().contains("ran for longer than 1.5s"), "{job:?}");
}

#[tokio::test]
async fn a_command_that_does_not_listen_is_killed() {
    let script = format!("trap '' TERM; {GRANDCHILD}");
    let place = Place::new(&shell(&script, "timeout_ms = 1500")).await;
    pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let _worker = place.worker();
    let_go(opened(&place));
    while place.job(id).await.errors.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_cancelled_job_ends_its_command() {
    let place = Place::new(&shell(GRANDCHILD, "")).await;
    pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let _worker = place.worker();
    let pipe = opened(&place);
    let admin = place.client.backend().capabilities().admin.unwrap();
    assert_eq!(admin.cancel(&[id]).await.unwrap(), [CancelOutcome::Requested]);
    let_go(pipe);
    place.until(id, State::Cancelled).await;
}

#[tokio::test]
async fn a_lost_lease_ends_its_command() {
    let place = Place::new(&shell(GRANDCHILD, "")).await;
    pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let _worker = place.worker();
    let pipe = opened(&place);
    assert!(place.client.backend().delete_job(id, true).await.unwrap());
    let_go(pipe);
}

#[tokio::test]
async fn a_worker_that_is_told_to_end_at_once_ends_its_commands() {
    let script = format!("trap '' TERM; {GRANDCHILD}");
    let place = Place::new(&shell(&script, "")).await;
    pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let mut worker = place.worker();
    let pipe = opened(&place);
    worker.signal("TERM");
    worker.says("stopping");
    worker.signal("TERM");
    let_go(pipe);
    assert_eq!(worker.ended().0, Some(0));
    let job = place.job(id).await;
    assert_eq!((job.state, job.attempts), (State::Pending, 0), "it is handed on");
}

#[tokio::test]
async fn what_a_command_leaves_behind_holds_nobody_up() {
    let place = Place::new(&shell("exec 3> pipe; sleep 100 & echo started", "")).await;
    pipe(&place.sandbox);
    let id = place.enqueue("exec.t", "").await;
    let _worker = place.worker();
    let_go(opened(&place));
    assert_eq!(place.until(id, State::Completed).await.result.as_deref(), Some(&b"started\n"[..]));
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_tried_again_and_one_that_is_not_stated_is_left() {
    let settings = shell("true", "").replace("/bin/sh", "./missing");
    let place = Place::new(&settings).await;
    retried(&place.run("exec.t", "").await, "check `program` and `cwd`");
    let job = place.run("exec.other", json!({"command": "t"})).await;
    assert_eq!((job.state, job.attempts, job.releases), (State::Pending, 0, 1));
    assert_eq!(result(&place.run("echo", "1").await), json!(1));
}
