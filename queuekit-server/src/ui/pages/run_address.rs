//! The beginning of a run, and its address, which says what it does.

use std::sync::Arc;

use axum::response::Response;
use serde::{Deserialize, Serialize};

use crate::grammar::Span;
use crate::ui::failure::Failure;
use crate::ui::redirect::redirect;
use crate::ui::run::{Run, Task};
use crate::ui::run_steps::all_steps;
use crate::ui::viewer::Viewer;
use crate::wire::Time;

/// The longest query of such an address.
const ADDRESS_BYTES: usize = 4096;

/// What a run does, as its address says it. It does nothing by itself: it leads to the page that
/// counts and asks.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) action: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) q: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) over: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) consumer: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) from: String,
}

/// Begins a run, and leads to its page.
pub(super) fn begin(
    viewer: &Viewer,
    task: Task,
    expected: Option<u64>,
) -> Result<Response, Failure> {
    let caller = viewer.caller();
    let run = Run::new(caller.id(), caller.is_bound(), task, expected, viewer.app().now())?;
    let run = viewer.ui.0.runs.begin(run)?;
    tokio::spawn(all_steps(Arc::clone(&run), viewer.clone()));
    Ok(redirect(&url(viewer, &run)))
}

/// The page of a run.
pub(super) fn url(viewer: &Viewer, run: &Run) -> String {
    let told = serde_urlencoded::to_string(Told::of(&run.task)).unwrap_or_default();
    // A filter may be longer than the addresses that proxies and servers accept.
    let told = if told.len() <= ADDRESS_BYTES { format!("?{told}") } else { String::new() };
    format!("{}/ui/runs/{}{told}", viewer.base(), run.id)
}

impl Told {
    pub(super) fn of(task: &Task) -> Self {
        match task {
            Task::Bulk { words, body } => Self {
                action: body.action.to_string(),
                q: words.clone(),
                over: body.over_ms.map_or(String::new(), |over| {
                    Span(std::time::Duration::from_millis(over)).to_string()
                }),
                ..Self::default()
            },
            Task::Replay { consumer, from, .. } => Self {
                consumer: consumer.to_string(),
                from: from.map(|from: Time| from.to_string()).unwrap_or_default(),
                ..Self::default()
            },
        }
    }
}
