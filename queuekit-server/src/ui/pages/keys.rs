//! `/ui/keys`: the API keys of the server.

use axum::response::Response;
use serde::Deserialize;

use crate::ui::failure::Failure;
use crate::ui::view::{Count, KeyRow, KeysPage, Page, When};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::Time;

#[derive(Deserialize)]
struct All {
    keys: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    id: String,
    scopes: Vec<Scope>,
    queues: Vec<String>,
    kinds: Vec<String>,
    per_second: Option<u64>,
    expires: Option<Time>,
    last_used: Option<Time>,
}

pub(super) async fn show(viewer: Viewer) -> Result<Response, Failure> {
    let answer = viewer.get("/v1/keys").await?;
    let found: All = answer.read()?;
    let now = viewer.ui.0.board.now().await;
    let at = viewer.app().now();
    let row = |key: One| KeyRow {
        is_yours: viewer.caller().key() == Some(key.id.as_str()),
        id: key.id,
        scopes: key.scopes.into_iter().map(Scope::word).collect(),
        queues: key.queues,
        kinds: key.kinds,
        per_second: key.per_second.map(Count::exact),
        is_expired: key.expires.is_some_and(|end| end.0 <= at),
        expires: key.expires.map(|end| When::of(end.0, at)),
        last_used: key.last_used.map(|used| When::of(used.0, at)),
    };
    let page = KeysPage {
        shell: viewer.shell(Page::Keys, "Keys", &now),
        rows: found.keys.into_iter().map(row).collect(),
    };
    viewer.show(&page).await
}
