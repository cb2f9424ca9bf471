//! Logs, on stderr.

use std::io::{self, IsTerminal};

use anyhow::Result;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::Usage;

/// Our own steps, and only the complaints of what we are built of.
const FILTER: &str = "warn,queuekit=info";

/// For people, coloured on a terminal, or for programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Begins to log what `RUST_LOG` asks for.
pub(crate) fn init(format: LogFormat, filter: Option<&str>) -> Result<()> {
    let filter = EnvFilter::try_new(filter.unwrap_or(FILTER)).map_err(|error| {
        Usage::error(format!("RUST_LOG: {error}; write it as in RUST_LOG=info,queuekit=debug"))
    })?;
    // A stderr that nobody reads is no reason to fail.
    let logs = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let logs = logs.with_writer(io::stderr);
    match format {
        LogFormat::Json => logs.json().init(),
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            logs.with_ansi(io::stderr().is_terminal() && !plain).init();
        }
    }
    Ok(())
}
