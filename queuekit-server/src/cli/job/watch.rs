//! `queuekit job watch`

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::JobId;

use super::path;
use super::show::{JobView, LogView, ProgressView};
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::patience::Patience;
use crate::cli::shown::on_a_line;

const BETWEEN: Duration = Duration::from_millis(300);

/// Follow a job until it has ended: its status, progress and log
///
/// The exit code is 0 if it completed, 1 if it is dead or cancelled.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// Of the job
    id: JobId,
}

/// What was told already.
#[derive(Default)]
struct Told {
    status: String,
    progress: Option<ProgressView>,
    last_line: Option<String>,
}

impl Watch {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let (mut told, mut last) = (Told::default(), String::new());
        loop {
            // The job goes on meanwhile.
            let answer = Patience::LONG.ask(async || api.get(&path(self.id)).await).await?;
            let job: JobView = answer.read()?;
            let status = job.status.clone();
            if output.json && answer.json() != last {
                last = answer.json().to_owned();
                output.raw(&last)?;
            } else if !output.json {
                told.tell(job, output)?;
            }
            match status.as_str() {
                "completed" => return Ok(Exit::Success),
                "dead" | "cancelled" => return Ok(Exit::Failed),
                _ => tokio::time::sleep(BETWEEN).await,
            }
        }
    }
}

impl Told {
    /// What is new.
    fn tell(&mut self, job: JobView, output: Output) -> Result<()> {
        // Only the last lines are kept, and those of another run replace them.
        let lines: Vec<String> = job.logs.iter().map(LogView::told).collect();
        let known =
            self.last_line.as_ref().and_then(|last| lines.iter().rposition(|line| line == last));
        for line in lines.iter().skip(known.map_or(0, |at| at + 1)) {
            output.line(line)?;
        }
        self.last_line = lines.last().cloned().or(self.last_line.take());
        if job.progress != self.progress {
            if let Some(ProgressView { fraction, message }) = &job.progress {
                output.line(format_args!("{:.0} %  {}", fraction * 100., on_a_line(message)))?;
            }
            self.progress = job.progress;
        }
        if job.status != self.status {
            output.line(&job.status)?;
            self.status = job.status;
        }
        Ok(())
    }
}
