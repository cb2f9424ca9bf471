//! The page that says why another is not shown.

use axum::response::Response;

use crate::ui::failure::Failure;
use crate::ui::view::{Page, Problem};
use crate::ui::viewer::Viewer;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Asked {
    /// It can be asked for again.
    Page,
    /// Nobody knows what it has done, so that nothing sends it again.
    Form,
}

pub(in crate::ui) async fn show(
    viewer: &Viewer,
    asked: Asked,
    failure: &Failure,
) -> Result<Response, Failure> {
    let now = viewer.ui.0.board.now().await;
    let title = failure.title();
    let heals = asked == Asked::Page && failure.is_away();
    let again = heals.then(|| (format!("{}{}", viewer.base(), viewer.path()), "Try again"));
    let overview = (format!("{}/ui", viewer.base()), "Overview");
    let page = Problem {
        shell: viewer.shell(page_of(viewer.path()), title, &now),
        code: failure.status.as_u16(),
        title: title.to_owned(),
        detail: sentence(&failure.detail),
        heals,
        links: again.into_iter().chain([overview]).collect(),
    };
    viewer.show(&page).await
}

/// The page of the navigation to which the address belongs.
fn page_of(path: &str) -> Page {
    let all = Page::GROUPS.into_iter().flatten().copied();
    let below = all.filter(|page| *page != Page::Overview && path.starts_with(page.path()));
    below.max_by_key(|page| page.path().len()).unwrap_or(Page::Overview)
}

/// A detail as a sentence.
fn sentence(detail: &str) -> String {
    let mut letters = detail.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let mut sentence: String = first.chain(letters).collect();
    if !sentence.ends_with(['.', '?', '!']) {
        sentence.push('.');
    }
    sentence
}
