//! `queuekit migrate`

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use queuekit::Client;
use queuekit::store::capability::{Migration, Migrations, SchemaStatus};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;

/// Show or update the store schema
#[derive(Subcommand, Debug)]
#[command(after_help = AFTER)]
pub(crate) enum Migrate {
    /// Update the schema to the version of this program; safe while other programs run
    Up,
    /// Show the schema version of the store and of this program; exit code 4 if they do not match
    Status,
    /// Show what `up` would do, and change nothing
    Plan,
    /// Print the SQL that `up` would run on an empty store, for your own migration tool
    Sql(Sql),
}

#[derive(Args, Debug)]
pub(crate) struct Sql {
    /// Print only the steps that this store lacks
    #[arg(long)]
    pending: bool,
}

const AFTER: &str = "\
`serve`, `work` and `dev` update the schema of a store when they open it, unless its URL has
migrate=off. Of the other commands, only `migrate up` does. Older programs can work with a newer
schema if it declares itself compatible: `plan` shows from which version on.";

/// As JSON.
#[derive(Serialize)]
struct Answer {
    stored: u32,
    wanted: u32,
    up_to_date: bool,
}

/// One step of a plan, as JSON.
#[derive(Serialize)]
struct Step {
    version: u32,
    compatible_from: u32,
}

impl Migrate {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let address = context.address();
        let client = match &self {
            Self::Sql(Sql { pending: false }) if address.is_sqlite() => {
                return sql(&queuekit::sqlite::SqliteStore::migrations(), &context);
            }
            // Migrates, and refuses, as `serve` does.
            Self::Up => queuekit::connect(address.migrating().to_open()?).await?,
            _ => queuekit::connect_unchecked(address.only_looking().to_open()?).await?,
        };
        let done = self.on(&client, &context).await;
        let closed = client.close().await;
        let exit = done?;
        closed?;
        Ok(exit)
    }

    async fn on(&self, client: &Client, context: &Context) -> Result<Exit> {
        let address = context.address();
        let migrations: Option<&dyn Migrations> = client.backend().capabilities().migrations;
        let migrations =
            migrations.ok_or_else(|| anyhow!("{address}: this store has no schema"))?;
        let status = migrations.status().await?;
        match self {
            Self::Up | Self::Status => tell(status, context),
            Self::Plan => plan(status, &migrations.pending(status.stored), context),
            Self::Sql(Sql { pending: true }) => sql(&migrations.pending(status.stored), context),
            Self::Sql(_) => sql(&migrations.pending(0), context),
        }
    }
}

fn plan(status: SchemaStatus, steps: &[Migration], context: &Context) -> Result<Exit> {
    let text = summary(status, steps);
    let step =
        |one: &Migration| Step { version: one.version, compatible_from: one.compatible_from };
    let value: Vec<Step> = steps.iter().map(step).collect();
    let value = serde_json::json!({ "stored": status.stored, "pending": value });
    context.output.answer(&value, text)?;
    Ok(Exit::Success)
}

fn summary(status: SchemaStatus, steps: &[Migration]) -> String {
    let stored = status.stored;
    let Some(last) = steps.last() else {
        return format!("schema version {stored}: nothing to do");
    };
    // What an earlier migration has shut out, a later one does not let in again.
    let declared = steps.iter().map(|step| step.compatible_from);
    let compatible_from = declared.fold(status.compatible_from, u32::max);
    format!(
        "schema version {stored} -> {}, in one step; programs that need version {compatible_from} \
         or later continue to work with it, older ones are refused when they start",
        last.version
    )
}

fn tell(status: SchemaStatus, context: &Context) -> Result<Exit> {
    let SchemaStatus { stored, wanted, .. } = status;
    let up_to_date = status.fits();
    let remedy = remedy(status).map(|remedy| format!("; {remedy}")).unwrap_or_default();
    let text = format!("schema version {stored}, this program needs {wanted}{remedy}");
    context.output.answer(&Answer { stored, wanted, up_to_date }, text)?;
    Ok(if up_to_date { Exit::Success } else { Exit::Unhealthy })
}

/// What to do about a schema that this program does not work with.
pub(crate) fn remedy(status: SchemaStatus) -> Option<&'static str> {
    match status.stored.cmp(&status.wanted) {
        _ if status.fits() => None,
        std::cmp::Ordering::Less => Some("run `queuekit migrate up`"),
        _ => Some("use a newer queuekit"),
    }
}

fn sql(migrations: &[Migration], context: &Context) -> Result<Exit> {
    let sql: String = migrations.iter().map(|one| one.sql.as_str()).collect();
    if sql.is_empty() && !migrations.is_empty() {
        return Err(anyhow!("{}: this store has no SQL; use `migrate up`", context.address()));
    }
    context.output.answer(&serde_json::json!({ "sql": sql }), sql.trim_end())?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_the_programs_that_any_of_its_steps_or_what_is_stored_shuts_out() {
        let step =
            |version, compatible_from| Migration { version, compatible_from, sql: String::new() };
        let says = |stored_from: u32, steps: &[Migration]| {
            summary(SchemaStatus::new(2, stored_from, 4), steps)
        };
        for (stored_from, steps, wanted) in
            [(1, [step(3, 3), step(4, 1)], 3), (2, [step(3, 1), step(4, 1)], 2)]
        {
            let text = says(stored_from, &steps);
            let wanted = format!("2 -> 4, in one step; programs that need version {wanted} or");
            assert!(text.contains(&wanted), "{text}");
        }
        assert_eq!(says(1, &[]), "schema version 2: nothing to do");
    }
}
