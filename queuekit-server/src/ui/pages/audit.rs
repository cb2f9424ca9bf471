//! `/ui/audit`: what operators changed.

use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;

use super::queue_rows::store_time;
use crate::ui::failure::Failure;
use crate::ui::view::{Audit, AuditRow, Count, Mark, Page, Pager, When};
use crate::ui::viewer::Viewer;
use crate::wire::AuditBody;

/// Entries of a page.
const ROWS: usize = 100;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    before: Option<u64>,
}

pub(super) async fn show(viewer: Viewer, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    let before = asked.before.map(|before| format!("&before={before}")).unwrap_or_default();
    let answer = viewer.get(&format!("/v1/audit?limit={ROWS}{before}")).await?;
    let found: AuditBody = answer.read()?;
    let now = viewer.ui.0.board.now().await;
    let (at, base) = (store_time(&viewer, &now), viewer.base());
    let rows: Vec<AuditRow> = found
        .entries
        .into_iter()
        .map(|entry| AuditRow {
            at: When::of(entry.at.0, at),
            url: target_url(base, &entry.target),
            actor: entry.who,
            action: entry.action,
            target: entry.target,
            matched: entry.matched.map(Count::exact),
            changed: entry.changed.map(Count::exact),
            outcome: outcome(entry.outcome),
        })
        .collect();
    let pager = Pager {
        shown: match rows.len() {
            // The list itself says so.
            0 => String::new(),
            1 => "1 entry".to_owned(),
            entries => format!("{entries} entries"),
        },
        examined: None,
        newer: asked.before.map(|_| format!("{base}/ui/audit")),
        older: found.before.map(|before| format!("{base}/ui/audit?before={before}")),
    };
    let page = Audit { shell: viewer.shell(Page::Audit, "Audit log", &now), rows, pager };
    viewer.show(&page).await
}

/// The kinds of problems are words of our own.
fn outcome(outcome: String) -> Mark {
    let failed = ["conflict", "forbidden", "not_found", "invalid", "unavailable", "indeterminate"];
    let is_error = failed.contains(&outcome.as_str());
    Mark::new(if is_error { "error" } else { "ok" }, outcome.replace('_', " "))
}

/// The page of a target, which is written as its type, its name, and what was asked for.
fn target_url(base: &str, target: &str) -> Option<String> {
    let mut words = target.split(' ');
    let (of, name) = (words.next()?, words.next()?);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return None;
    }
    match of {
        "queue" => Some(format!("{base}/ui/queues/{name}")),
        "job" => Some(format!("{base}/ui/jobs/{name}")),
        "schedule" => Some(format!("{base}/ui/schedules/{name}")),
        _ => None,
    }
}
