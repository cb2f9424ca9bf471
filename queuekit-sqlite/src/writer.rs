//! The one thread that writes: group commit.
//!
//! It takes all calls that wait, runs them in one transaction, commits once, and answers. A sync of
//! the disk takes as long for a thousand jobs as for one, so a busy store is fast at full
//! durability and an idle one answers at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use queuekit_core::capability::WakeupHub;
use queuekit_core::{Clock, Error, ErrorKind, Limits, QueueName, Result, retry};
use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use crate::command::{Command, Typed};
use crate::error::{closed, failed, failed_to_commit, is_busy, is_fault};
use crate::place::Place;
use crate::statements::{BEGIN, COMMIT, DATA_VERSION, ROLLBACK};
use crate::step::Step;

/// Calls of one transaction at most.
const BATCH: usize = 1024;

/// How often the file is asked whether another process has written.
const LOOK: Duration = Duration::from_millis(20);

/// How long calls may still wait for the file's write lock once the store is being closed, which
/// is to take less than 5 s (contract R10.4).
const GRACE: Duration = Duration::from_secs(2);

/// The thread and its queue of calls.
#[derive(Debug)]
pub(crate) struct Writer {
    commands: Sender<Message>,
    op_timeout: Duration,
    /// Somebody waits for work: commits of other processes are of interest.
    pub(crate) watched: Arc<AtomicBool>,
    /// When nobody may wait any longer: set by close.
    ends_at: Arc<OnceLock<Instant>>,
}

enum Message {
    Run(Box<dyn Command>),
    Wake,
    Close,
}

/// What the thread works with.
pub(crate) struct Settings {
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) op_timeout: Duration,
    pub(crate) wakeups: Arc<WakeupHub>,
}

impl Writer {
    /// Starts the thread; `ends` is dropped when it has let go of the file. It does that after
    /// the readers: of two connections that let go at once neither is the last, and only the
    /// last moves the log into the database and removes it.
    pub(crate) fn start(
        conn: Connection,
        settings: Settings,
        place: Place,
        reading: Receiver<()>,
        ends: watch::Sender<()>,
    ) -> Result<Self> {
        let (commands, received) = channel();
        let op_timeout = settings.op_timeout;
        let watched = Arc::new(AtomicBool::new(false));
        let ends_at = Arc::new(OnceLock::new());
        let mut thread = Thread {
            conn,
            place,
            settings,
            received,
            watched: Arc::clone(&watched),
            ends_at: Arc::clone(&ends_at),
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
            let message = "the system gave no thread to write from";
            Error::new(ErrorKind::Unavailable, message).caused_by(error)
        })?;
        Ok(Self { commands, op_timeout, watched, ends_at })
    }

    /// Runs a step on the thread and answers once it is committed. The step may run more than
    /// once; what it did before is undone then.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        step: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answered) = oneshot::channel();
        let command = Typed::new(step, reply, Instant::now() + self.op_timeout);
        self.commands.send(Message::Run(Box::new(command))).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Lets the thread notice that it is watched.
    pub(crate) fn wake(&self) {
        // It may have ended already.
        let _ = self.commands.send(Message::Wake);
    }

    /// Lets the thread finish what was asked of it, and end.
    pub(crate) fn close(&self) {
        // Whoever closes it twice waits no longer for that.
        let _ = self.ends_at.set(Instant::now() + GRACE);
        // It may have ended already.
        let _ = self.commands.send(Message::Close);
    }
}

struct Thread {
    conn: Connection,
    place: Place,
    settings: Settings,
    received: Receiver<Message>,
    watched: Arc<AtomicBool>,
    ends_at: Arc<OnceLock<Instant>>,
    looked: Instant,
    version: Option<i64>,
}

impl Thread {
    fn run(&mut self) {
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
                if batch.len() < BATCH && !closing {
                    next = self.received.try_recv().ok();
                }
            }
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
            Ok(stirred) => {
                if let Err(error) = self.place.check_committed() {
                    return batch.into_iter().for_each(|cmd| cmd.answer(Some(error.clone())));
                }
                batch.into_iter().for_each(|command| command.answer(None));
                stirred.iter().for_each(|queue| self.settings.wakeups.ring(queue));
            }
            // Calls that share a transaction must not hurt each other: one by one.
            Err(_) if batch.len() > 1 => {
                batch.into_iter().for_each(|command| self.flush(vec![command]));
            }
            Err(error) => {
                batch.into_iter().for_each(|command| command.answer(Some(error.clone())));
            }
        }
    }

    /// Takes the write lock; false if every call has run out of time or the file is in trouble,
    /// and was told so.
    fn begin(&mut self, batch: &mut Vec<Box<dyn Command>>) -> bool {
        if let Err(error) = self.place.check() {
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
            thread::sleep(retry::lock_delay(tries, retry::chance()));
            tries += 1;
        }
    }

    /// Runs calls inside the transaction that has begun, and commits it; or undoes everything.
    fn attempt(&self, batch: &mut [Box<dyn Command>]) -> Result<BTreeSet<QueueName>> {
        let Settings { limits, clock, .. } = &self.settings;
        let mut step = Step::new(&self.conn, limits, clock.now());
        // Nobody would ever know of the leases of a call whose caller has gone.
        let mut awaited = batch.iter_mut().filter(|command| !command.is_abandoned());
        let ran = awaited.try_for_each(|command| {
            step.now = clock.now();
            let before = self.conn.total_changes();
            let ran = command.run(&mut step);
            // A call that a rule refused has changed nothing, or what it has changed must be
            // undone. After an error of SQLite's the step may count what was not written.
            let changed = self.conn.total_changes() != before || self.conn.is_autocommit();
            ran.or_else(|error| if changed || is_fault(&error) { Err(error) } else { Ok(()) })
        });
        let finished = ran.and_then(|()| step.finish()).and_then(|stirred| {
            let commit = self.conn.prepare_cached(COMMIT).and_then(|mut commit| commit.execute([]));
            commit.map(|_| stirred).map_err(failed_to_commit)
        });
        if finished.is_err() && !self.conn.is_autocommit() {
            // If even this fails, the next BEGIN says why.
            let _ = self.conn.prepare_cached(ROLLBACK).and_then(|mut undo| undo.execute([]));
        }
        finished
    }

    /// Rings for everybody if another process has written. Which queues it wrote to is not told;
    /// a reserve that finds nothing writes nothing, so that processes do not wake each other on.
    fn look(&mut self) {
        if !self.watched.load(Ordering::Relaxed) || self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        let version = self.conn.prepare_cached(DATA_VERSION);
        let version = version.and_then(|mut version| version.query_row([], |row| row.get(0)));
        let version: Option<i64> = version.ok();
        if version != self.version {
            self.version = version;
            self.settings.wakeups.ring_all();
        }
    }
}
