//! The journal: every process writes what happened into one file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use queuekit_core::{Clock, JobId, SystemClock, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use super::Call;

/// The file that all processes of a test append to; clones share it.
///
/// Events of one call are one write at the end of the file. So the order of the lines is an order
/// in which things happened, over all processes and without comparing clocks. A write outlives its
/// process: only a power cut would take it back, and no test cuts the power of the machine it runs
/// on.
#[derive(Clone, Debug)]
pub struct Journal {
    file: Arc<File>,
    clock: Arc<SystemClock>,
}

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// When it was written; for measuring only.
    pub at: Timestamp,
    /// The process it happened in, or to.
    pub pid: u32,
    /// What happened.
    pub event: Event,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A process has opened its store.
    Ready,
    /// A caller is about to enqueue, or to emit.
    Calling(Call),
    /// The store has answered a call with Ok; once per job.
    Accepted(Call, JobId),
    /// The store has answered an emit with Ok.
    Emitted(Call),
    /// A consumer of this name has run a delivery, and is about to complete it.
    Delivered(String, Call),
    /// A handler begins; told before it has any effect.
    Started(Run),
    /// A handler is about to return.
    Ended(RunId),
    /// The store has answered how a run ended, by the worker's name for it.
    Settled(RunId, String),
    /// The lease of a run no longer held.
    LeaseLost(RunId),
    /// How many leases a worker counted as lost; told when it has ended.
    LeasesLost(u64),
    /// A call failed and will be repeated.
    Failed(String),
    /// The process stands still; told by the one who stopped it.
    Stopped,
    /// The process is about to continue; written by the process that lets it.
    Continued,
    /// The process was killed and is gone; told by the one who killed it.
    Killed,
}

/// A run of a job under one lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId {
    /// The job.
    pub job: JobId,
    /// The fence of its lease.
    pub lease_seq: u64,
}

/// What a handler knows of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Which run.
    pub id: RunId,
    /// The attempt that the handler got.
    pub attempt: u32,
    /// Which incarnation of a worker runs it.
    pub worker: WorkerId,
    /// The call that enqueued the job.
    pub call: Call,
}

impl Journal {
    /// Opens it for appending; who comes first makes it.
    pub fn open(path: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { file: Arc::new(file), clock: Arc::default() }
    }

    /// Tells what happened in this process.
    pub fn tell(&self, event: Event) {
        self.tell_of(std::process::id(), [event]);
    }

    /// Tells what happened in a process or to it, in one write.
    pub fn tell_of(&self, pid: u32, events: impl IntoIterator<Item = Event>) {
        // A write can be cut short where its process is killed. The next line then begins anew,
        // and the rest of the torn one is no JSON.
        let mut lines = String::new();
        for event in events {
            let entry = Entry { at: self.clock.now(), pid, event };
            lines.push('\n');
            lines.push_str(&serde_json::to_string(&entry).expect("an entry is JSON"));
        }
        let written = (&*self.file).write(lines.as_bytes()).expect("the journal");
        assert_eq!(written, lines.len(), "the journal takes whole writes");
    }

    /// The call that this caller began last.
    pub fn last_call(path: &Path, caller: &str) -> Option<Call> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // Whole journals are long; most lines need not be parsed to see that they are others'.
        let theirs = |line: &&str| line.contains("Calling") && line.contains(caller);
        let calls = text.lines().rev().filter(theirs).filter_map(|line| {
            match serde_json::from_str::<Entry>(line).ok()?.event {
                Event::Calling(call) => Some(call),
                _ => None,
            }
        });
        calls.into_iter().find(|call| call.caller == caller)
    }

    /// Every whole line so far, and how many were torn.
    pub fn read(path: &Path) -> (Vec<Entry>, usize) {
        Self::read_after(path, 0)
    }

    /// The same for the lines after the first `bytes` bytes.
    pub fn read_after(path: &Path, bytes: usize) -> (Vec<Entry>, usize) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines = text[bytes..].lines().filter(|line| !line.is_empty());
        let read: Vec<_> = lines.map(serde_json::from_str).collect();
        let torn = read.iter().filter(|line| line.is_err()).count();
        (read.into_iter().flatten().collect(), torn)
    }
}
