//! Error groups: what fails, and how often (contract R8.4).

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::error_groups::{ErrorGroup, GroupId};
use queuekit::jobs::PageSize;
use queuekit::queues::{Queue, QueuePatch, QueueSettings};
use queuekit::store::limits::{ERROR_GROUPS, PAGE_JOBS};

use super::app::App;
use super::audit::{audited, json};
use super::params::{Named, Params};
use super::queues::admit;
use crate::web::lookups::read_line;
use crate::web::memory_budget::RequestBudget;
use crate::web::{AdminScope, Allowed, Caller, Json, Problem, Scope, response_budget};
use crate::wire::{
    ErrorGroupBody, ErrorGroupQuery, ErrorGroupsBody, ErrorGroupsQuery, MERGED_QUEUES, NewNoteBody,
    NoteQuery,
};

/// All groups of this many queues fit into one answer of the store.
const WHOLE: usize = PAGE_JOBS / ERROR_GROUPS;
/// Into how many parts queues are split whose groups do not: if 100 queues are full of groups, the
/// store is asked 61 times.
const SPLIT: usize = 10;

/// Lists error groups, the most recent first.
#[utoipa::path(
    get, path = "/v1/errors", tag = "errors", security(("key" = [])), params(ErrorGroupsQuery),
    responses((status = 200, description = "The groups.", body = ErrorGroupsBody))
)]
pub(super) async fn list_errors(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<ErrorGroupsQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let limit = query.limit.map(PageSize::new).transpose()?.unwrap_or_default();
    let groups = Wanted { queue: query.queue, id: None, limit }.groups(&app, &caller).await?;
    groups.answer().await
}

/// Gets an error group: one for each queue that has it.
#[utoipa::path(
    get, path = "/v1/errors/{id}", tag = "errors", security(("key" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$"), ErrorGroupQuery),
    responses(
        (status = 200, description = "The groups.", body = ErrorGroupsBody),
        (status = 404, description = "No queue has this group, or none any more."),
    )
)]
pub(super) async fn get_error(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named<GroupId>,
    Params(query): Params<ErrorGroupQuery>,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    let wanted = Wanted { queue: query.queue, id: Some(id), limit: PageSize::MAX };
    let groups = wanted.groups(&app, &caller).await?;
    if groups.groups.is_empty() {
        return Err(Problem::not_found("error group"));
    }
    groups.answer().await
}

/// Writes a note on an error group of a queue, in place of an earlier one.
#[utoipa::path(
    put, path = "/v1/errors/{id}/note", tag = "errors", security(("key" = [])),
    params(("id" = String, Path, pattern = "^[0-9a-f]{16}$"), NoteQuery),
    request_body(content = NewNoteBody, content_type = "application/json"),
    responses(
        (status = 204, description = "The note is written, or removed."),
        (status = 404, description = "The queue does not have this group, or not any more."),
    )
)]
pub(super) async fn put_note(
    State(app): State<App>,
    caller: Caller,
    _: Allowed<AdminScope>,
    Named(id): Named<GroupId>,
    Params(NoteQuery { queue }): Params<NoteQuery>,
    Json(note, ..): Json<AdminScope, NewNoteBody>,
) -> Result<StatusCode, Problem> {
    let name = QueueName::new(queue)?;
    // A queue keeps few notes: a key for one kind could push out those on other kinds.
    admit(&caller, &name)?;
    let patch = QueuePatch::default().note(id, note.text.as_str(), caller.who());
    patch.check()?;
    let wanted = Wanted { queue: Some(name.to_string()), id: Some(id), limit: PageSize::MAX };
    if wanted.groups(&app, &caller).await?.groups.is_empty() {
        return Err(Problem::not_found("error group"));
    }
    let target = format!("error group {id} of queue {name} {}", json(&note));
    let here = app.clone();
    let writing = async move {
        here.admin()?.configure(&name, &patch).await?;
        Ok(StatusCode::NO_CONTENT)
    };
    audited(&app, &caller, "note", target, writing).await
}

/// Which groups.
struct Wanted {
    queue: Option<String>,
    id: Option<GroupId>,
    limit: PageSize,
}

/// Groups, the settings of their queues, which have the notes, and the memory for the groups.
struct Groups {
    groups: Vec<ErrorGroup>,
    settings: BTreeMap<QueueName, QueueSettings>,
    budget: RequestBudget,
}

impl Wanted {
    /// Those of the groups that the caller may see.
    async fn groups(self, app: &App, caller: &Caller) -> Result<Groups, Problem> {
        let queue = self.queue.map(QueueName::new).transpose()?;
        if let Some(queue) = &queue {
            caller.need_queue(queue.as_str())?;
        }
        // A key has one such call at a time, which may ask the store often.
        let line = read_line(caller).await?;
        let budget = app.budget(caller).await?;
        let settings = match queue {
            Some(queue) => {
                let _turn = line.turn().await?;
                settings_of(app.store().find_queues(&[queue]).await?.iter())
            }
            None => all_queues(app, caller).await?,
        };
        let queues = settings.keys().cloned().collect();
        let is_wanted = |group: &ErrorGroup| {
            self.id.is_none_or(|id| group.key.id() == id)
                && caller.sees_kind(group.key.kind.as_str())
        };
        // The store knows no such condition, so it is asked for as many groups as it may answer.
        let picks = self.id.is_some() || caller.is_bound_to_kinds();
        let most = if picks { PageSize::MAX } else { self.limit };
        let groups = latest(app, caller, queues, most, self.limit.get(), is_wanted).await?;
        Ok(Groups { groups, settings, budget })
    }
}

