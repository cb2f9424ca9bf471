//! The one thread that writes: group commit.
//!
//! It takes all waiting calls, runs them in one transaction, commits once, and answers. A sync of
//! the disk takes as long for a thousand jobs as for one, so a busy store is fast at full
//! durability and an idle one answers at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use queuekit_core::capability::WakeupHub;
use queuekit_core::{Clock, Error, ErrorKind, Limits, Result, retry};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::cancels::Cancels;
use crate::column_names::only;
use crate::command::{Command, Typed};
use crate::error::{closed, failed, failed_to_commit, is_busy, is_fault};
use crate::file_identity::FileIdentity;
use crate::statements::{BEGIN, COMMIT, DATA_VERSION, ROLLBACK};
use crate::step::{Rings, Step};

/// The most calls in one transaction.
const BATCH: usize = 1024;

/// How often the file is checked for writes of another process.
const LOOK: Duration = Duration::from_millis(20);

/// How long calls may still wait for the file's write lock once the store is being closed. Closing
/// must take less than 5 s (contract R10.4).
const GRACE: Duration = Duration::from_secs(2);

/// The thread and its queue of calls.
#[derive(Debug)]
pub(crate) struct Writer {
    commands: Sender<Message>,
    op_timeout: Duration,
    /// Whether a worker waits for work or for cancels, so that commits of other processes matter.
    watched: Arc<AtomicBool>,
    /// The end of all waits: set by close.
    ends_at: Arc<OnceLock<Instant>>,
}

enum Message {
    Run(Box<dyn Command>),
    Wake,
    Close,
}

/// The settings of the thread.
pub(crate) struct Settings {
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) op_timeout: Duration,
    pub(crate) wakeups: Arc<WakeupHub>,
}

impl Writer {
    /// Starts the thread; `ends` is dropped when it has closed the file. It closes the file after
    /// the readers: only the last connection moves the log into the database and removes it, and of
    /// two that close at once neither is the last.
    pub(crate) fn start(
        conn: Connection,
        settings: Settings,
        file: FileIdentity,
        reading: Receiver<()>,
        ends: watch::Sender<()>,
    ) -> Result<Self> {
        let (commands, received) = channel();
        let op_timeout = settings.op_timeout;
        let watched = Arc::new(AtomicBool::new(false));
        let ends_at = Arc::new(OnceLock::new());
        let mut thread = Thread {
            conn,
            file,
            settings,
            received,
            watched: Arc::clone(&watched),
            ends_at: Arc::clone(&ends_at),
            cancels: Cancels::default(),
            looked: Instant::now(),
            version: None,
        };
        let run = move || {
            thread.run();
            while reading.recv().is_ok() {}
            drop(thread);
            drop(ends);
        };
        let builder = thread::Builder::new().name("queuekit-sqlite".to_owned());
        builder.spawn(run).map_err(|error| {
            let message = "cannot start a thread for writes";
            Error::new(ErrorKind::Unavailable, message).caused_by(error)
        })?;
        Ok(Self { commands, op_timeout, watched, ends_at })
    }

    /// Runs a step on the thread and answers once it is committed. The step may run more than once;
    /// its earlier runs are undone first.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answered) = oneshot::channel();
        let command = Typed::new(step, reply, Instant::now() + self.op_timeout);
        self.commands.send(Message::Run(Box::new(command))).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Lets the thread look at the commits of other processes from now on.
    pub(crate) fn watch(&self) {
        if !self.watched.swap(true, Ordering::Relaxed) {
            // The thread may have ended already.
            let _ = self.commands.send(Message::Wake);
        }
    }

    /// Lets the thread finish its calls and end.
    pub(crate) fn close(&self) {
        // A second close does not extend the wait.
        let _ = self.ends_at.set(Instant::now() + GRACE);
        // The thread may have ended already.
        let _ = self.commands.send(Message::Close);
    }
}

struct Thread {
    conn: Connection,
    file: FileIdentity,
    settings: Settings,
    received: Receiver<Message>,
    watched: Arc<AtomicBool>,
    ends_at: Arc<OnceLock<Instant>>,
    cancels: Cancels,
    looked: Instant,
    /// The version of the file at the last ring, or at the open.
    version: Option<i64>,
}

