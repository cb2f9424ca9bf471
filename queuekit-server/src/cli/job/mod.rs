//! `queuekit job`

mod actions;
mod checkpoints;
mod list;
mod route;
mod show;
mod wait;
mod watch;

use anyhow::Result;
use clap::Subcommand;

use super::context::{Access, Context};
use super::exit::Exit;

pub(crate) use list::{first, list};
pub(crate) use show::told;
pub(crate) use wait::wait;

/// Show and change jobs
#[derive(Subcommand, Debug)]
pub(crate) enum Job {
    List(list::List),
    Show(show::Show),
    Why(show::Why),
    Checkpoints(checkpoints::Checkpoints),
    Watch(watch::Watch),
    Retry(actions::Retry),
    Cancel(actions::Cancel),
    Reschedule(actions::Reschedule),
    DeadLetter(actions::DeadLetter),
    Delete(actions::Delete),
}

impl Job {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let run = async |api: &super::api::Api| match self {
            Self::List(list) => list.run(api, output).await,
            Self::Show(show) => show.run(api, output).await,
            Self::Why(why) => why.run(api, output).await,
            Self::Checkpoints(checkpoints) => checkpoints.run(api, output).await,
            Self::Watch(watch) => watch.run(api, output).await,
            Self::Retry(retry) => retry.run(api, output).await,
            Self::Cancel(cancel) => cancel.run(api, output).await,
            Self::Reschedule(reschedule) => reschedule.run(api, output).await,
            Self::DeadLetter(dead_letter) => dead_letter.run(api, output).await,
            Self::Delete(delete) => delete.run(api, output).await,
        };
        context.with_api(Access::Existing, run).await
    }
}
