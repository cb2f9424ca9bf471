//! Threads that read while the writer writes, each on a connection of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use queuekit_core::{Clock, Error, ErrorKind, Limits, Result};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::command::{Command, Typed};
use crate::error::{closed, failed};
use crate::statements::{BEGIN_READ, ROLLBACK};
use crate::step::Step;

#[derive(Debug)]
pub(crate) struct Readers {
    commands: Mutex<Option<Sender<Box<dyn Command>>>>,
}

impl Readers {
    /// Starts a thread per connection. The receiver closes when the last of them ends.
    pub(crate) fn start(
        connections: Vec<Connection>,
        limits: Limits,
        clock: &Arc<dyn Clock>,
    ) -> Result<(Self, Receiver<()>)> {
        let (commands, received) = channel::<Box<dyn Command>>();
        let received = Arc::new(Mutex::new(received));
        let (reads, reading) = channel();
        for conn in connections {
            let (received, clock) = (Arc::clone(&received), Arc::clone(clock));
            let reads = reads.clone();
            let run = move || {
                while let Some(command) = next(&received) {
                    read(&conn, &limits, &*clock, command);
                }
                drop(conn);
                drop(reads);
            };
            let builder = thread::Builder::new().name("queuekit-sqlite-read".to_owned());
            builder.spawn(run).map_err(|error| {
                let message = "cannot start a thread for reads";
                Error::new(ErrorKind::Unavailable, message).caused_by(error)
            })?;
        }
        Ok((Self { commands: Mutex::new(Some(commands)) }, reading))
    }

    /// Runs a step that only reads, and sees one instant. If its caller goes, the step ends before
    /// its next statement.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mut step: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // Lives as long as the call is waited for.
        let caller = Arc::new(());
        let awaited = Arc::downgrade(&caller);
        let step = move |reading: &mut Step<'_>| {
            reading.caller = Some(Weak::clone(&awaited));
            step(reading)
        };
        let (reply, answered) = oneshot::channel();
        let command = Box::new(Typed::new(step, reply, Instant::now()));
        let sent = {
            let commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
            commands.as_ref().map(|commands| commands.send(command))
        };
        match sent {
            Some(Ok(())) => answered.await.map_err(|_| closed())?,
            _ => Err(closed()),
        }
    }

    /// Lets the threads finish their calls and end.
    pub(crate) fn close(&self) {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn next(received: &Mutex<Receiver<Box<dyn Command>>>) -> Option<Box<dyn Command>> {
    // The thread that has the lock waits for the next call; the others wait for the lock.
    received.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

fn read(conn: &Connection, limits: &Limits, clock: &dyn Clock, mut command: Box<dyn Command>) {
    if command.is_abandoned() {
        return;
    }
    // In a transaction, so that all statements of a step see one snapshot.
    let begun = conn.prepare_cached(BEGIN_READ).and_then(|mut begin| begin.execute([]));
    if let Err(error) = begun {
        return command.answer(Some(failed(error)));
    }
    let mut step = Step::new(conn, limits, clock.now());
    // The command keeps an error as its answer too.
    let _ = command.run(&mut step);
    drop(step);
    // A transaction that only read has nothing to undo.
    let _ = conn.prepare_cached(ROLLBACK).and_then(|mut end| end.execute([]));
    command.answer(None);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit_core::ManualClock;
    use tokio::time::timeout;

    use super::*;
    use crate::schema;
    use crate::statements::QUEUE_COUNT;

    /// The only reader reads until its call is given up, and then serves the next one.
    #[tokio::test]
    async fn s6_a_read_that_nobody_waits_for_ends_before_its_next_statement() {
        let conn = Connection::open_in_memory().unwrap();
        schema::up(&conn, 0).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
        let (readers, _) = Readers::start(vec![conn], Limits::default(), &clock).unwrap();
        let (begin, begun) = oneshot::channel();
        let mut begin = Some(begin);
        let endless = readers.run(move |step| -> Result<()> {
            let _ = begin.take().map(|begin| begin.send(()));
            loop {
                step.value::<i64>(QUEUE_COUNT, [])?;
            }
        });
        tokio::select! {
            _ = endless => panic!("a read that is waited for has ended"),
            begun = begun => begun.unwrap(),
        }
        let next = readers.run(|step| step.value::<i64>(QUEUE_COUNT, []));
        let answer = timeout(Duration::from_secs(20), next).await.expect("the reader is free");
        assert_eq!(answer.unwrap(), Some(0));
        readers.close();
    }
}