/// The latest groups of these queues that are wanted. An answer of the store with `most` groups may
/// lack older ones: if it has too few that are wanted, the store is asked again, for fewer queues
/// at once. Each time after the first counts towards the key's `per_second`.
async fn latest(
    app: &App,
    caller: &Caller,
    queues: Vec<QueueName>,
    most: PageSize,
    limit: usize,
    is_wanted: impl Fn(&ErrorGroup) -> bool,
) -> Result<Vec<ErrorGroup>, Problem> {
    let errors = app.store().capabilities().errors;
    let errors = errors.ok_or_else(|| Problem::unsupported("error groups"))?;
    let (mut groups, mut to_read) = (Vec::new(), vec![queues]);
    while let Some(queues) = to_read.pop() {
        let of_queues = errors.list_error_groups(&queues, most).await?;
        let may_lack = of_queues.len() >= most.get() && queues.len() > WHOLE;
        let wanted: Vec<_> = of_queues.into_iter().filter(&is_wanted).collect();
        if may_lack && wanted.len() < limit {
            let fewer = queues.len().div_ceil(SPLIT).max(WHOLE);
            let parts = queues.chunks(fewer).map(<[QueueName]>::to_vec);
            caller.owe(parts.len());
            to_read.extend(parts);
            continue;
        }
        groups.extend(wanted);
        ErrorGroup::keep_latest(&mut groups, limit);
    }
    Ok(groups)
}

impl Groups {
    async fn answer(self) -> Result<Response, Problem> {
        let body = |group| ErrorGroupBody::of(group, self.settings.get(&group.queue));
        let groups = self.groups.iter().map(body).collect();
        let body = ErrorGroupsBody { groups };
        response_budget::answer(self.budget, &body).await
    }
}

/// The queues that the caller may see, with their settings; those may be some moments old.
///
/// # Errors
/// 422 if they are too many for one answer.
async fn all_queues(
    app: &App,
    caller: &Caller,
) -> Result<BTreeMap<QueueName, QueueSettings>, Problem> {
    let figures = app.figures().await?;
    let seen = || figures.queues.iter().filter(|queue| caller.sees_queue(queue.name.as_str()));
    let queues = seen().count();
    if queues > MERGED_QUEUES {
        let detail = format!("there are {queues} queues, more than {MERGED_QUEUES}: name one");
        return Err(Problem::invalid("queue", detail));
    }
    Ok(settings_of(seen()))
}

fn settings_of<'a>(queues: impl Iterator<Item = &'a Queue>) -> BTreeMap<QueueName, QueueSettings> {
    queues.map(|queue| (queue.name.clone(), queue.settings.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use queuekit::JobDraft;
    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, BackendExt, DeadLetter};

    use super::*;
    use crate::api::test_app::app_counting;
    use crate::web::auth::tests::{caller_for_kind, caller_of};

    async fn dies(store: &Arc<dyn Backend>, queue: usize, kind: &str) {
        let job = JobDraft::new(kind, "").queue(format!("q{queue:02}")).build().unwrap();
        let id = store.enqueue_one(job).await.unwrap();
        store.dead_letter_one(DeadLetter::of_job(id, "gone")).await.unwrap();
    }

    #[tokio::test]
    async fn s6_a_key_for_few_kinds_has_the_store_asked_few_times_for_their_errors() {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let (app, reads) = app_counting("list_error_groups", &inner);
        let caller = caller_for_kind("rare", Scope::Read);
        let queues =
            || (0..MERGED_QUEUES).map(|queue| QueueName::new(format!("q{queue:02}")).unwrap());
        let is_seen = |group: &ErrorGroup| caller.sees_kind(group.key.kind.as_str());
        // The least recent, of the last queue: last of all groups.
        dies(&inner, MERGED_QUEUES - 1, "rare").await;
        for (kinds, most) in [(0..1, 1), (1..11, 11)] {
            for kind in kinds {
                for queue in 0..MERGED_QUEUES {
                    dies(&inner, queue, &format!("k{kind}")).await;
                }
            }
            let found = latest(&app, &caller, queues().collect(), PageSize::MAX, 100, is_seen);
            let found = found.await.unwrap_or_else(|problem| panic!("{}", problem.kind()));
            let of: Vec<&str> = found.iter().map(|group| group.queue.as_str()).collect();
            assert_eq!(of, ["q99"]);
            assert_eq!(reads.swap(0, Ordering::Relaxed), most, "reads of the store");
            assert_eq!(caller.spend(1).is_err(), most > 1, "each read after the first counts");
        }
        // A group that no queue has costs the most, and any key may ask for it.
        let caller = caller_of("any", 5);
        let wanted =
            Wanted { queue: None, id: Some("0".repeat(16).parse().unwrap()), limit: PageSize::MAX };
        let found = wanted.groups(&app, &caller).await;
        assert!(found.unwrap_or_else(|problem| panic!("{}", problem.kind())).groups.is_empty());
        assert_eq!(reads.load(Ordering::Relaxed), 11);
        assert!(caller.spend(1).is_err(), "each read after the first counts");
    }
}
