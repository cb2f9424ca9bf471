//! `queuekit job watch`

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::{Job, JobId, Status};

use super::route::path;
use super::show::line_told;
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::format::on_a_line;
use crate::cli::output::Output;
use crate::cli::retry::Retry;

const BETWEEN: Duration = Duration::from_millis(300);

/// Follow a job until it ends: its status, progress and log
///
/// The exit code is 0 if the job is completed, and 1 if it is dead or cancelled.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// Job ID
    id: JobId,
}

/// What has been printed so far.
#[derive(Default)]
struct Told {
    status: Option<Status>,
    progress: Option<(f32, String)>,
    last_line: Option<String>,
}

impl Watch {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<Exit> {
        let (mut told, mut last) = (Told::default(), String::new());
        loop {
            // A server that is restarted does not end the watch: the job continues meanwhile.
            let answer = Retry::LONG.ask(async || api.get(&path(self.id)).await).await?;
            let job: Job = answer.read()?;
            if output.json && answer.json().get() != last {
                last = answer.json().get().to_owned();
                output.raw(&last)?;
            } else if !output.json {
                told.tell(&job, output)?;
            }
            match job.status {
                Status::Completed => return Ok(Exit::Success),
                Status::Dead | Status::Cancelled => return Ok(Exit::Failed),
                _ => tokio::time::sleep(BETWEEN).await,
            }
        }
    }
}

impl Told {
    /// Prints what is new.
    fn tell(&mut self, job: &Job, output: Output) -> Result<()> {
        // The store keeps only the last lines, so the last one printed may be gone.
        let lines: Vec<String> = job.logs.iter().map(line_told).collect();
        let known =
            self.last_line.as_ref().and_then(|last| lines.iter().rposition(|line| line == last));
        for line in lines.iter().skip(known.map_or(0, |at| at + 1)) {
            output.line(line)?;
        }
        self.last_line = lines.last().cloned().or(self.last_line.take());
        let progress = job.progress.as_ref().map(|at| (at.fraction, at.message.clone()));
        if progress != self.progress {
            if let Some((fraction, message)) = &progress {
                output.line(format_args!("{:.0} %  {}", fraction * 100., on_a_line(message)))?;
            }
            self.progress = progress;
        }
        if self.status.replace(job.status) != Some(job.status) {
            output.line(job.status)?;
        }
        Ok(())
    }
}
