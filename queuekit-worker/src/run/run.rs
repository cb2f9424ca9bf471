//! The state that a handler, the pump and the heartbeat share about one run.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use queuekit_core::Lease;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::context::RunContext;
use super::meter::Meter;
use super::reports::Reports;
use super::steps::Steps;
use crate::run::outcome::Outcome;

/// One run of one job.
pub(crate) struct Run {
    pub(crate) lease: Lease,
    pub(crate) context: Arc<RunContext>,
    /// Its handler; none if no handler is known for its kind.
    pub(crate) handler: Option<usize>,
    /// Its place in the registry.
    pub(crate) slot: usize,
    /// When the lease was asked for: its ttl counts from here.
    pub(crate) asked_at: Instant,
    /// When it was granted: its deadline counts from here.
    pub(crate) granted_at: Instant,
    pub(crate) reports: Reports,
    pub(crate) meter: Arc<Meter>,
    timeout: Option<Duration>,
    /// Nanoseconds from the grant to the start of the handler, plus one; zero before.
    started: AtomicU64,
    /// The same of its end.
    ended: AtomicU64,
    flags: AtomicU8,
    /// It waits until its kind has room.
    held: AtomicBool,
    token: OnceLock<CancellationToken>,
    waker: AtomicWaker,
    /// Only if the handler has asked for one.
    steps: OnceLock<Box<Steps>>,
    /// Only if something subscribes to it.
    span: OnceLock<Mutex<Span>>,
}

/// Why a run should stop, or what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flag {
    /// The outcome was decided, so nothing else may decide it.
    Claimed = 1,
    /// It was decided without its handler, whose answer no longer matters.
    Abandoned = 1 << 1,
    TimedOut = 1 << 2,
    CancelRequested = 1 << 3,
    Lost = 1 << 4,
    /// Too long since the lease was last extended.
    Doubted = 1 << 5,
    ShutDown = 1 << 6,
    /// Its handler keeps running long after the run was abandoned.
    Stuck = 1 << 7,
}

const STOP: u8 = Flag::TimedOut as u8
    | Flag::CancelRequested as u8
    | Flag::Lost as u8
    | Flag::Doubted as u8
    | Flag::ShutDown as u8;

impl Run {
    pub(crate) fn new(
        context: &Arc<RunContext>,
        lease: Lease,
        handler: Option<usize>,
        slot: usize,
        (asked_at, granted_at): (Instant, Instant),
        meter: Arc<Meter>,
    ) -> Self {
        let own = handler.and_then(|handler| context.options[handler].timeout);
        // A store that sets no timeout leaves it at zero.
        let timeout = own.or((!lease.timeout.is_zero()).then_some(lease.timeout));
        Self {
            lease,
            context: Arc::clone(context),
            handler,
            slot,
            asked_at,
            granted_at,
            reports: Reports::default(),
            meter,
            timeout,
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            flags: AtomicU8::new(0),
            held: AtomicBool::new(false),
            token: OnceLock::new(),
            waker: AtomicWaker::new(),
            steps: OnceLock::new(),
            span: OnceLock::new(),
        }
    }

    pub(super) fn steps(&self) -> &Steps {
        self.steps.get_or_init(Box::default)
    }

