//! Calls into the application when something happens to a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use queuekit_core::Error;

use crate::run::ctx::Ctx;
use crate::run::outcome::Outcome;

/// Calls of the application when something happens to a run. Every method does nothing by default.
///
/// Hooks are called between two batches of work, so they must be quick: send what you need to a
/// task of the application, and wait for nothing. A panic in a hook affects neither other hooks nor
/// the worker.
///
/// ```
/// # use queuekit::{Client, memory::MemoryStore};
/// use queuekit::workers::{Hooks, Outcome};
/// use queuekit::{Ctx, Worker};
///
/// struct Alerts;
///
/// impl Hooks for Alerts {
///     fn on_outcome(&self, ctx: &Ctx, outcome: &Outcome) {
///         if *outcome == Outcome::Dead {
///             eprintln!("{} {} is dead", ctx.kind(), ctx.id());
///         }
///     }
/// }
///
/// # let client = Client::new(MemoryStore::new());
/// let worker = Worker::new(client).hooks(Alerts);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of hooks",
    note = "write `impl Hooks for {Self} {{}}` and replace the methods you need"
)]
pub trait Hooks: Send + Sync + 'static {
    /// A handler is about to run in this span, which has not been entered yet. This is the time to
    /// give it a parent, or links to other spans. It is not called if nothing subscribes to spans.
    ///
    /// The spans of a worker with hooks get the field `queuekit.outcome` once the store has
    /// recorded it, and end then.
    fn on_span(&self, ctx: &Ctx, span: &tracing::Span) {
        let _ = (ctx, span);
    }

    /// A handler is about to run.
    fn on_start(&self, ctx: &Ctx) {
        let _ = ctx;
    }

    /// A run has ended, and the store has recorded it.
    fn on_outcome(&self, ctx: &Ctx, outcome: &Outcome) {
        let _ = (ctx, outcome);
    }

    /// The lease of a run no longer holds: its handler was asked to stop, its outcome does not
    /// count.
    fn on_lease_lost(&self, ctx: &Ctx) {
        let _ = ctx;
    }

    /// A handler keeps running after its run was given up. Its slot stays in use until it returns.
    fn on_stuck(&self, ctx: &Ctx) {
        let _ = ctx;
    }

    /// A call of the store has failed; it will be repeated.
    fn on_store_error(&self, error: &Error) {
        let _ = error;
    }
}

/// Calls every set of hooks; one that panics harms neither the others nor the worker.
pub(crate) fn call_hooks(hooks: &[Arc<dyn Hooks>], mut call: impl FnMut(&dyn Hooks)) {
    for hooks in hooks {
        if catch_unwind(AssertUnwindSafe(|| call(&**hooks))).is_err() {
            tracing::error!("a hook panicked");
        }
    }
}
