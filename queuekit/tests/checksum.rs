//! The example `checksum`, killed and started again: no file is lost, no digest differs.
//!
//! Its unit tests run here too, because an example that has its own is not built as a program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

#[path = "../examples/checksum/main.rs"]
#[allow(dead_code, reason = "here it is started as a program")]
mod program;

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use queuekit::Job;
use queuekit::jobs::{JobFilter, PageSize};
use queuekit::store::BackendExt;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Enough that their digests do not fit into a pipe: a process whose output nobody reads never
/// ends.
const FILES: usize = 1000;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A directory of files, beside the store that knows their digests.
struct Trial {
    _directory: TempDir,
    files: PathBuf,
    url: String,
}

impl Trial {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let files = directory.path().join("files");
        for number in 0..FILES {
            let parent = files.join(format!("below-{}", number % 7));
            fs::create_dir_all(&parent).unwrap();
            let content = format!("file {number}\n").repeat(number % 100 * 20);
            fs::write(parent.join(number.to_string()), content).unwrap();
        }
        let url = format!("sqlite://{}", directory.path().join("jobs.db").display());
        Self { _directory: directory, files, url }
    }

    fn start(&self) -> Child {
        let mut command = Command::new(program());
        command.args(["--print", "--url", &self.url]).arg(&self.files);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts it, waits until the numbers of jobs that are stored and that have ended are right,
    /// and kills it.
    async fn kill_when(&self, is_right: impl Fn(usize, usize) -> bool) {
        let mut child = self.start();
        let client = queuekit::connect(&self.url).await.unwrap();
        let started = Instant::now();
        loop {
            let mut counts = (0, 0);
            for queue in client.backend().all_queues().await.unwrap() {
                for (status, count) in queue.counts.iter() {
                    counts.0 += count.value as usize;
                    counts.1 += if status.state().is_terminal() { count.value as usize } else { 0 };
                }
            }
            if is_right(counts.0, counts.1) {
                break;
            }
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself, with {counts:?}");
            assert!(started.elapsed() < PATIENCE, "it never came so far: {counts:?}");
            // How far another process has come is no event; asking all the time would slow it.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Before the kill: the file is to be found as the killed process has left it.
        client.close().await.unwrap();
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    /// What it is to print.
    fn lines(&self) -> Vec<String> {
        let directories = fs::read_dir(&self.files).unwrap();
        let files = directories.flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path().into_os_string()).collect();
        paths.sort_unstable();
        let line = |path: std::ffi::OsString| {
            let digest = Sha256::digest(fs::read(&path).unwrap());
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digest}  {}", path.to_str().unwrap())
        };
        paths.into_iter().map(line).collect()
    }

    async fn jobs(&self) -> Vec<Job> {
        let client = queuekit::connect(&self.url).await.unwrap();
        let mut filter = JobFilter::default().limit(PageSize::MAX.get());
        let mut jobs = Vec::new();
        loop {
            let page = client.backend().list_jobs(&filter).await.unwrap();
            jobs.extend(page.items);
            if page.next.is_none() {
                client.close().await.unwrap();
                return jobs;
            }
            filter = filter.after(page.next);
        }
    }
}

/// The example: as `cargo xtask test` has built it, which says where, or built here. `cargo test`
/// makes a program of it only when nothing else is asked for, and a test that is picked by name
/// would run yesterday's.
fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        // This test is target/PROFILE/deps/NAME.
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let name = format!("checksum{}", std::env::consts::EXE_SUFFIX);
        if let Some(examples) = std::env::var_os("QUEUEKIT_TEST_EXAMPLES") {
            return PathBuf::from(examples).join(name);
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--example", "checksum", "--target-dir"]);
        cargo.arg(profile.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the example does not build");
        profile.join("examples").join(name)
    };
    PROGRAM.get_or_init(build).clone()
}

/// Waits for its end: the lines it has printed, and what it says.
fn finished(child: Child) -> (Vec<String>, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{said}");
    (String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect(), said)
}

#[tokio::test]
async fn no_kill_loses_a_file_or_changes_a_digest() {
    let trial = Trial::new();
    let mut child = trial.start();
    child.kill().unwrap();
    child.wait().unwrap();
    trial.kill_when(|stored, _| stored > 0).await;
    for share in [10, 50, 95] {
        trial.kill_when(|_, ended| ended >= FILES * share / 100).await;
    }
    trial.kill_when(|_, ended| ended == FILES).await;
    // In the midst of printing: nobody has read all of it yet.
    let mut child = trial.start();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();

    let (lines, said) = finished(trial.start());
    assert!(said.contains("going on with a run that did not end; 1,000 files are done"), "{said}");
    assert_eq!(lines, trial.lines());
    assert_eq!(trial.jobs().await.len(), FILES, "one job per file");
}

#[tokio::test]
async fn what_was_changed_since_the_kill_is_hashed_anew_and_nothing_else() {
    let trial = Trial::new();
    trial.kill_when(|_, ended| ended == FILES).await;
    fs::write(trial.files.join("below-0/0"), "changed").unwrap();
    fs::write(trial.files.join("below-1/new"), "new").unwrap();
    fs::remove_file(trial.files.join("below-2/2")).unwrap();

    let (lines, _) = finished(trial.start());
    assert_eq!(lines, trial.lines());
    assert_eq!(trial.jobs().await.len(), FILES + 2);
}

#[tokio::test]
async fn processes_share_a_run_and_each_prints_all_of_it() {
    let trial = Trial::new();
    // So that there is a run to share, and not one for each.
    trial.kill_when(|stored, _| stored > 0).await;
    let children = [trial.start(), trial.start()];
    for outcome in children.map(|child| std::thread::spawn(|| finished(child))) {
        assert_eq!(outcome.join().unwrap().0, trial.lines());
    }
    assert_eq!(trial.jobs().await.len(), FILES, "one job per file");
}

#[tokio::test]
async fn a_run_that_ended_is_not_resumed_and_its_results_go() {
    let trial = Trial::new();
    finished(trial.start());
    let before = trial.jobs().await;
    let (lines, said) = finished(trial.start());
    assert!(!said.contains("going on"), "{said}");
    assert!(said.contains("removing the 1,000 results of the run before"), "{said}");
    assert_eq!(lines, trial.lines());
    let after = trial.jobs().await;
    assert_eq!(after.len(), FILES);
    assert!(before.iter().all(|job| job.queue != after[0].queue));
}

#[tokio::test]
async fn runs_over_two_directories_share_a_store() {
    let (first, mut second) = (Trial::new(), Trial::new());
    second.url = first.url.clone();
    first.kill_when(|_, ended| ended >= FILES / 2).await;
    let (lines, said) = finished(second.start());
    assert!(!said.contains("going on"), "{said}");
    assert_eq!(lines, second.lines());
    let (lines, said) = finished(first.start());
    assert!(said.contains("going on"), "{said}");
    assert_eq!(lines, first.lines());
}
