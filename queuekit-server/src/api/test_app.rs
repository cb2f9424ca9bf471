//! What unit tests of routes begin with: an [`App`], and a store whose calls are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use queuekit::Client;
use queuekit::store::Backend;
use queuekit_conformance::{Layer, Wrapped};
use tokio_util::sync::CancellationToken;

use super::answer_memory::BUDGET_BYTES;
use super::app::App;
use crate::config::{HttpFlags, Sources};
use crate::web::limits::LiveLimits;
use crate::web::memory_budget::RequestBudget;
use crate::web::{Caller, HttpLimits};

/// With the default settings.
pub(crate) fn app_of(client: Client) -> App {
    app_with(client, |_| {})
}

/// With other limits.
pub(crate) fn app_with(client: Client, change: impl FnOnce(&mut HttpLimits)) -> App {
    let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
    change(&mut options.limits);
    let limits = LiveLimits::new(&options.limits);
    App::new(client, options.keys, limits, CancellationToken::new())
}

/// Over a store of which this operation is counted.
pub(crate) fn app_counting(
    operation: &'static str,
    store: &Arc<dyn Backend>,
) -> (App, Arc<AtomicUsize>) {
    let (client, calls) = counted(Some(operation), store);
    (app_of(client), calls)
}

/// Over a store of which all operations are counted.
pub(crate) fn client_counting(store: &Arc<dyn Backend>) -> (Client, Arc<AtomicUsize>) {
    counted(None, store)
}

fn counted(only: Option<&'static str>, store: &Arc<dyn Backend>) -> (Client, Arc<AtomicUsize>) {
    let calls = Arc::<AtomicUsize>::default();
    let counted = Counted { inner: Arc::clone(store), only, calls: Arc::clone(&calls) };
    (Client::new(Wrapped(counted)), calls)
}

/// The memory for answers that the key has left.
pub(crate) async fn memory_left(app: &App, caller: &Caller) -> Vec<RequestBudget> {
    let mut all = Vec::new();
    loop {
        let mut budget = app.no_budget(caller);
        if budget.take_for_answer(BUDGET_BYTES).await.is_err() {
            return all;
        }
        all.push(budget);
    }
}

#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Backend>,
    /// None: every operation counts.
    only: Option<&'static str>,
    calls: Arc<AtomicUsize>,
}

impl Layer for Counted {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    fn called(&self, operation: &'static str) {
        if self.only.is_none_or(|only| only == operation) {
            self.calls.fetch_add(1, Ordering::SeqCst);
        }
    }
}
