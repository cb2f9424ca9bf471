//! `queuekit doctor`

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::jobs::JobFilter;
use queuekit::queues::Queue;
use queuekit::store::capability::{
    Durability, Finding, ScheduleQuery, SchemaStatus, Severity, undecodable_kinds,
};
use queuekit::store::{Backend, BackendExt, Clock, SystemClock};
use queuekit::{ErrorKind, Status, Timestamp};
use serde::Serialize;

use super::bulk::jobs;
use super::context::Context;
use super::exit::Exit;
use super::format::{on_a_line, span, survived};
use super::migrate;
use super::output::with_causes;
use crate::config::{StoreAddress, file_permissions};
use crate::production::Checklist;

/// A lower health score of a queue is worth a warning.
const HEALTH_WANTED: u8 = 80;

/// Check the store for problems, and explain how to fix them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Also check each item of the production checklist
    #[arg(long)]
    production: bool,
}

const EXAMPLES: &str = "\
Examples:
  queuekit doctor --url postgres://localhost/jobs
  queuekit doctor --json | jq .findings
  queuekit doctor --production                        the checklist of docs/hardening.md

It changes nothing. Findings are notes, warnings or errors. An error puts jobs at risk, and sets the
exit code to 4.";

/// A larger difference of clocks is worth a warning.
const CLOCKS_APART: Duration = Duration::from_secs(2);
const LATELY: Duration = Duration::from_secs(3600);

