//! Starts the handler of a run in a task of its own.

use std::sync::Arc;

use super::erased::Erased;
use super::execute::{Holder, Listeners, execute};
use super::middleware::{Middleware, Next};
use crate::run::ctx::Ctx;
use crate::run::run::Run;

pub(crate) fn start(
    run: Arc<Run>,
    handler: &Arc<dyn Erased>,
    middleware: &Arc<[Arc<dyn Middleware>]>,
    listeners: &Arc<Listeners>,
) {
    let ctx = Ctx::new(Arc::clone(&run));
    let holder = Holder::new(run, Arc::clone(listeners));
    if middleware.is_empty() {
        Arc::clone(handler).spawn(holder, ctx);
    } else {
        tokio::spawn(execute(holder, Next::new(middleware, handler).run(ctx)));
    }
}
