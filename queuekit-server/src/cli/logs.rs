//! Logs, on stderr.

use std::fmt;
use std::io::{self, IsTerminal};

use anyhow::Result;
use clap::ValueEnum;
use tracing::field::Field;
use tracing_subscriber::Layer;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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
    let filter = parse(filter.unwrap_or(default)).map_err(|error| {
        Usage::error(format!("RUST_LOG: {error}; write it as in RUST_LOG=info,queuekit=debug"))
    })?;
    // A stderr that nobody reads is no reason to fail.
    let logs = tracing_subscriber::fmt::layer().log_internal_errors(false);
    let logs = logs.with_writer(io::stderr);
    let logs = match format {
        LogFormat::Json => logs.json().boxed(),
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let fields = format::debug_fn(write_field).delimited(" ");
            logs.with_ansi(io::stderr().is_terminal() && !plain).fmt_fields(fields).boxed()
        }
    };
    tracing_subscriber::registry().with(logs).with(filter).init();
    Ok(())
}

/// A level for all targets, and levels for some. `EnvFilter`, which also knows spans and fields,
/// would bring regular expressions, which take long to build.
fn parse(filter: &str) -> Result<Targets, String> {
    let directives = filter.split(',').map(str::trim).filter(|directive| !directive.is_empty());
    let directives: Vec<_> = directives.collect();
    // `Targets` would accept any text as a target, one that nobody logs to.
    let is_known = |c: char| c.is_alphanumeric() || "_-.:=".contains(c);
    let is_written = |text: &&str| !text.starts_with('=') && text.chars().all(is_known);
    if !directives.iter().all(is_written) {
        return Err("invalid filter directive".to_owned());
    }
    directives.join(",").parse().map_err(|error: ParseError| error.to_string())
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

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_are_of_all_targets_and_of_some() {
        for filter in ["warn,queuekit=debug", " WARN, queuekit=debug,", "2,queuekit=4"] {
            let filter = parse(filter).unwrap();
            assert!(filter.would_enable("queuekit::audit", &Level::DEBUG));
            assert!(filter.would_enable("queuekit_worker", &Level::DEBUG));
            assert!(!filter.would_enable("queuekit", &Level::TRACE));
            assert!(filter.would_enable("hyper", &Level::WARN));
            assert!(!filter.would_enable("hyper", &Level::INFO));
        }
        let trusted = parse("queuekit").unwrap();
        assert!(trusted.would_enable("queuekit", &Level::TRACE));
        assert!(!trusted.would_enable("hyper", &Level::ERROR));
    }

    #[test]
    fn an_empty_filter_is_for_errors() {
        for filter in ["", " ", ","] {
            let filter = parse(filter).unwrap();
            assert!(filter.would_enable("hyper", &Level::ERROR), "{filter}");
            assert!(!filter.would_enable("hyper", &Level::WARN), "{filter}");
        }
    }

    /// Guard: a filter that would be of no effect is refused.
    #[test]
    fn what_is_no_filter_is_refused() {
        for wrong in
            ["a=b=c", "queuekit=loud", "*", "[job]=info", "queuekit[{id=7}]=info", "a/b", "=info"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
