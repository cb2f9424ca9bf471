//! The calls of rounds and actions.

use std::time::Duration;

use anyhow::{Result, anyhow};
use axum::http::{Method, StatusCode};
use futures_util::future::join_all;
use queuekit::{Job, QueueName};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use super::act::{Act, BulkAct};
use super::extras::Extra;
use super::model::{Answered, Ask, Event, Failure, Got, Request};
use super::slot::Listed;
use crate::cli::api::{Api, Refused, is_passing};
use crate::cli::exit::Exit;
use crate::cli::output::with_causes;
use crate::cli::subscription;
use crate::wire::{
    ErrorGroupsBody, ErrorGroupsQuery, FindingsBody, HistoryParams, JobQuery, JobsBody, PageQuery,
    ScheduleRunBody, SchedulesBody, SubscriptionsBody, Time, WhyBody,
};

/// Time for a call of a round. One that takes longer is asked again.
const CALL: Duration = Duration::from_secs(10);
/// Most queues and workers.
const MOST: usize = 1000;
/// Most jobs, and most error groups.
const ROWS: usize = 200;
/// Most pages of jobs in a round: pages are short where few of many jobs match.
const PAGES: usize = 3;

/// Makes the calls of a request, and answers what happens to the model. None ends the program.
pub(super) async fn fetch(api: &Api, request: Request) -> Option<Event> {
    Some(match request {
        Request::Round(asks) => {
            let answers = asks.into_iter().map(async |ask| {
                let got = timeout(CALL, answer(api, &ask)).await;
                let got = got.unwrap_or_else(|_| Err(anyhow!("no answer within {CALL:?}")));
                Answered { ask, got: got.map_err(failure) }
            });
            Event::Answered(join_all(answers).await)
        }
        Request::Count(act) => {
            let counted = act.bulk.steps(api, true, |_| ()).await;
            let counted = counted.map(|total| total.matched).map_err(why);
            Event::Counted(act, counted)
        }
        Request::Do(act) => Event::Done(perform(api, act).await.map_err(why)),
        Request::Quit => return None,
    })
}

async fn answer(api: &Api, ask: &Ask) -> Result<Got> {
    Ok(match ask {
        Ask::Queues => {
            #[derive(Deserialize)]
            struct Page {
                queues: Vec<queuekit::queues::Queue>,
                after: Option<String>,
            }
            let page: Page = get(api, &format!("/v1/queues?limit={MOST}")).await?;
            Got::Queues(Listed { items: page.queues, has_more: page.after.is_some() })
        }
        Ask::Workers => {
            let page: crate::wire::WorkersBody =
                get(api, &format!("/v1/workers?limit={MOST}")).await?;
            Got::Workers(Listed { items: page.workers, has_more: page.after.is_some() })
        }
        Ask::Groups { queue } => {
            let query = ErrorGroupsQuery { queue: queue.clone(), limit: Some(ROWS + 1) };
            let body: ErrorGroupsBody = api.find("/v1/errors", &query).await?.read()?;
            Got::Groups(cut(body.groups))
        }
        Ask::History { from } => {
            let query = HistoryParams {
                from: Some(Time(*from)),
                step: Some("1m".to_owned()),
                ..HistoryParams::default()
            };
            Got::History(api.find("/v1/history", &query).await?.read()?)
        }
        Ask::Jobs { filter, .. } => {
            let page = PageQuery { limit: Some(ROWS), ..PageQuery::default() };
            let mut query = JobQuery { filter: (**filter).clone(), page };
            let (mut items, mut has_more) = (Vec::new(), true);
            for _ in 0..PAGES {
                let body: JobsBody<Job> = api.find("/v1/jobs", &query).await?.read()?;
                items.extend(body.jobs);
                has_more = body.cursor.is_some();
                query.page.cursor = body.cursor;
                if !has_more || items.len() >= ROWS {
                    break;
                }
            }
            let listed = cut(items);
            Got::Jobs(Listed { has_more: has_more || listed.has_more, ..listed })
        }
        Ask::Extra(Extra::Consumers) => {
            let body: SubscriptionsBody = get(api, "/v1/subscriptions").await?;
            Got::Consumers(body.subscriptions)
        }
        Ask::Extra(Extra::Schedules) => {
            let body: SchedulesBody = get(api, "/v1/schedules").await?;
            Got::Schedules(body.schedules)
        }
        Ask::Extra(Extra::Findings) => {
            let body: FindingsBody = get(api, "/v1/findings").await?;
            Got::Findings(body.findings.into_iter().map(Into::into).collect())
        }
        Ask::Job(id) => Got::Job(Box::new(get(api, &format!("/v1/jobs/{id}")).await?)),
        Ask::Why(id) => {
            let why: WhyBody = get(api, &format!("/v1/jobs/{id}/why")).await?;
            Got::Why(why.sentence)
        }
    })
}

