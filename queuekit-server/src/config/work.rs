//! Settings of a worker: its queues, concurrency, leases and handlers.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::QueueName;
use queuekit::store::LeaseTtl;

use super::Sources;
use super::handlers::handlers;
use super::switch::Switch;
use crate::error::Usage;
use crate::handlers::Handler;

const CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9);

/// Flags of commands that run jobs.
#[derive(Args, Debug, Default)]
pub(crate) struct WorkFlags {
    /// Queues to serve, in this order: a later one only when the earlier ones have nothing to run
    /// [default: default]
    #[arg(long, value_name = "QUEUE,..", value_delimiter = ',')]
    queues: Vec<QueueName>,
    /// Maximum jobs to run at once [env: QUEUEKIT_CONCURRENCY, WORKER_COUNT] [default: 10]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// Whether an idle worker stops sending calls to the store, so that a database may sleep
    /// [env: QUEUEKIT_QUIET] [default: off]
    #[arg(long, value_name = "on|off", hide_possible_values = true)]
    quiet: Option<Switch>,
}

/// The resolved settings.
#[derive(Debug)]
pub(crate) struct WorkSettings {
    pub(crate) queues: Vec<QueueName>,
    pub(crate) concurrency: usize,
    pub(crate) quiet: bool,
    pub(crate) lease: LeaseTtl,
    pub(crate) handlers: Vec<Handler>,
}

impl WorkFlags {
    /// Whether no flag was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.concurrency.is_none() && self.quiet.is_none()
    }
}

impl WorkSettings {
    pub(crate) fn resolve(flags: WorkFlags, sources: &Sources) -> Result<Self> {
        let Sources { environment, file, directory, config, .. } = sources;
        let counted = match environment.parse("QUEUEKIT_CONCURRENCY")? {
            Some(count) => Some(count),
            None => environment.parse("WORKER_COUNT")?,
        };
        let concurrency = flags.concurrency.or(counted).or(file.concurrency);
        let quiet = match flags.quiet {
            Some(quiet) => Some(quiet),
            None => environment.parse("QUEUEKIT_QUIET")?,
        };
        let quiet = quiet.map(|quiet| quiet == Switch::On).or(file.quiet);
        let lease = file.lease_ms.map(|ms| LeaseTtl::new(Duration::from_millis(ms.get())));
        let lease = lease
            .transpose()
            .map_err(|error| Usage::error(format!("`lease_ms` of queuekit.toml: {error}")))?;
        let named = [flags.queues, file.queues.clone()].into_iter().find(|names| !names.is_empty());
        Ok(Self {
            queues: named.unwrap_or_else(|| vec![QueueName::default()]),
            concurrency: concurrency.unwrap_or(CONCURRENCY).get(),
            quiet: quiet.unwrap_or(false),
            lease: lease.unwrap_or_default(),
            handlers: handlers(&file.handlers, environment, directory, config.is_some())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    #[test]
    fn concurrency_is_the_flag_s_else_of_either_variable_else_the_file_s() {
        let concurrency = |flag: Option<usize>, sources: &Sources| {
            let concurrency = flag.and_then(NonZeroUsize::new);
            let flags = WorkFlags { concurrency, ..WorkFlags::default() };
            WorkSettings::resolve(flags, sources).map(|settings| settings.concurrency)
        };
        let mut sources = Sources::default();
        assert_eq!(concurrency(None, &sources).unwrap(), 10);
        sources.file.concurrency = NonZeroUsize::new(2);
        assert_eq!(concurrency(None, &sources).unwrap(), 2);
        sources.environment = Environment::of([("WORKER_COUNT", "3")]);
        assert_eq!(concurrency(None, &sources).unwrap(), 3);
        sources.environment =
            Environment::of([("WORKER_COUNT", "3"), ("QUEUEKIT_CONCURRENCY", "4")]);
        assert_eq!(concurrency(None, &sources).unwrap(), 4);
        assert_eq!(concurrency(Some(5), &sources).unwrap(), 5);
        sources.environment = Environment::of([("QUEUEKIT_CONCURRENCY", "0")]);
        let error = concurrency(None, &sources).unwrap_err().to_string();
        assert!(error.starts_with("the variable QUEUEKIT_CONCURRENCY"), "{error}");
    }

    #[test]
    fn quiet_is_the_flag_s_else_the_variable_s_else_the_file_s() {
        let quiet = |quiet: Option<Switch>, sources: &Sources| {
            let flags = WorkFlags { quiet, ..WorkFlags::default() };
            WorkSettings::resolve(flags, sources).map(|settings| settings.quiet)
        };
        let mut sources = Sources::default();
        assert!(!quiet(None, &sources).unwrap());
        sources.file.quiet = Some(true);
        assert!(quiet(None, &sources).unwrap());
        sources.environment = Environment::of([("QUEUEKIT_QUIET", "off")]);
        assert!(!quiet(None, &sources).unwrap());
        assert!(quiet(Some(Switch::On), &sources).unwrap());
        sources.environment = Environment::of([("QUEUEKIT_QUIET", "yes")]);
        let error = quiet(None, &sources).unwrap_err().to_string();
        assert!(error.starts_with("the variable QUEUEKIT_QUIET: it must be on or off"), "{error}");
    }
}
