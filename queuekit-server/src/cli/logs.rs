//! Logs, on stderr.

use std::fmt;
use std::io::{self, IsTerminal};

use anyhow::Result;
use clap::ValueEnum;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{self, Writer};

use super::Usage;
use super::shown::on_a_line;

/// Our own steps, and only the complaints of what we are built of.
const FILTER: &str = "warn,queuekit=info";

/// For people, coloured on a terminal, or for programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Of commands that answer and end.
const BRIEF_FILTER: &str = "error";

/// Begins to log what `RUST_LOG` asks for.
pub(crate) fn init(format: LogFormat, filter: Option<&str>, runs_on: bool) -> Result<()> {
    let default = if runs_on { FILTER } else { BRIEF_FILTER };
    let filter = EnvFilter::try_new(filter.unwrap_or(default)).map_err(|error| {
        Usage::error(format!("RUST_LOG: {error}; write it as in RUST_LOG=info,queuekit=debug"))
    })?;
    // A stderr that nobody reads is no reason to fail.
    let logs = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let logs = logs.with_writer(io::stderr);
    match format {
        LogFormat::Json => logs.json().init(),
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let fields = format::debug_fn(write_field).delimited(" ");
            logs.with_ansi(io::stderr().is_terminal() && !plain).fmt_fields(fields).init();
        }
    }
    Ok(())
}

/// Texts of jobs, commands and servers stand in the log: none of them steers a terminal or begins
/// a line of its own.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let text = on_a_line(&format!("{value:?}"));
    match field.name() {
        "message" => write!(writer, "{text}"),
        name => write!(writer, "{name}={text}"),
    }
}
