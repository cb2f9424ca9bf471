//! `/ui/palette.json`: the names that the palette finds.

use std::collections::BTreeSet;

use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::queue_rows::queues_of;
use super::workers::seen;
use crate::ui::failure::Failure;
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::web::response_budget::answer;

/// The most names of one sort.
const MOST: usize = 1000;

#[derive(Serialize)]
struct Names {
    queues: Vec<String>,
    /// Those that workers have handlers for.
    kinds: BTreeSet<String>,
    schedules: Vec<String>,
    consumers: Vec<String>,
}

/// The fields of lists that it needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    schedules: Vec<Named>,
    subscriptions: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(alias = "consumer")]
    name: String,
}

pub(super) async fn names(viewer: Viewer) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let now = viewer.ui.0.board.now().await;
    let workers = now.figures.iter().flat_map(|figures| &figures.workers);
    let workers = workers.filter_map(|worker| seen(viewer.caller(), worker));
    let names = Names {
        queues: queues_of(&viewer, &now).map(|it| it.name.to_string()).take(MOST).collect(),
        kinds: workers.flat_map(|worker| worker.kinds).take(MOST).collect(),
        schedules: of(listed(&viewer, "/v1/schedules").await?.schedules),
        consumers: of(listed(&viewer, "/v1/subscriptions").await?.subscriptions),
    };
    Ok(answer(viewer.app().no_budget(viewer.caller()), &names).await?)
}

/// Nothing if the store has none, or if they are not for the key.
async fn listed(viewer: &Viewer, path: &str) -> Result<Listed, Failure> {
    match viewer.get(path).await {
        Ok(answer) => answer.read(),
        Err(failure) if failure.is_lack() => Ok(Listed::default()),
        Err(failure) => Err(failure),
    }
}

fn of(listed: Vec<Named>) -> Vec<String> {
    listed.into_iter().map(|it| it.name).take(MOST).collect()
}
