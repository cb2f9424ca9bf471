//! Logs, on stderr.

use std::fmt;
use std::io::{self, IsTerminal};

use anyhow::Result;
use clap::ValueEnum;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use super::format::on_a_line;
use crate::error::Usage;

/// Information from queuekit, and only warnings from libraries.
const FILTER: &str = "warn,queuekit=info";

/// The audit and access logs are written whatever the level of the rest, unless `RUST_LOG` names
/// them.
const RECORDS: [&str; 2] = ["queuekit::audit", "queuekit::access"];

/// For people, coloured on a terminal, or for programs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// For commands that print an answer and end.
const BRIEF_FILTER: &str = "error";

/// Starts logging, as `RUST_LOG` asks for. Traces do not depend on it.
pub(crate) fn init(
    format: LogFormat,
    filter: Option<&str>,
    runs_on: bool,
    traces: Option<impl Layer<Registry> + Send + Sync>,
) -> Result<()> {
    let default = if runs_on { FILTER } else { BRIEF_FILTER };
    let mut filter = filter.unwrap_or(default).to_owned();
    if runs_on {
        filter = with_records(&filter);
    }
    let filter = parse(&filter).map_err(|error| {
        Usage::error(format!("RUST_LOG: {error}; write RUST_LOG=info,queuekit=debug"))
    })?;
    let registry = tracing_subscriber::registry();
    // A program that runs several commands keeps the logs of the first, or its own.
    let _ = match traces {
        // Layers with filters of their own cost more than one filter for all.
        None => registry.with(written(format)).with(filter).try_init(),
        Some(traces) => registry.with(traces).with(written(format).with_filter(filter)).try_init(),
    };
    Ok(())
}

/// Writes logs to stderr.
fn written<S: Subscriber + for<'a> LookupSpan<'a>>(
    format: LogFormat,
) -> Box<dyn Layer<S> + Send + Sync> {
    // A closed stderr is no reason to fail.
    let logs = tracing_subscriber::fmt::layer().log_internal_errors(false);
    let logs = logs.with_writer(io::stderr);
    match format {
        LogFormat::Json => logs.json().boxed(),
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            logs.with_ansi(io::stderr().is_terminal() && !plain).fmt_fields(Fields).boxed()
        }
    }
}

/// Parses a level for all targets, and levels for some. `EnvFilter` also knows spans and fields,
/// but depends on regular expressions, which take long to build.
fn parse(filter: &str) -> Result<Targets, String> {
    let directives = filter.split(',').map(str::trim).filter(|directive| !directive.is_empty());
    let directives: Vec<_> = directives.collect();
    // `Targets` would accept any text as a target, even one that nothing logs to.
    let is_known = |c: char| c.is_alphanumeric() || "_-.:=".contains(c);
    let is_written = |text: &&str| !text.starts_with('=') && text.chars().all(is_known);
    if !directives.iter().all(is_written) {
        return Err("invalid filter directive".to_owned());
    }
    directives.join(",").parse().map_err(|error: ParseError| error.to_string())
}

/// Adds the audit and access logs: `warn` is about the program's own steps, and must not silence
/// the records of what callers did.
fn with_records(filter: &str) -> String {
    let is_named =
        |record: &str| filter.split(',').any(|directive| directive.trim().starts_with(record));
    let unnamed = RECORDS.into_iter().filter(|record| !is_named(record));
    unnamed.fold(filter.to_owned(), |filter, record| format!("{filter},{record}=info"))
}

/// Writes fields so that texts of jobs, commands and servers cannot control the terminal, start a
/// new line, or look like another field.
struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut line = Line { writer, is_empty: true, written: Ok(()) };
        fields.record(&mut line);
        line.written
    }
}

struct Line<'writer> {
    writer: Writer<'writer>,
    is_empty: bool,
    written: fmt::Result,
}

impl Line<'_> {
    fn write(&mut self, field: &Field, value: &str) {
        let space = if self.is_empty { "" } else { " " };
        self.is_empty = false;
        let written = match field.name() {
            "message" => write!(self.writer, "{space}{value}"),
            name => write!(self.writer, "{space}{name}={value}"),
        };
        self.written = self.written.and(written);
    }
}

/// Fields that tell other programs what a span is, and people nothing.
fn is_for_programs(field: &Field) -> bool {
    let constant = ["messaging.system", "messaging.operation.type"];
    field.name().starts_with("otel.") || constant.contains(&field.name())
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if is_for_programs(field) {
            return;
        }
        let text = if field.name() == "message" { on_a_line(value) } else { quoted(value) };
        self.write(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if is_for_programs(field) {
            return;
        }
        let text = format!("{value:?}");
        let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.,:;/@%()[]*".contains(&byte);
        let text = match field.name() != "message" && !text.bytes().all(is_bare) {
            true => quoted(&text),
            false => on_a_line(&text),
        };
        self.write(field, &text);
    }
}

/// The text in quotes, with quotes and backslashes in it escaped.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", on_a_line(&escaped))
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
    fn s14_records_are_kept_at_every_level_unless_they_are_named() {
        for filter in ["warn", "error,queuekit=warn", "off", ""] {
            let filter = parse(&with_records(filter)).unwrap();
            assert!(filter.would_enable("queuekit::audit", &Level::INFO));
            assert!(filter.would_enable("queuekit::access", &Level::INFO));
            assert!(!filter.would_enable("queuekit::worker", &Level::INFO));
        }
        let named = parse(&with_records("info,queuekit::audit=off")).unwrap();
        assert!(!named.would_enable("queuekit::audit", &Level::ERROR));
        assert!(named.would_enable("queuekit::access", &Level::INFO));
    }

    #[test]
    fn s14_no_text_looks_like_another_field_of_its_line() {
        let text = r#"x outcome="done" key=admin \"#;
        let lines = told(|| {
            tracing::info!(error = %text, n = 7, id = %"a-1", word = text, "it said \n so");
            tracing::info!(error = ?Some("b\nc"), "");
        });
        let quoted = r#""x outcome=\"done\" key=admin \\""#;
        let first = format!(r#"it said ␤ so error={quoted} n=7 id=a-1 word={quoted}"#);
        assert!(lines[0].ends_with(&first), "{}", lines[0]);
        assert!(lines[1].ends_with(r#"error="Some(\"b\\nc\")""#), "{}", lines[1]);
    }

    #[test]
    fn what_a_span_is_for_programs_is_not_written_for_people() {
        let lines = told(|| {
            let span = tracing::info_span!(
                "job",
                otel.name = %"process default",
                messaging.system = "queuekit",
                messaging.destination.name = "default",
                queuekit.outcome = tracing::field::Empty,
            );
            let _entered = span.enter();
            tracing::info!("hello");
        });
        let wanted = r#"job{messaging.destination.name="default"}: "#;
        assert!(lines[0].contains(wanted) && lines[0].ends_with("hello"), "{}", lines[0]);
    }

    /// What is written while this is done, by line.
    fn told(act: impl FnOnce()) -> Vec<String> {
        let written = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let writer = tracing_subscriber::fmt::layer().fmt_fields(Fields).with_ansi(false);
        let to = std::sync::Arc::clone(&written);
        let writer = writer.with_writer(move || Written(std::sync::Arc::clone(&to)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(writer), act);
        let written = written.lock().unwrap().clone();
        String::from_utf8(written).unwrap().lines().map(str::to_owned).collect()
    }

    struct Written(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
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