    /// Its handler is not started yet, as its kind has no room.
    pub(crate) fn hold(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// There is room now.
    pub(crate) fn unhold(&self) {
        self.held.store(false, Ordering::Release);
    }

    /// Keeps its span open until its outcome is known.
    pub(crate) fn trace(&self, span: Span) {
        let _ = self.span.set(Mutex::new(span));
    }

    /// Records in its span how it ended, and lets go of it: the application may keep the run.
    pub(crate) fn end_trace(&self, outcome: Outcome) {
        let Some(span) = self.span.get() else { return };
        let mut kept = span.lock().unwrap_or_else(PoisonError::into_inner);
        let span = std::mem::replace(&mut *kept, Span::none());
        // Not under the lock: to record calls the application's subscriber.
        drop(kept);
        span.record("queuekit.outcome", outcome.as_str());
        if matches!(outcome, Outcome::Retrying { .. } | Outcome::Dead) {
            span.record("otel.status_code", "error");
        }
    }

    /// The handler starts now.
    pub(crate) fn start(&self) {
        self.stamp(&self.started);
    }

    pub(crate) fn started(&self) -> Option<Instant> {
        self.stamped(&self.started)
    }

    /// The handler has returned, or was let go.
    pub(crate) fn end(&self) {
        self.stamp(&self.ended);
    }

    pub(crate) fn ended(&self) -> Option<Instant> {
        self.stamped(&self.ended)
    }

    /// How long its handler ran, once it has returned; none if it was never started.
    pub(crate) fn took(&self) -> Option<Duration> {
        Some(self.ended()?.saturating_duration_since(self.started()?))
    }

    fn stamp(&self, at: &AtomicU64) {
        // An `Instant` does not fit into an atomic number; the time since the grant does.
        let nanos = u64::try_from(self.granted_at.elapsed().as_nanos()).unwrap_or(u64::MAX - 1);
        at.store(nanos + 1, Ordering::Release);
    }

    fn stamped(&self, at: &AtomicU64) -> Option<Instant> {
        let nanos = at.load(Ordering::Acquire).checked_sub(1)?;
        self.granted_at.checked_add(Duration::from_nanos(nanos))
    }

    pub(crate) fn running_for(&self) -> Duration {
        self.started().map(|at| at.elapsed()).unwrap_or_default()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// When the run times out, once it has started.
    pub(crate) fn times_out_at(&self) -> Option<Instant> {
        self.started()?.checked_add(self.timeout?)
    }

    /// When the run would time out if it started now, while it has not.
    pub(crate) fn times_out_at_soonest(&self) -> Option<Instant> {
        let waits = self.started().is_none() && !self.held.load(Ordering::Acquire);
        self.timeout.filter(|_| waits).and_then(|timeout| self.granted_at.checked_add(timeout))
    }

    pub(crate) fn time_left(&self) -> Duration {
        match self.timeout {
            None => Duration::MAX,
            Some(timeout) => timeout.saturating_sub(self.running_for()),
        }
    }

    pub(crate) fn has(&self, flag: Flag) -> bool {
        self.flags.load(Ordering::Acquire) & flag as u8 != 0
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.flags.load(Ordering::Acquire) & STOP != 0
    }

    /// Sets a flag; true for the one who did.
    pub(crate) fn mark(&self, flag: Flag) -> bool {
        self.flags.fetch_or(flag as u8, Ordering::AcqRel) & flag as u8 == 0
    }

    /// Whether its outcome was decided without its handler.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.has(Flag::Abandoned)
    }

    /// Takes the right to decide the outcome; only one gets it.
    pub(crate) fn claim(&self) -> bool {
        self.mark(Flag::Claimed)
    }

    /// Takes the right to decide the outcome away from the handler, and lets go of its future.
    pub(crate) fn abandon(&self) -> bool {
        let claimed = self.claim();
        if claimed {
            self.mark(Flag::Abandoned);
            // Its task then drops the future. No other thread could do that while the task may poll
            // it.
            self.waker.wake();
        }
        claimed
    }

    /// Asks the handler to stop; true for the first to ask for this reason.
    pub(crate) fn cancel(&self, reason: Flag) -> bool {
        let first = self.mark(reason);
        // Either this thread sees the token, or the thread that makes the token sees the flag.
        fence(Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
        first
    }

    /// Most handlers never ask for the token, so it is made for those that do.
    pub(crate) fn token(&self) -> &CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        fence(Ordering::SeqCst);
        if self.is_cancelled() {
            token.cancel();
        }
        token
    }

    /// The waker to call when the run is abandoned.
    pub(crate) fn wake_when_abandoned(&self, waker: &Waker) {
        self.waker.register(waker);
    }
}
