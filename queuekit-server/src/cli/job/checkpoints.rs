//! `queuekit job checkpoints`

use anyhow::Result;
use clap::Args;
use queuekit::JobId;

use super::route::path;
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::format::ago;
use crate::cli::output::Output;
use crate::cli::table::{Cell, Table};
use crate::wire::CheckpointInfosBody;

/// List the steps that a job has done, without their results
#[derive(Args, Debug)]
pub(crate) struct Checkpoints {
    /// Job ID
    id: JobId,
}

impl Checkpoints {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let answer = api.get(&format!("{}/checkpoints", path(self.id))).await?;
        let listed: CheckpointInfosBody = answer.read()?;
        let mut table = Table::new(&["STEP", "STORED", "#BYTES"], "the job has no checkpoints");
        for stored in &listed.checkpoints {
            table.row([
                Cell::from(&stored.name),
                Cell::from(ago(stored.at)),
                Cell::from(stored.bytes),
            ]);
        }
        output.list(&listed.checkpoints, table)?;
        Ok(Exit::Success)
    }
}
