//! `queuekit audit`

use std::num::NonZeroUsize;

use anyhow::Result;
use clap::Args;
use serde_json::value::RawValue;

use super::api::Api;
use super::context::{Access, Context};
use super::exit::Exit;
use super::output::{Output, remark};
use super::table::{Cell, Table};
use crate::wire::{AuditBody, AuditEntryBody, AuditQuery};

/// Entries that are read at once.
const PAGE: usize = 1000;

/// Show what operators changed, latest first
#[derive(Args, Debug)]
pub(crate) struct Audit {
    /// How many entries to show
    #[arg(long, value_name = "NUMBER", default_value = "20")]
    limit: NonZeroUsize,
}

impl Audit {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let run = async |api: &Api| self.list(api, output).await;
        context.with_api(Access::Existing, run).await?;
        Ok(Exit::Success)
    }

    async fn list(&self, api: &Api, output: Output) -> Result<()> {
        let (most, mut entries, mut before) = (self.limit.get(), Vec::new(), None);
        loop {
            let query = AuditQuery { limit: Some(PAGE.min(most - entries.len())), before };
            let page: AuditBody<Box<RawValue>> = api.find("/v1/audit", &query).await?.read()?;
            entries.extend(page.entries);
            before = page.before;
            if before.is_none() || entries.len() >= most {
                break;
            }
        }
        output.list(&entries, table(&entries)?)?;
        if before.is_some() {
            remark(format_args!("more entries match: raise --limit to show them"));
        }
        Ok(())
    }
}

fn table(entries: &[Box<RawValue>]) -> Result<Table> {
    let names = ["#NUMBER", "AT", "WHO", "ACTION", "TARGET", "OUTCOME"];
    let mut table = Table::new(&names, "no entries: no operator has changed anything yet");
    for entry in entries {
        let entry: AuditEntryBody = serde_json::from_str(entry.get())?;
        let outcome = match (entry.matched, entry.changed) {
            (Some(matched), Some(changed)) => format!("changed {changed} of {matched}"),
            _ => entry.outcome,
        };
        table.row([
            Cell::from(entry.seq),
            Cell::from(format_args!("{:.0}", entry.at)),
            Cell::from(&entry.who),
            Cell::from(&entry.action),
            Cell::from(&entry.target),
            Cell::from(&outcome),
        ]);
    }
    Ok(table)
}
