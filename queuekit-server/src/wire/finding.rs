//! What is wrong with a store and how it is used, in answers.

use queuekit::store::capability::{Cause, Finding, Severity};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is wrong with the store and how it is used.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Findings)]
pub(crate) struct FindingsBody {
    pub(crate) findings: Vec<FindingBody>,
}

/// One problem.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Finding)]
pub(crate) struct FindingBody {
    severity: SeverityBody,
    cause: CauseBody,
    /// What is wrong.
    message: String,
    /// What to do about it.
    remedy: String,
}

/// How bad a finding is. `note`: worth knowing. `warning`: should be changed. `error`: jobs are at
/// risk.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Severity)]
enum SeverityBody {
    Note,
    Warning,
    Error,
}

/// Where a finding comes from. `setup`: how the store is set up. `operation`: what happens to the
/// store now, so that the finding comes and goes.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = FindingCause)]
enum CauseBody {
    Setup,
    Operation,
}

impl From<Finding> for FindingBody {
    fn from(finding: Finding) -> Self {
        let Finding { severity, cause, message, remedy } = finding;
        let severity = match severity {
            Severity::Note => SeverityBody::Note,
            Severity::Warning => SeverityBody::Warning,
            Severity::Error => SeverityBody::Error,
        };
        let cause = match cause {
            Cause::Setup => CauseBody::Setup,
            Cause::Operation => CauseBody::Operation,
        };
        Self { severity, cause, message, remedy }
    }
}

impl From<FindingBody> for Finding {
    fn from(body: FindingBody) -> Self {
        let FindingBody { severity, cause, message, remedy } = body;
        let severity = match severity {
            SeverityBody::Note => Severity::Note,
            SeverityBody::Warning => Severity::Warning,
            SeverityBody::Error => Severity::Error,
        };
        let cause = match cause {
            CauseBody::Setup => Cause::Setup,
            CauseBody::Operation => Cause::Operation,
        };
        Self { severity, cause, message, remedy }
    }
}
