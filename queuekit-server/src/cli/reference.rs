//! Keeps `docs/cli.md` equal to `--help` of every command.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md");

const INTRODUCTION: &str = r#"# The command line

The help of every command, as `queuekit COMMAND --help` prints it. A test keeps this page equal to
the help; `QUEUEKIT_WRITE_DOCS=1 cargo test -p queuekit-server reference` writes it.

**Store or server.** A command works on a store (`--url` or `QUEUEKIT_URL`), or through a server
(`--server` or `QUEUEKIT_SERVER`, with the API key in `QUEUEKIT_API_KEY`). The output is the same.
An exported key is not sent to a server that only `.env` names
([operations.md](operations.md#settings-files-that-you-did-not-write)). `dev`, `serve`, `work`,
`doctor`, `bench` and `migrate` need the store itself.

**Output.** Tables are for people, and coloured on a terminal unless `NO_COLOR` is set. Control
characters are removed from texts. With `--json`, a list has a line of JSON per item, and everything
else is one line, with the value that the HTTP API answers ([http.md](http.md), `/openapi.json`).
Control characters, and those that change the writing direction, are escaped in strings.
Commands that make several calls, or none, print the JSON below. New versions may add fields:

- `enqueue`: a line for each job, `{"outcome": "created" or "duplicate", "id"}`
- `job retry`, `cancel`, `reschedule`, `dead-letter` and `delete` with ids: a line for each job,
  `{"id", "outcome"}`; failures are on stderr
- the same with a filter, `dlq retry`, `dlq purge`, `queue purge`, `errors retry` and `errors
  purge`: `{"dry_run", "matched", "changed", "skipped"}`
- `errors show`: `{"groups", "dead"}`; `errors retry --one`: `{"id", "outcome"}`; `errors note`:
  `{"id", "queue", "note"}`
- `job watch`: a line for each change, as `job show` answers it
- `stats`, with `--watch` a line for each change: `{"jobs": {STATUS: N, ..}, "queues", "paused",
  "workers", "slots", "running"}`; with `--history` a line for each answer of
  [`GET /v1/history`](http.md#history)
- `subscription replay`: `{"matched", "delivered"}`
- `cron delete`: `{"schedule", "outcome"}`; `subscription delete`: `{"consumer", "outcome"}`
- `queue remove`: `{"queue", "outcome": "removed" or, with --dry-run, "unchanged", "jobs"}`;
  `worker remove`: `{"worker", "outcome"}`
- `doctor`: `{"version", "store", "healthy", "schema", "durability", "facts": [{"name",
  "value"}], "findings": [{"severity", "message", "remedy"}]}`, with `--production` also
  `"production": {"items": [{"name", "state": "ok", "to_do" or "not_checked", "why"?, "what",
  "setting"}]}`
- `bench`: `{"store", "figures": [{"name", "jobs", "per_second"?, "p50_ms"?, "p99_ms"?}],
  "verdict": [..]}`
- `migrate up`, `status`: `{"stored", "wanted", "up_to_date"}`; `plan`: `{"stored", "pending":
  [{"version", "compatible_from"}]}`; `sql`: `{"sql"}`
- `init`: `{"directory", "written": [PATH, ..]}`
- `key new`: `{"key", "entry"}`, the key and its entry for `[[keys]]`
- `dev`, `serve`: `{"url"}` as soon as they listen
- `work`: `{"completed", "failed", "dead", "released", "cancelled", "lease_lost"}`
- `man`: a line for each page, `{"page"}`
- `completions` prints the script, with or without `--json`

**Many jobs at once.** Actions take ids, or a filter such as `status:dead kind:email error:timeout
older:1h`. With a filter, the command counts the jobs first and asks before it changes them, unless
you pass `--yes`. With `--dry-run` it only counts. Other commands that delete ask too: `queue remove
--force`, `cron delete`, `subscription delete`, and `queue set` if it would delete existing dead
jobs.

**Exit codes.** 0 success, 1 failure, 2 wrong usage, 3 not found, 4 not healthy
([operations.md](operations.md#exit-codes)).
"#;

#[test]
fn docs_cli_md_says_what_help_says() {
    let mut command = Cli::command().term_width(100).color(clap::ColorChoice::Never);
    command.build();
    let mut wanted = INTRODUCTION.to_owned();
    describe(command, &mut wanted);
    if std::env::var_os("QUEUEKIT_WRITE_DOCS").is_some() {
        std::fs::write(PATH, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(found == wanted, "docs/cli.md is outdated: run this test with QUEUEKIT_WRITE_DOCS=1");
}

/// Appends the help of a command and its subcommands. Global flags are described only once.
fn describe(mut command: Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or("queuekit").to_owned();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(text, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let hidden = |arg: Arg| if arg.is_global_set() { arg.hide(true) } else { arg };
        describe(command.clone().mut_args(hidden), text);
    }
}