impl Thread {
    fn run(&mut self) {
        // A subscriber looks for work once anyway, so earlier commits of others need no ring.
        self.version = self.data_version();
        loop {
            let mut batch = Vec::new();
            let mut next = match self.wait() {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut closing = false;
            while let Some(message) = next.take() {
                match message {
                    Message::Run(command) => batch.push(command),
                    Message::Wake => {}
                    Message::Close => closing = true,
                }
                // Takes only what waits already: to wait for more would delay the calls that are
                // here.
                if batch.len() < BATCH && !closing {
                    next = self.received.try_recv().ok();
                }
            }
            // Also before the end: a call that came before the close gets its answer.
            self.flush(batch);
            if closing {
                return;
            }
            self.look();
        }
    }

    fn wait(&self) -> Result<Message, RecvTimeoutError> {
        if self.watched.load(Ordering::Relaxed) {
            return self.received.recv_timeout(LOOK);
        }
        self.received.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }

    /// Runs calls in one transaction and answers them.
    fn flush(&mut self, mut batch: Vec<Box<dyn Command>>) {
        batch.retain(|command| !command.is_abandoned());
        if batch.is_empty() || !self.begin(&mut batch) {
            return;
        }
        match self.attempt(&mut batch) {
            Ok(rings) => {
                if let Err(error) = self.file.check_committed() {
                    return batch.into_iter().for_each(|cmd| cmd.answer(Some(error.clone())));
                }
                batch.into_iter().for_each(|command| command.answer(None));
                // After the commit, so that a worker that wakes up finds the job.
                rings.ring(&self.settings.wakeups);
            }
            // Calls that share a transaction must not harm each other: run them one by one.
            Err(_) if batch.len() > 1 => {
                batch.into_iter().for_each(|command| self.flush(vec![command]));
            }
            Err(error) => {
                batch.into_iter().for_each(|command| command.answer(Some(error.clone())));
            }
        }
    }

    /// Takes the write lock. Returns false if every call got an error, because its time is over or
    /// the file cannot be used.
    fn begin(&mut self, batch: &mut Vec<Box<dyn Command>>) -> bool {
        if let Err(error) = self.file.check() {
            batch.drain(..).for_each(|command| command.answer(Some(error.clone())));
            return false;
        }
        let mut tries = 0;
        loop {
            let error =
                match self.conn.prepare_cached(BEGIN).and_then(|mut begin| begin.execute([])) {
                    Ok(_) => return true,
                    Err(error) => error,
                };
            let busy = is_busy(&error);
            let now = Instant::now();
            let ends = busy && self.ends_at.get().is_some_and(|at| *at <= now);
            let error = if ends { closed() } else { failed(error) };
            let late = |command: &mut Box<dyn Command>| !busy || ends || command.deadline() <= now;
            for command in batch.extract_if(.., late) {
                command.answer(Some(error.clone()));
            }
            if batch.is_empty() {
                return false;
            }
            // SQLite wakes no one when the lock becomes free.
            thread::sleep(retry::lock_delay(tries, retry::chance()));
            tries += 1;
        }
    }

    /// Runs calls inside the transaction that has begun, and commits it; or undoes everything.
    fn attempt(&self, batch: &mut [Box<dyn Command>]) -> Result<Rings> {
        let Settings { limits, clock, .. } = &self.settings;
        let mut step = Step::new(&self.conn, limits, clock.now());
        // Skips calls whose caller is gone: nobody would ever get their leases.
        let mut awaited = batch.iter_mut().filter(|command| !command.is_abandoned());
        let ran = awaited.try_for_each(|command| {
            step.begin_call(clock.now());
            let before = self.conn.total_changes();
            let ran = command.run(&mut step);
            // A call that a rule refused only keeps its error, unless it has changed something,
            // which must be undone. An error of SQLite undoes all: the step may have counted
            // unwritten rows.
            let changed = self.conn.total_changes() != before || self.conn.is_autocommit();
            ran.or_else(|error| if changed || is_fault(&error) { Err(error) } else { Ok(()) })
        });
        let finished = ran.and_then(|()| step.finish()).and_then(|rings| {
            let commit = self.conn.prepare_cached(COMMIT).and_then(|mut commit| commit.execute([]));
            commit.map(|_| rings).map_err(failed_to_commit)
        });
        if finished.is_err() && !self.conn.is_autocommit() {
            // If even this fails, the next BEGIN says why.
            let _ = self.conn.prepare_cached(ROLLBACK).and_then(|mut undo| undo.execute([]));
        }
        finished
    }

    /// If another process has written, wakes those whose runs it has asked to stop, and everybody
    /// who waits for work, because SQLite does not say which queues it wrote to. A reserve that
    /// finds nothing writes nothing, so that processes do not keep waking each other.
    fn look(&mut self) {
        if !self.watched.load(Ordering::Relaxed) || self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let version = self.data_version();
        if version != self.version {
            self.version = version;
            self.settings.wakeups.ring_all();
            // If it fails, workers learn of cancels with their next heartbeats.
            let _ = self.cancels.look(&self.conn, &self.settings.wakeups);
        }
    }

    /// A number that changes when another connection commits; none if it cannot be read.
    fn data_version(&self) -> Option<i64> {
        let mut version = self.conn.prepare_cached(DATA_VERSION).ok()?;
        version.query_row([], only).ok()
    }
}
