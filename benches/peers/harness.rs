//! The measurements, written once for all queues: each program includes this file and implements
//! them.
//!
//! One line of JSON per measurement goes to standard output; `cargo xtask peers` reads them.
#![allow(clippy::print_stdout, reason = "figures are printed")]

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::ops::Range;
use std::str::FromStr;
use std::time::{Duration, Instant};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Jobs per call where jobs are enqueued in bulk.
const BATCH: usize = 1000;

/// The place of the store of one measurement. It is freed when this value is dropped.
pub(crate) trait Place: Sized {
    /// The option that says where.
    const OPTION: &'static str;

    /// Whether one value of the option is good for several measurements.
    const SERVES_MANY: bool;

    /// The measurements in such a place, with their numbers of jobs.
    const MEASURED: &'static [(&'static str, usize)];

    /// Makes the place ready that the option says; `name` is free for what is made in it.
    fn prepare(given: &str, name: &str) -> Result<Self>;
}

/// A queue that is measured.
pub(crate) trait Peer: Clone + Send + Sync + 'static {
    const NAME: &'static str;

    /// The settings that `--set` can change, with the values that were the fastest.
    const SETTINGS: &'static [(&'static str, &'static str)];

    /// The place of its store.
    type Place: Place;

    fn open(place: &Self::Place, settings: &Settings) -> impl Future<Output = Result<Self>> + Send;

    /// The store's own answer about its version and about the durability of the connection that
    /// writes.
    fn store(&self) -> impl Future<Output = Result<String>> + Send;

    fn enqueue(&self, number: usize) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues all of them in one call.
    fn enqueue_all(&self, numbers: Range<usize>) -> impl Future<Output = Result<()>> + Send;

    /// Runs a worker until `jobs` no-op jobs are recorded as completed. Returns when they were.
    fn drain(&self, jobs: usize) -> impl Future<Output = Result<Instant>> + Send;

    /// Runs a worker that gets one job after the other. Returns how long each waited, from before
    /// it was enqueued until its handler started.
    fn idle(&self, _jobs: usize) -> impl Future<Output = Result<Vec<Duration>>> + Send {
        async { Err("not measured in such a place".into()) }
    }

    /// How many jobs are recorded as completed.
    fn completed(&self) -> impl Future<Output = Result<usize>> + Send;

    /// Closes the store; not measured.
    fn close(self) -> impl Future<Output = Result<()>> + Send;
}

/// Runs the measurements that the arguments of the process ask for.
pub(crate) async fn run<P: Peer>() -> Result<()> {
    let options = Options::parse::<P>(std::env::args().skip(1))?;
    let wanted = |what| options.only.as_ref().is_none_or(|only| only == what);
    for &(what, jobs) in P::Place::MEASURED.iter().filter(|(what, _)| wanted(*what)) {
        let place = P::Place::prepare(&options.place, &format!("{}-{what}", P::NAME))?;
        let peer = P::open(&place, &options.settings).await?;
        let figures = measure(&peer, what, jobs).await?;
        let settings = format!("{}; {}", peer.store().await?, options.settings);
        peer.close().await?;
        println!(
            "{{\"peer\":{:?},\"what\":{what:?},\"jobs\":{jobs},{figures},\
             \"settings\":{settings:?}}}",
            P::NAME,
        );
    }
    Ok(())
}

/// The fields of a line that hold figures.
async fn measure<P: Peer>(peer: &P, what: &str, jobs: usize) -> Result<String> {
    let callers = what.strip_prefix("enqueue").map(str::parse).transpose()?;
    let took = match (what, callers) {
        ("drain", _) => drain(peer, jobs).await?,
        ("bulk", _) => in_bulk(peer, jobs).await?,
        (_, Some(callers)) => one_by_one(peer, jobs, callers).await?,
        _ => return waited(peer.idle(jobs).await?),
    };
    let seconds = took.as_secs_f64();
    Ok(format!("\"seconds\":{seconds:.4},\"per_second\":{:.0}", jobs as f64 / seconds))
}

/// Here the seconds are those that all jobs together have waited.
fn waited(mut waits: Vec<Duration>) -> Result<String> {
    waits.sort_unstable();
    let last = waits.len().checked_sub(1).ok_or("no job was waited for")?;
    let at = |percent: usize| waits[last * percent / 100].as_secs_f64() * 1000.0;
    let seconds = waits.iter().sum::<Duration>().as_secs_f64();
    let (p50, p99) = (at(50), at(99));
    Ok(format!("\"seconds\":{seconds:.4},\"p50_ms\":{p50:.3},\"p99_ms\":{p99:.3}"))
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
    place: String,
    only: Option<String>,
    settings: Settings,
}

impl Options {
    fn parse<P: Peer>(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let (mut place, mut only) = (None, None);
        let mut settings = Settings(P::SETTINGS.iter().copied().map(owned).collect());
        let measured = |value: &str| P::Place::MEASURED.iter().any(|(what, _)| value == *what);
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(usage::<P>)?;
            match arg.as_str() {
                arg if arg == P::Place::OPTION => place = Some(value),
                "--only" if measured(&value) => only = Some(value),
                "--set" => settings.change(&value)?,
                _ => return Err(usage::<P>().into()),
            }
        }
        if only.is_none() && !P::Place::SERVES_MANY {
            return Err(usage::<P>().into());
        }
        Ok(Self { place: place.ok_or_else(usage::<P>)?, only, settings })
    }
}

fn usage<P: Peer>() -> String {
    let measured: Vec<&str> = P::Place::MEASURED.iter().map(|(what, _)| *what).collect();
    let only = format!("--only {}", measured.join("|"));
    let only = if P::Place::SERVES_MANY { format!("[{only}]") } else { only };
    format!("{} PLACE {only} [--set NAME=VALUE]..", P::Place::OPTION)
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
        let (name, value) = assignment.split_once('=').ok_or("--set NAME=VALUE")?;
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
