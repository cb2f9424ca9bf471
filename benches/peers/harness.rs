//! What is measured, once for all queues: each program includes this file and says how it is done.
//!
//! One line of JSON per measurement goes to standard output; `cargo xtask peers` reads them.
#![allow(clippy::print_stdout, reason = "figures are printed")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::future::Future;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::time::{Duration, Instant};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "\
--dir DIR [--only drain|enqueue64|enqueue1|bulk] [--set NAME=VALUE]..
DIR is to be on the disk that is measured; it is left as it was";

/// What is measured, with how many jobs.
const MEASURED: [(&str, usize); 4] =
    [("drain", 50_000), ("enqueue64", 20_000), ("enqueue1", 2000), ("bulk", 50_000)];

/// Jobs per call where jobs are enqueued in bulk.
const BATCH: usize = 1000;

/// A queue that is measured. Its store is a file in a directory of its own.
pub(crate) trait Peer: Clone + Send + Sync + 'static {
    const NAME: &'static str;

    /// What `--set` can change, with the values that were found to be the fastest.
    const SETTINGS: &'static [(&'static str, &'static str)];

    fn open(directory: &Path, settings: &Settings) -> impl Future<Output = Result<Self>> + Send;

    /// What SQLite answers when it is asked for its version and for journal_mode and synchronous
    /// of the connection that writes.
    fn sqlite(&self) -> impl Future<Output = Result<String>> + Send;

    fn enqueue(&self, number: usize) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues all of them in one call.
    fn enqueue_all(&self, numbers: Range<usize>) -> impl Future<Output = Result<()>> + Send;

    /// Runs a worker until so many no-op jobs are recorded as completed, and tells when they were.
    fn drain(&self, jobs: usize) -> impl Future<Output = Result<Instant>> + Send;

    /// How many jobs are recorded as completed.
    fn completed(&self) -> impl Future<Output = Result<usize>> + Send;

    /// Lets go of the file; not measured.
    fn close(self) -> impl Future<Output = Result<()>> + Send;
}

/// Runs the measurements that the arguments of the process ask for.
pub(crate) async fn run<P: Peer>() -> Result<()> {
    let options = Options::parse::<P>(std::env::args().skip(1))?;
    let wanted = |what| options.only.as_ref().is_none_or(|only| only == what);
    for (what, jobs) in MEASURED.into_iter().filter(|(what, _)| wanted(*what)) {
        let directory = Directory::create(&options.directory, &format!("{}-{what}", P::NAME))?;
        let peer = P::open(&directory.0, &options.settings).await?;
        let took = match what {
            "drain" => drain(&peer, jobs).await?,
            "enqueue64" => one_by_one(&peer, jobs, 64).await?,
            "enqueue1" => one_by_one(&peer, jobs, 1).await?,
            _ => in_bulk(&peer, jobs).await?,
        };
        let seconds = took.as_secs_f64();
        let settings = format!("{}; {}", peer.sqlite().await?, options.settings);
        peer.close().await?;
        println!(
            "{{\"peer\":{:?},\"what\":{what:?},\"jobs\":{jobs},\"seconds\":{seconds:.4},\
             \"per_second\":{:.0},\"settings\":{settings:?}}}",
            P::NAME,
            jobs as f64 / seconds
        );
    }
    Ok(())
}

/// From the start of the worker; the jobs are there before it.
async fn drain<P: Peer>(peer: &P, jobs: usize) -> Result<Duration> {
    in_bulk(peer, jobs).await?;
    let started = Instant::now();
    let took = peer.drain(jobs).await?.duration_since(started);
    let completed = peer.completed().await?;
    if completed != jobs {
        return Err(format!("{completed} of {jobs} jobs are completed").into());
    }
    Ok(took)
}

/// Every caller waits for its call before it makes the next.
async fn one_by_one<P: Peer>(peer: &P, jobs: usize, callers: usize) -> Result<Duration> {
    let started = Instant::now();
    let caller = |caller: usize| {
        let peer = peer.clone();
        tokio::spawn(async move {
            for number in (caller..jobs).step_by(callers) {
                peer.enqueue(number).await?;
            }
            Result::Ok(())
        })
    };
    let callers: Vec<_> = (0..callers).map(caller).collect();
    for caller in callers {
        caller.await??;
    }
    Ok(started.elapsed())
}

async fn in_bulk<P: Peer>(peer: &P, jobs: usize) -> Result<Duration> {
    let started = Instant::now();
    for first in (0..jobs).step_by(BATCH) {
        peer.enqueue_all(first..jobs.min(first + BATCH)).await?;
    }
    Ok(started.elapsed())
}

struct Options {
    directory: PathBuf,
    only: Option<String>,
    settings: Settings,
}

impl Options {
    fn parse<P: Peer>(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let (mut directory, mut only) = (None, None);
        let mut settings = Settings(P::SETTINGS.iter().copied().map(owned).collect());
        while let Some(arg) = args.next() {
            let value = args.next().ok_or(USAGE)?;
            match arg.as_str() {
                "--dir" => directory = Some(PathBuf::from(value)),
                "--only" if MEASURED.iter().any(|(what, _)| value == *what) => only = Some(value),
                "--set" => settings.change(&value)?,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(Self { directory: directory.ok_or(USAGE)?, only, settings })
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Values by name; each name is one of [`Peer::SETTINGS`].
pub(crate) struct Settings(BTreeMap<String, String>);

impl Settings {
    pub(crate) fn get<T: FromStr<Err: Error + Send + Sync + 'static>>(
        &self,
        name: &str,
    ) -> Result<T> {
        let value = self.0.get(name).ok_or_else(|| format!("there is no setting `{name}`"))?;
        Ok(value.parse()?)
    }

    fn change(&mut self, assignment: &str) -> Result<()> {
        let (name, value) = assignment.split_once('=').ok_or(USAGE)?;
        let known = self.0.get_mut(name).ok_or_else(|| format!("there is no setting `{name}`"))?;
        value.clone_into(known);
        Ok(())
    }
}

impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let assignment = |(name, value)| format!("{name}={value}");
        let assignments: Vec<String> = self.0.iter().map(assignment).collect();
        f.write_str(&assignments.join(" "))
    }
}

/// A new directory, removed with all that is in it when it is no longer needed.
struct Directory(PathBuf);

impl Directory {
    fn create(parent: &Path, name: &str) -> Result<Self> {
        let path = parent.join(format!("{name}-{}", process::id()));
        fs::create_dir_all(parent)?;
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is in the way of nobody: every process has a name of its own.
        let _ = fs::remove_dir_all(&self.0);
    }
}
