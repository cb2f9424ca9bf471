//! `/ui/doctor`: what is wrong with the store.

use axum::response::Response;
use queuekit::store::BackendExt;
use queuekit::store::capability::{Durability, Severity};

use crate::production::listed;
use crate::ui::failure::Failure;
use crate::ui::view::{Doctor, Finding, Mark, Page, Wanted, Words};
use crate::ui::viewer::Viewer;

pub(super) async fn show(viewer: Viewer) -> Result<Response, Failure> {
    viewer.caller().need_whole_store()?;
    let now = viewer.ui.0.board.now().await;
    let (mut facts, mut findings) = (Vec::new(), Vec::new());
    if let Some(inspect) = viewer.app().store().capabilities().inspect {
        if let Err(error) = inspect.check_writes().await {
            let fix = "Fix the cause, then look again.";
            findings.push(finding("error", &error.to_string(), fix));
        }
        let survives = match inspect.durability().await? {
            Durability::Nothing => "nothing: jobs are lost when the process ends",
            Durability::ProcessKill => "the end of the store's process, but no power failure",
            Durability::PowerLoss => "a power failure",
        };
        facts.push(("a stored job survives".to_owned(), Words::of(survives)));
        for fact in inspect.facts().await? {
            facts.push((fact.name.to_owned(), Words::of(&fact.value)));
        }
    }
    for found in viewer.app().store().all_findings().await? {
        let shape = match found.severity {
            Severity::Note => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        findings.push(finding(shape, &found.message, &found.remedy));
    }
    let page = Doctor {
        shell: viewer.shell(Page::Doctor, "Doctor", &now),
        is_healthy: findings.iter().all(|found| found.mark.shape != "error"),
        facts,
        findings,
        checklist: listed().map(|(name, what, setting)| Wanted::of(name, what, setting)).collect(),
        cli: "queuekit doctor --production".to_owned(),
    };
    viewer.show(&page).await
}

fn finding(shape: &'static str, message: &str, remedy: &str) -> Finding {
    Finding::of(Mark::new(shape, shape), message, remedy)
}
