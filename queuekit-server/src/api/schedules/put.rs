//! Putting a schedule, within what its key may have.

use std::iter::once;

use queuekit::schedule::Definition;
use queuekit::{ErrorKind, QueueName, QueuePatch, Schedule};

use super::rate;
use crate::api::app::App;
use crate::api::creating::{Creating, creating};
use crate::http::{Caller, Problem};

/// What is stored then, and whether it is new.
///
/// # Errors
/// 409 if the key has as many schedules or queues as it may, or if its schedules enqueue as often;
/// those of the store.
pub(super) async fn put(
    app: App,
    caller: Caller,
    definition: Definition,
    paused: Option<bool>,
) -> Result<(bool, Schedule), Problem> {
    let new = Creating::admit(&app, &caller, once(definition.name())).await?;
    let rate = rate::charge(&app, &caller, &definition).await?;
    let queue = definition.job().queue();
    // It would come to exist with the first occurrence: it exists, and counts, from now on.
    if let Some(new_queue) = Creating::admit(&app, &caller, once(queue)).await? {
        creating(Some(new_queue), create(app.clone(), queue.clone())).await?;
    }
    let putting = async move {
        let (scheduler, name) = (app.client().schedules(), definition.name());
        let put = scheduler.put(&definition).await;
        let is_refused = |error: &queuekit::Error| *error.kind() != ErrorKind::Indeterminate;
        if !put.as_ref().is_err_and(is_refused) {
            rate.keep();
        }
        let is_new = put?;
        match paused {
            Some(true) => scheduler.pause(name).await?,
            Some(false) => scheduler.resume(name).await?,
            None => {}
        }
        let schedule = scheduler.get(name).await?.ok_or_else(|| Problem::not_found("schedule"))?;
        Ok((is_new, schedule))
    };
    creating(new, putting).await
}

async fn create(app: App, queue: QueueName) -> Result<(), Problem> {
    app.admin()?.configure(&queue, &QueuePatch::default()).await?;
    Ok(())
}