async fn get<T: DeserializeOwned>(api: &Api, path: &str) -> Result<T> {
    api.get(path).await?.read()
}

/// The first rows, and whether there are more.
fn cut<T>(mut items: Vec<T>) -> Listed<T> {
    let has_more = items.len() > ROWS;
    items.truncate(ROWS);
    Listed { items, has_more }
}

/// Does what was confirmed, and answers how it went in words.
async fn perform(api: &Api, act: Act) -> Result<String> {
    match act {
        Act::Pause(queue) => {
            turn(api, &queue, "pause").await?;
            Ok(format!("queue {queue} is paused"))
        }
        Act::Resume(queue) => {
            turn(api, &queue, "resume").await?;
            Ok(format!("queue {queue} is served"))
        }
        Act::Job(id, verb) => {
            let (method, path, body) = verb.request(id);
            let answer = api.call(method, &path, &body).await?;
            // A job that was deleted answers nothing.
            let outcome = match answer.status {
                StatusCode::NO_CONTENT => "deleted".to_owned(),
                _ => outcome(answer.json().get()),
            };
            Ok(format!("job {id}: {outcome}"))
        }
        Act::Order(worker, order) => {
            api.call(Method::POST, "/v1/workers/control", &order.request(&worker)).await?;
            Ok(format!("the order was given: worker {worker} obeys at its next beat"))
        }
        Act::RunSchedule(name) => {
            let path = format!("/v1/schedules/{name}/run");
            let run: ScheduleRunBody = api.act(Method::POST, &path).await?.read()?;
            Ok(format!("schedule {name} has enqueued job {}", run.id))
        }
        Act::EnableConsumer(name) => {
            subscription::turn(api, &name, true).await?;
            Ok(format!("consumer {name} is enabled"))
        }
        Act::Bulk(BulkAct { bulk, target }) => {
            let total = bulk.steps(api, false, |_| ()).await?;
            Ok(format!("{target}: {}", total.told(bulk.action.name())))
        }
    }
}

/// Pauses or resumes a queue that exists: it may have been removed in the meantime.
async fn turn(api: &Api, queue: &QueueName, action: &str) -> Result<()> {
    let path = format!("/v1/queues/{queue}");
    api.get(&path).await?;
    api.call(Method::POST, &format!("{path}/{action}"), &json!({})).await?;
    Ok(())
}

/// `retried`, `asked to stop`
fn outcome(json: &str) -> String {
    let body: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    match body["outcome"].as_str() {
        Some("requested") => "asked to stop".to_owned(),
        Some(outcome) => outcome.replace('_', " "),
        None => "done".to_owned(),
    }
}

/// What other callers may cause later to succeed is away; anything else is refused.
fn failure(error: anyhow::Error) -> Failure {
    let is_refused = error.downcast_ref::<Refused>().is_some_and(|_| !is_passing(&error));
    let text = why(error);
    if is_refused { Failure::Refused(text) } else { Failure::Away(text) }
}

fn why(error: anyhow::Error) -> String {
    match Exit::of(&error) {
        // The cause may repeat the input.
        Exit::Usage => error.to_string(),
        _ => with_causes(error.as_ref()),
    }
}
