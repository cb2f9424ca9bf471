//! `queuekit migrate`

use anyhow::{Result, anyhow};
use clap::Subcommand;
use queuekit::Client;
use queuekit::capability::{Migrations, SchemaStatus};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;

/// Bring the store's schema up to date, or see where it stands
#[derive(Subcommand, Debug)]
#[command(after_help = AFTER)]
pub(crate) enum Migrate {
    /// Bring the schema to the version of this program; safe while others run and do the same
    Up,
    /// Tell the version there is and the one this program needs; exit code 4 if they differ
    Status,
    /// Print what `up` would run on an empty store, for migration tools of your own
    Sql,
}

const AFTER: &str = "\
Whatever opens a store brings its schema up to date by itself, unless its URL says migrate=off.";

/// As JSON.
#[derive(Serialize)]
struct Answer {
    stored: u32,
    wanted: u32,
    up_to_date: bool,
}

impl Migrate {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let address = context.address();
        let address = if matches!(self, Self::Status) { address.only_looking() } else { address };
        let client = queuekit::connect_unchecked(address.to_open()?).await?;
        let done = self.on(&client, &context).await;
        let closed = client.close().await;
        let exit = done?;
        closed?;
        Ok(exit)
    }

    async fn on(&self, client: &Client, context: &Context) -> Result<Exit> {
        let address = context.address();
        let migrations = client.backend().capabilities().migrations;
        let migrations = migrations.ok_or_else(|| anyhow!("{address}: it has no schema"))?;
        match self {
            Self::Up => tell(migrations.up().await?, context),
            Self::Status => tell(migrations.status().await?, context),
            Self::Sql => sql(migrations, context),
        }
    }
}

fn tell(status: SchemaStatus, context: &Context) -> Result<Exit> {
    let SchemaStatus { stored, wanted } = status;
    let up_to_date = stored == wanted;
    let remedy = remedy(status).map(|remedy| format!("; {remedy}")).unwrap_or_default();
    let text = format!("schema version {stored}, this program needs {wanted}{remedy}");
    context.output.answer(&Answer { stored, wanted, up_to_date }, text)?;
    Ok(if up_to_date { Exit::Success } else { Exit::Unhealthy })
}

/// What to do about a schema that is not of this build.
pub(crate) fn remedy(status: SchemaStatus) -> Option<&'static str> {
    match status.stored.cmp(&status.wanted) {
        std::cmp::Ordering::Less => Some("run `queuekit migrate up`"),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some("use a newer queuekit"),
    }
}

fn sql(migrations: &dyn Migrations, context: &Context) -> Result<Exit> {
    let sql = migrations.sql();
    if sql.is_empty() {
        return Err(anyhow!("{}: this store has no SQL; use `migrate up`", context.address()));
    }
    context.output.answer(&serde_json::json!({ "sql": sql }), sql.trim_end())?;
    Ok(Exit::Success)
}
