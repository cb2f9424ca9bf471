//! `/ui/about`: what this server is.

use axum::response::Response;

use crate::ui::failure::Failure;
use crate::ui::view::{About, Fact, FactValue, Facts, Page};
use crate::ui::viewer::Viewer;

/// What other people wrote and pages load.
const VENDORED: [(&str, &str, &str); 2] =
    [("idiomorph", "0.8.0", "0BSD"), ("uPlot", "1.6.32", "MIT")];

pub(super) async fn show(viewer: Viewer) -> Result<Response, Failure> {
    let now = viewer.ui.0.board.now().await;
    let shell = viewer.shell(Page::About, "About", &now);
    let text = |name, value: &str| Fact { name, value: FactValue::Text(value.to_owned()) };
    let items = vec![
        text("Version", &shell.version),
        text("Store", &shell.store),
        text("Environment", shell.environment.as_deref().unwrap_or("not named")),
        text("Your role", viewer.role().word()),
        Fact {
            name: "HTTP API",
            value: FactValue::Link("/docs".to_owned(), format!("{}/docs", viewer.base())),
        },
    ];
    let can = viewer.app().store().capabilities();
    let capabilities = [
        ("extend leases, list workers", can.leases.is_some()),
        ("wake workers", can.wakeups.is_some()),
        ("change queues, cancel, retry, reschedule", can.admin.is_some()),
        ("retention and repair", can.upkeep.is_some()),
        ("facts and findings for doctor", can.inspect.is_some()),
        ("schedules", can.schedules.is_some()),
        ("events", can.outbox.is_some()),
        ("audit log", can.audit.is_some()),
        ("error groups", can.errors.is_some()),
        ("history", can.history.is_some()),
        ("orders to workers", can.control.is_some()),
    ];
    let capabilities = capabilities.map(|(name, can)| (name.to_owned(), can)).into();
    let page = About { shell, facts: Facts { items }, capabilities, vendored: VENDORED.into() };
    viewer.show(&page).await
}
