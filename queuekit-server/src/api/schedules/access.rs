//! Which schedules a caller may see and change.

use queuekit::schedules::{Definition, Schedule, ScheduleEntry, ScheduleName, Scheduler};

use crate::api::answer_memory::BUDGET_BYTES;
use crate::api::app::App;
use crate::web::memory_budget::RequestBudget;
use crate::web::{Caller, Problem, Scope};

/// The schedule of this name. Its job may be large, so the memory of the request grows first.
///
/// # Errors
/// 403 without the scope; 404 if it does not exist, or if the caller may not see it; 429 or 503 if
/// there is no memory for a while.
pub(super) async fn found(
    app: &App,
    caller: &Caller,
    scope: Scope,
    name: &ScheduleName,
    budget: &mut RequestBudget,
) -> Result<Schedule, Problem> {
    caller.need(scope)?;
    budget.wait_for(BUDGET_BYTES).await?;
    let schedule = app.client().schedules().get(name).await?.filter(seen_by(caller));
    schedule.ok_or_else(|| Problem::not_found("schedule"))
}

/// The schedules for changes by this caller. The store is not told who may change what, so the very
/// row that a change replaces is checked: another server may have stored it just now.
pub(super) fn scheduler<'a>(
    app: &'a App,
    caller: &Caller,
    may_change: &'a (dyn Fn(&Schedule) -> bool + Send + Sync + 'a),
) -> Scheduler<'a> {
    let scheduler = app.client().schedules();
    if caller.is_bound() { scheduler.changing_only(may_change) } else { scheduler }
}

pub(super) fn seen_by(caller: &Caller) -> impl Fn(&Schedule) -> bool + Send + Sync {
    |schedule| target(caller, &schedule.definition).is_ok()
}

/// Checks the key against the schedule of this name, if there is one: the answer to a change that
/// is refused.
pub(super) async fn need_own(
    app: &App,
    caller: &Caller,
    name: &ScheduleName,
) -> Result<(), Problem> {
    if caller.is_bound()
        && let Some(old) = app.client().schedules().get(name).await?
    {
        // Do not reveal whose it is.
        target(caller, &old.definition)
            .map_err(|_| Problem::forbidden("a schedule that the key is not for has this name"))?;
    }
    Ok(())
}

/// Checks the key against the queue and kind of the schedule's job.
pub(super) fn target(caller: &Caller, definition: &Definition) -> Result<(), Problem> {
    caller.need_queue(definition.job().queue().as_str())?;
    caller.need_kind(definition.job().kind().as_str())
}

pub(super) fn sees(caller: &Caller, entry: &ScheduleEntry) -> bool {
    match &entry.schedule {
        Ok(schedule) => target(caller, &schedule.definition).is_ok(),
        Err(_) => !caller.is_bound(),
    }
}