/// What was found.
#[derive(Default, Serialize)]
struct Report {
    /// Version of this program.
    version: &'static str,
    store: String,
    healthy: bool,
    schema: Option<Schema>,
    durability: Option<&'static str>,
    /// The same in words.
    #[serde(skip)]
    survived: Option<&'static str>,
    facts: Vec<Fact>,
    findings: Vec<Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    production: Option<Checklist>,
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
        let url = address.to_open().unwrap_or_default();
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            store: address.to_string(),
            ..Report::default()
        };
        match queuekit::connect_unchecked(address.only_looking().to_open()?).await {
            Ok(client) => {
                let examined = report.examine(&**client.backend()).await;
                if self.production {
                    let store = Some(&**client.backend());
                    report.production = Some(Checklist::look(&context.sources, url, store).await);
                }
                let closed = client.close().await;
                if let Err(error) = examined.and(closed) {
                    report.failed(&error);
                }
                report.refusal(&address).await?;
            }
            // The command is wrong, not the store.
            Err(error) if matches!(error.kind(), ErrorKind::Invalid { .. }) => {
                return Err(error.into());
            }
            Err(error) => report.failed(&error),
        }
        for file in file_permissions::exposed(&context.sources) {
            let message = format!("{}: {}", file.display(), file_permissions::FOUND);
            report.find(Severity::Warning, message, file_permissions::REMEDY);
        }
        // Most items need no store, so they are checked even if it does not open.
        if self.production && report.production.is_none() {
            report.production = Some(Checklist::look(&context.sources, url, None).await);
        }
        report.healthy = report.is_healthy();
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
    /// Checks the store; a schema of another version cannot be read further.
    async fn examine(&mut self, store: &dyn Backend) -> queuekit::Result<()> {
        let can = store.capabilities();
        if let Some(migrations) = can.migrations {
            let status = migrations.status().await?;
            self.schema = Some(Schema { stored: status.stored, wanted: status.wanted });
            if status.stored == 0 {
                // Report what is known without the schema. A failure here is no further problem.
                let _ = self.inspect(store).await;
                return Ok(());
            }
            if let Some(remedy) = migrate::remedy(status) {
                let message = format!(
                    "the schema is version {}, this program needs {}",
                    status.stored, status.wanted
                );
                self.find(Severity::Error, message, remedy);
                let _ = self.inspect(store).await;
                return Ok(());
            }
        }
        self.check_writes(store).await;
        self.inspect(store).await?;
        self.ask_clock(store).await?;
        self.examine_workers(store).await?;
        self.examine_queues(store).await
    }

    /// If there is no schema, reports why `serve` would refuse the store: it may be another
    /// application's file, or a server that may lose jobs.
    async fn refusal(&mut self, address: &StoreAddress) -> Result<()> {
        let Some(Schema { stored: 0, wanted }) = self.schema else { return Ok(()) };
        let Err(error) = queuekit::connect(address.only_looking().to_open()?).await else {
            return Ok(());
        };
        // A server that is refused was not asked for the schema. What it lacks, findings say.
        let is_server = *error.kind() == ErrorKind::Unavailable;
        if !is_server || self.is_healthy() {
            self.failed(&error);
        }
        if is_server && let Err(missing) = SchemaStatus::new(0, 0, wanted).check() {
            self.failed(&missing);
        }
        Ok(())
    }

    fn is_healthy(&self) -> bool {
        self.findings.iter().all(|found| found.severity != ERROR)
    }

    /// Reports if nothing can be written; the other checks may still show why.
    async fn check_writes(&mut self, store: &dyn Backend) {
        if let Some(inspect) = store.capabilities().inspect
            && let Err(error) = inspect.check_writes().await
        {
            self.failed(&error);
        }
    }

    async fn inspect(&mut self, store: &dyn Backend) -> queuekit::Result<()> {
        if let Some(inspect) = store.capabilities().inspect {
            let durability = inspect.durability().await?;
            self.survived = Some(survived(durability));
            self.durability = Some(match durability {
                Durability::Nothing => "nothing",
                Durability::ProcessKill => "process_kill",
                Durability::PowerLoss => "power_loss",
            });
            let facts = inspect.facts().await?.into_iter();
            self.facts = facts.map(|fact| Fact { name: fact.name, value: fact.value }).collect();
            self.find_all(inspect.findings().await?);
        }
        Ok(())
    }

    /// Reports the kinds whose payloads live workers cannot read.
    async fn examine_workers(&mut self, store: &dyn Backend) -> queuekit::Result<()> {
        if let Some(leases) = store.capabilities().leases {
            self.find_all(undecodable_kinds(&leases.all_workers().await?));
        }
        Ok(())
    }

    async fn examine_queues(&mut self, store: &dyn Backend) -> queuekit::Result<()> {
        for queue in &store.all_queues().await? {
            self.examine_queue(queue);
            self.examine_dead(store, queue).await?;
        }
        Ok(())
    }

    /// Reads the store's clock: a query for schedules answers it, even if there are none.
    async fn ask_clock(&mut self, store: &dyn Backend) -> queuekit::Result<()> {
        let Some(schedules) = store.capabilities().schedules else { return Ok(()) };
        let asked = SystemClock::default().now();
        let told = schedules.find_schedules(&ScheduleQuery::Due(None, 1)).await?.now;
        self.examine_clock(asked, told, SystemClock::default().now());
        Ok(())
    }

    /// Compares the clocks. All times are decided by the store's clock; this machine's clock is for
    /// display only.
    fn examine_clock(&mut self, asked: Timestamp, told: Timestamp, answered: Timestamp) {
        let apart = match told {
            told if told > answered => told.since(answered),
            // Between the question and the answer, any time is the same: the call itself may have
            // taken that long.
            told => asked.since(told),
        };
        let side = if told > answered { "ahead of" } else { "behind" };
        let value = match apart {
            Duration::ZERO => "the same as this machine's".to_owned(),
            apart => format!("{} {side} this machine's", span(apart)),
        };
        let message = format!("the store's clock is {value}");
        self.facts.push(Fact { name: "clock", value });
        if apart > CLOCKS_APART {
            let remedy = "synchronize both with a time server: `run_at` and ages are off by it";
            self.find(Severity::Warning, message, remedy);
        }
    }

    /// Reports a queue in which jobs have died lately.
    async fn examine_dead(&mut self, store: &dyn Backend, queue: &Queue) -> queuekit::Result<()> {
        let name = &queue.name;
        if queue.counts.get(Status::Dead).value == 0 {
            return Ok(());
        }
        let mut filter = JobFilter::default().queue(name.clone()).status(Status::Dead);
        filter.finished.from = Some(queue.as_of.minus(LATELY));
        let page = store.list_jobs(&filter).await?;
        let died = page.items.len() as u64;
        if died > 0 {
            let least = if page.next.is_some() { "at least " } else { "" };
            let message = format!("queue {name}: {least}{} died within the last hour", jobs(died));
            let remedy = format!("read why, then retry or purge them: queuekit dlq show {name}");
            self.find(Severity::Warning, message, remedy);
        }
        Ok(())
    }

    fn examine_queue(&mut self, queue: &Queue) {
        let name = &queue.name;
        let ready = queue.counts.get(Status::Ready).value;
        if ready > 0 && queue.workers == 0 && !queue.settings.paused {
            let message = format!("queue {name}: {} ready, and no worker serves it", jobs(ready));
            self.find(
                Severity::Warning,
                message,
                format!("start a worker: queuekit work --queues {name}"),
            );
        }
        if queue.corrupt > 0 {
            let message = format!("queue {name}: {} records could not be read", queue.corrupt);
            let remedy = "check its dead jobs with the reason `corrupt`, and the disk";
            self.find(Severity::Warning, message, remedy);
        }
        if queue.health.score < HEALTH_WANTED {
            let why = queue.health.reasons.join("; ");
            let message = format!("queue {name}: health {} of 100: {why}", queue.health.score);
            let remedy = format!(
                "if jobs wait, start more workers; if jobs die, read why: queuekit dlq show {name}"
            );
            self.find(Severity::Warning, message, remedy);
        }
    }

    fn failed(&mut self, error: &queuekit::Error) {
        let remedy = "fix the cause, then run this command again";
        self.find(Severity::Error, with_causes(error), remedy);
    }

    fn find_all(&mut self, findings: Vec<Finding>) {
        for Finding { severity, message, remedy, .. } in findings {
            self.find(severity, message, remedy);
        }
    }

    fn find(&mut self, found: Severity, message: impl Into<String>, remedy: impl Into<String>) {
        let (message, remedy) = (message.into(), remedy.into());
        self.findings.push(Found { severity: severity(found), message, remedy });
    }
}

