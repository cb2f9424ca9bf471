//! Error groups: what fails, and how often (contract R8.4).

use axum::extract::State;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::jobs::{ErrorGroup, GroupId, PageSize};
use queuekit::store::limits::PAGE_JOBS;
use serde::Deserialize;
use utoipa::IntoParams;

use super::app::App;
use super::params::{Named, Params};
use crate::web::memory_budget::RequestBudget;
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{ErrorGroupBody, ErrorGroupsBody};

/// The most queues whose groups are read for one answer.
const QUEUES: usize = 100;

/// Which groups.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ErrorsQuery {
    /// Only groups of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    queue: Option<String>,
    /// Most groups.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
}

/// Of which queue.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ErrorQuery {
    /// Only the group of this queue.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    queue: Option<String>,
}

/// Lists error groups, the most recent first.
#[utoipa::path(
    get, path = "/v1/errors", tag = "errors", security(("key" = [])), params(ErrorsQuery),
    responses((status = 200, description = "The groups.", body = ErrorGroupsBody))
)]
pub(super) async fn list_errors(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<ErrorsQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let limit = query.limit.map(PageSize::new).transpose()?.unwrap_or_default();
    let groups = Wanted { queue: query.queue, id: None, limit }.groups(&app, &caller).await?;
    groups.answer().await
}

/// Gets an error group: one for each queue that has it.
#[utoipa::path(
    get, path = "/v1/errors/{id}", tag = "errors", security(("key" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$"), ErrorQuery),
    responses(
        (status = 200, description = "The groups.", body = ErrorGroupsBody),
        (status = 404, description = "No queue has this group, or none any more."),
    )
)]
pub(super) async fn get_error(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<GroupId>,
    Params(query): Params<ErrorQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let wanted = Wanted { queue: query.queue, id: Some(id), limit: PageSize::new(PAGE_JOBS)? };
    let groups = wanted.groups(&app, &caller).await?;
    if groups.groups.is_empty() {
        return Err(Problem::not_found("error group"));
    }
    groups.answer().await
}

/// Which groups.
struct Wanted {
    queue: Option<String>,
    id: Option<GroupId>,
    limit: PageSize,
}

/// Groups, and the memory for them.
struct Groups {
    groups: Vec<ErrorGroup>,
    budget: RequestBudget,
}

impl Wanted {
    /// Those of the groups that the caller may see.
    async fn groups(self, app: &App, caller: &Caller) -> Result<Groups, Problem> {
        let queues = match self.queue.map(QueueName::new).transpose()? {
            Some(queue) => {
                caller.need_queue(queue.as_str())?;
                vec![queue]
            }
            None => all_queues(app, caller).await?,
        };
        let budget = app.budget(caller).await?;
        let errors = app.store().capabilities().errors;
        let errors = errors.ok_or_else(|| Problem::unsupported("error groups"))?;
        let is_wanted = |group: &ErrorGroup| {
            self.id.is_none_or(|id| group.key.id() == id)
                && caller.sees_kind(group.key.kind.as_str())
        };
        // The store knows no such condition, so it is asked for all groups, queue by queue.
        let picks = self.id.is_some() || caller.is_bound_to_kinds();
        let (at_once, most) = match picks {
            true => (1, PageSize::new(PAGE_JOBS)?),
            false => (QUEUES, self.limit),
        };
        let mut groups = Vec::new();
        for queues in queues.chunks(at_once) {
            let of_queues = errors.list_error_groups(queues, most).await?;
            groups.extend(of_queues.into_iter().filter(is_wanted));
            ErrorGroup::keep_latest(&mut groups, self.limit.get());
        }
        Ok(Groups { groups, budget })
    }
}

impl Groups {
    async fn answer(self) -> Result<Response, Problem> {
        let groups = self.groups.iter().map(ErrorGroupBody::of).collect();
        let body = ErrorGroupsBody { groups };
        response_budget::answer(self.budget, &body).await
    }
}

/// The queues that the caller may see.
///
/// # Errors
/// 422 if they are too many for one answer.
async fn all_queues(app: &App, caller: &Caller) -> Result<Vec<QueueName>, Problem> {
    let figures = app.figures().await?;
    let seen = figures.queues.iter().filter(|queue| caller.sees_queue(queue.name.as_str()));
    let queues: Vec<QueueName> = seen.map(|queue| queue.name.clone()).collect();
    if queues.len() > QUEUES {
        let detail = format!("there are {} queues, more than {QUEUES}: name one", queues.len());
        return Err(Problem::invalid("queue", detail));
    }
    Ok(queues)
}
