//! Pages that change while one looks: one task reads for all viewers, and each viewer gets the
//! parts of its page that have changed, as server-sent events.

mod board;
mod extras;
mod fragments;
mod new_events;
mod runs;
mod steady;
mod trend;
mod watched;
mod watched_job;

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use axum::Router;
use axum::extract::Query;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;

use super::failure::Failure;
use super::shared::Ui;
use super::viewer::Viewer;
use steady::Steady;
use watched::Watching;

use crate::web::Scope;
use crate::web::fair_share::SharePermit;
use crate::web::memory_budget::RequestBudget;
use crate::web::off_the_runtime::in_turn_of_streams;
use crate::wire::Time;

pub(super) use board::{Board, Snapshot};
pub(super) use extras::DueSchedule;
pub(super) use new_events::NewEvents;
pub(super) use watched_job::{WatchedJob, may_have_steps};

/// The most bytes of the parts of a page. A part beyond it is left as it is.
const BYTES: usize = 4 * 1024 * 1024;

/// An element of a page by its id.
type Part = (&'static str, String);

pub(super) fn router() -> Router<Ui> {
    Router::new().route("/live", get(stream))
}

#[derive(Deserialize)]
struct Asked {
    /// The page and its query, without the base path.
    page: String,
    /// How far a list went when it was loaded: how many jobs there had been, if the stream was open
    /// before, or the last place of the log of events.
    since: Option<u64>,
}

/// Streams the parts of a page that change: the name of an event is the id of an element, and its
/// data is the element. The event `as-of` tells when they were read.
async fn stream(
    viewer: Viewer,
    Query(asked): Query<Asked>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    viewer.caller().need(Scope::Read)?;
    let place = viewer.app().watch(viewer.caller())?;
    let watch = Watch {
        watching: None,
        list: List { since: asked.since, ..List::default() },
        page: asked.page,
        told: HashMap::new(),
        seen: Weak::new(),
        _memory: None,
        viewer,
        _place: place,
    };
    let batches = stream::unfold(watch, |mut watch| async move {
        let events = watch.next().await?;
        Some((stream::iter(events.into_iter().map(Ok)), watch))
    });
    Ok(Sse::new(batches.flatten()).keep_alive(KeepAlive::default()))
}

/// What the list of a page shows, so that it does not move while it is read.
#[derive(Default)]
struct List {
    /// How many jobs there had been, or the place of the log of events.
    since: Option<u64>,
    /// The first reading may be older than the list.
    has_looked: bool,
    /// Its error groups.
    groups: Steady,
}

/// One viewer of a page.
struct Watch {
    viewer: Viewer,
    page: String,
    /// What the page needs besides figures.
    watching: Option<Watching>,
    list: List,
    /// Hashes of the parts as they were last sent.
    told: HashMap<&'static str, u64>,
    /// What was last looked at. It is not kept: a client that reads slowly would have many kept.
    seen: Weak<Snapshot>,
    /// Memory of the parts that are being sent.
    _memory: Option<RequestBudget>,
    _place: SharePermit,
}

impl Watch {
    /// Has read what the page needs, which may change with the queues that there are.
    fn watch(&mut self, now: &Snapshot) {
        let subject = fragments::subject(&self.viewer, &self.page, now, self.list.since);
        if self.watching.as_ref().map(|watching| &watching.subject) == subject.as_ref() {
            return;
        }
        let board = &self.viewer.ui.0.board;
        self.watching = subject.map(|subject| board.watch(subject, self.viewer.caller()));
    }

    fn parts(&mut self, viewer: &Viewer, now: &Snapshot) -> Vec<Part> {
        let (page, list) = (&self.page, &mut self.list);
        let mut parts = fragments::of(viewer, page, now);
        if let Some(watching) = &self.watching {
            parts.extend(fragments::of_subject(viewer, page, now, watching, list));
        }
        parts.extend(fragments::newer_jobs(viewer, page, now, list));
        parts
    }

    /// The parts that have changed; `None` when the server stops, or the session is over.
    async fn next(&mut self) -> Option<Vec<Event>> {
        // What was sent before has been sent.
        self._memory = None;
        let viewer = self.viewer.clone();
        let (app, board) = (viewer.app(), &viewer.ui.0.board);
        let snapshot = tokio::select! {
            snapshot = board.after(&self.seen) => snapshot,
            () = app.stopping().cancelled() => return None,
            () = viewer.caller().ended() => return None,
            () = viewer.session_ended() => return None,
        };
        let mut budget = app.no_budget(viewer.caller());
        self.seen = Arc::downgrade(&snapshot);
        let read_at = Time(snapshot.read_at);
        let mut events = vec![Event::default().event("as-of").data(format!("{read_at:.3}"))];
        let mut bytes = 0;
        self.watch(&snapshot);
        let parts = in_turn_of_streams(|| self.parts(&viewer, &snapshot)).await;
        for (id, html) in parts {
            let mut hasher = DefaultHasher::new();
            html.hash(&mut hasher);
            let hash = hasher.finish();
            if self.told.get(id) == Some(&hash) {
                continue;
            }
            bytes += html.len();
            // Without memory, the viewer gets them with the next change.
            if bytes > BYTES || budget.grow_to(bytes).is_err() {
                break;
            }
            self.told.insert(id, hash);
            events.push(Event::default().event(id).data(html));
        }
        self._memory = Some(budget);
        Some(events)
    }
}
