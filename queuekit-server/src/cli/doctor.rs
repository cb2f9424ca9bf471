//! `queuekit doctor`

use std::fmt;

use anyhow::Result;
use clap::Args;
use queuekit::capability::{Durability, Finding, Severity};
use queuekit::{Backend, ErrorKind, Queue, Status};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;
use super::migrate;

/// A queue that has lost more points than this is worth a warning.
const HEALTH_WANTED: u8 = 80;

/// Look for what is wrong with the store, and say what to do
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {}

const EXAMPLES: &str = "\
Examples:
  queuekit doctor --url postgres://localhost/jobs
  queuekit doctor --json | jq .findings

It changes nothing. Findings are notes, warnings or errors; errors put jobs at risk, and make the
exit code 4.";

/// What was found.
#[derive(Default, Serialize)]
struct Report {
    store: String,
    healthy: bool,
    schema: Option<Schema>,
    durability: Option<&'static str>,
    facts: Vec<Fact>,
    findings: Vec<Found>,
}

#[derive(Serialize)]
struct Schema {
    stored: u32,
    wanted: u32,
}

#[derive(Serialize)]
struct Fact {
    name: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Found {
    severity: &'static str,
    message: String,
    remedy: String,
}

impl Doctor {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let address = context.address();
        let mut report = Report { store: address.to_string(), ..Report::default() };
        match queuekit::connect_unchecked(address.only_looking().to_open()?).await {
            Ok(client) => {
                let examined = report.examine(&**client.backend()).await;
                let closed = client.close().await;
                if let Err(error) = examined.and(closed) {
                    report.failed(&error);
                }
            }
            // What is wrong is the command, not the store.
            Err(error) if matches!(error.kind(), ErrorKind::Invalid { .. }) => {
                return Err(error.into());
            }
            Err(error) => report.failed(&error),
        }
        report.healthy = report.findings.iter().all(|found| found.severity != ERROR);
        context.output.answer(&report, &report)?;
        Ok(if report.healthy { Exit::Success } else { Exit::Unhealthy })
    }
}

const ERROR: &str = severity(Severity::Error);

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

impl Report {
    /// Asks the store; what of its schema is not of this build cannot be asked further.
    async fn examine(&mut self, store: &dyn Backend) -> queuekit::Result<()> {
        let can = store.capabilities();
        if let Some(migrations) = can.migrations {
            let status = migrations.status().await?;
            self.schema = Some(Schema { stored: status.stored, wanted: status.wanted });
            if let Some(remedy) = migrate::remedy(status) {
                let message = format!(
                    "the schema is version {}, this program needs {}",
                    status.stored, status.wanted
                );
                self.find(Severity::Error, message, remedy);
                return Ok(());
            }
        }
        if let Some(inspect) = can.inspect {
            self.durability = Some(match inspect.durability().await? {
                Durability::Nothing => "nothing",
                Durability::ProcessKill => "process_kill",
                Durability::PowerLoss => "power_loss",
            });
            let facts = inspect.facts().await?.into_iter();
            self.facts = facts.map(|fact| Fact { name: fact.name, value: fact.value }).collect();
            for Finding { severity, message, remedy } in inspect.findings().await? {
                self.find(severity, message, remedy);
            }
        }
        store.list_queues().await?.iter().for_each(|queue| self.examine_queue(queue));
        Ok(())
    }

    fn examine_queue(&mut self, queue: &Queue) {
        let name = &queue.name;
        let ready = queue.counts.get(Status::Ready).value;
        if ready > 0 && queue.workers == 0 && !queue.settings.paused {
            let message = format!("queue {name}: no worker serves it; ready jobs: {ready}");
            self.find(
                Severity::Warning,
                message,
                format!("start one: queuekit work --queues {name}"),
            );
        }
        if queue.corrupt > 0 {
            let message = format!("queue {name}: {} records could not be read", queue.corrupt);
            let remedy = "look at its dead jobs of the reason `corrupt`, and at the disk";
            self.find(Severity::Warning, message, remedy);
        }
        if queue.health.score < HEALTH_WANTED {
            let why = queue.health.reasons.join("; ");
            let message = format!("queue {name}: health {} of 100: {why}", queue.health.score);
            let remedy = "start more workers if jobs wait; if they die, read their errors: \
                          GET /v1/jobs?status=dead";
            self.find(Severity::Warning, message, remedy);
        }
    }

    fn failed(&mut self, error: &queuekit::Error) {
        let remedy = "see to what it names, then ask again";
        self.find(Severity::Error, error.to_string(), remedy);
    }

    fn find(&mut self, found: Severity, message: impl Into<String>, remedy: impl Into<String>) {
        let (message, remedy) = (message.into(), remedy.into());
        self.findings.push(Found { severity: severity(found), message, remedy });
    }
}

/// For people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![("store", self.store.clone())];
        if let Some(Schema { stored, wanted }) = self.schema {
            rows.push(("schema", format!("version {stored} of {wanted}")));
        }
        if let Some(durability) = self.durability {
            rows.push(("an Ok survives", durability.replace('_', " ")));
        }
        rows.extend(self.facts.iter().map(|fact| (fact.name, fact.value.clone())));
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in rows {
            writeln!(f, "{name:width$}  {value}")?;
        }
        for Found { severity, message, remedy } in &self.findings {
            writeln!(f, "\n{severity}: {message}\n  -> {remedy}")?;
        }
        let verdict = if self.healthy { "healthy" } else { "not healthy: jobs are at risk" };
        write!(f, "\n{verdict}")
    }
}