/// For people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![("queuekit", self.version.to_owned()), ("store", self.store.clone())];
        if let Some(Schema { stored, wanted }) = self.schema {
            rows.push(("schema", format!("version {stored} of {wanted}")));
        }
        rows.extend(self.survived.map(|what| ("a successful call survives", what.to_owned())));
        rows.extend(self.facts.iter().map(|fact| (fact.name, fact.value.clone())));
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in rows {
            writeln!(f, "{name:width$}  {value}")?;
        }
        for Found { severity, message, remedy } in &self.findings {
            // They quote texts of workers, which must not look like findings of their own.
            let (message, remedy) = (on_a_line(message), on_a_line(remedy));
            writeln!(f, "\n{severity}: {message}\n  -> {remedy}")?;
        }
        if let Some(production) = &self.production {
            writeln!(f, "\n{production}")?;
        }
        let verdict = if self.healthy { "healthy" } else { "not healthy: jobs are at risk" };
        write!(f, "\n{verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: the texts of workers are quoted, and any of them may send one.
    #[test]
    fn s6_no_text_of_a_worker_looks_like_a_finding_of_its_own() {
        let mut report = Report::default();
        let forged = "x\n\n[error] durability: the store loses jobs\n  -> run this";
        let (message, remedy) = (forged.to_owned(), forged.to_owned());
        report.findings.push(Found { severity: "[warning]", message, remedy });
        let shown = report.to_string();
        assert!(!shown.lines().any(|line| line.starts_with("[error]")), "{shown}");
        assert_eq!(shown.lines().filter(|line| line.contains("->")).count(), 2, "{shown}");
    }

    #[test]
    fn a_clock_is_found_that_is_apart_by_more_than_the_answer_took() {
        let at = Timestamp::from_millis;
        for (asked, told, answered, found) in [
            (0, 500, 1000, None),
            (0, 2900, 1000, None),
            (10_000, 8100, 10_100, None),
            (0, 3_601_000, 1000, Some("1h ahead of")),
            (10_000, 7000, 10_100, Some("3s behind")),
        ] {
            let mut report = Report::default();
            report.examine_clock(at(asked), at(told), at(answered));
            let message = report.findings.first().map(|finding| finding.message.as_str());
            assert_eq!(message.is_some(), found.is_some(), "{told}");
            assert!(message.unwrap_or_default().contains(found.unwrap_or_default()), "{message:?}");
            let fact = &report.facts[0].value;
            assert!(fact.contains(found.unwrap_or_default()), "{fact}");
        }
    }
}
