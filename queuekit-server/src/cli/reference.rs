//! `docs/cli.md` is what `--help` says of every command.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md");

const INTRODUCTION: &str = r#"# The command line

What `queuekit COMMAND --help` says, command by command; a test keeps this file equal to it
(`QUEUEKIT_WRITE_DOCS=1 cargo test -p queuekit-server reference` writes it).

**A store or a server.** Commands work on a store, `--url` or `QUEUEKIT_URL`, or through a server,
`--server` or `QUEUEKIT_SERVER` with the key in `QUEUEKIT_API_KEY`; the output is the same. A key
that was exported does not go to a server that only `.env` names
([operations.md](operations.md#settings)). `dev`,
`serve`, `work`, `doctor`, `bench` and `migrate` need the store itself.

**Output.** Tables are for people, and coloured on a terminal unless `NO_COLOR` is set; what would
steer a terminal is left out of texts. With `--json` lists are a line of JSON for each item,
everything else is one line, byte for byte what the HTTP API answers ([http.md](http.md),
`/openapi.json`). Where a command makes several calls, or none, it has a form of its own; names are
only ever added to one:

- `enqueue`: a line for each job, `{"outcome": "created" or "duplicate", "id"}`
- `job retry` and the like, of ids: a line for each, `{"id", "outcome"}`; failures are on stderr
- the same of a filter, `dlq`, `queue purge`: `{"dry_run", "matched", "changed", "skipped"}`
- `job watch`: what `job show` answers, a line for each change
- `stats`, with `--watch` a line for each change: `{"jobs": {STATUS: N, ..}, "queues", "paused",
  "workers", "slots", "running"}`
- `subscription replay`: `{"matched", "delivered"}`
- `cron delete`, `subscription delete`: what, and `"outcome"`
- `queue remove`: `{"queue", "outcome": "removed" or, by --dry-run, "unchanged", "jobs"}`
- `doctor`: `{"version", "store", "healthy", "schema", "durability", "facts": [{"name",
  "value"}], "findings": [{"severity", "message", "remedy"}]}`, with `--production` also
  `"production": {"items": [{"name", "state": "ok", "to_do" or "unseen", "why"?, "what",
  "setting"}]}`
- `bench`: `{"store", "figures": [{"name", "jobs", "per_second"?, "p50_ms"?, "p99_ms"?}],
  "verdict": [..]}`
- `migrate up`, `status`: `{"stored", "wanted", "up_to_date"}`; `plan`: `{"stored", "pending":
  [{"version", "compatible_from"}]}`; `sql`: `{"sql"}`
- `key new`: `{"key", "entry"}`, the key and what is to stand in `[[keys]]`
- `dev`, `serve`: `{"url"}` as soon as they listen
- `work`: `{"completed", "failed", "dead", "released", "cancelled", "lease_lost"}`
- `man`: a line for each page, `{"page"}`
- `completions` prints the script, whatever is said of JSON

**Many jobs at once.** Actions take ids, or a filter such as `state:dead kind:email error:timeout
older:1h`. Those of a filter are counted first; the command asks before it changes them, unless
`--yes` is said. `--dry-run` counts only. What else deletes asks too: `queue remove --force`,
`cron delete`, `subscription delete`, and `queue set` where dead jobs are there and would be kept
for less.

**Exit codes.** 0 ok, 1 failed, 2 usage, 3 not found, 4 unhealthy.
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
    assert!(found == wanted, "write it anew with QUEUEKIT_WRITE_DOCS=1");
}

/// Flags of all commands are told once.
fn describe(mut command: Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or("queuekit").to_owned();
    let help = command.render_help().to_string();
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    write!(text, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let hidden = |arg: Arg| if arg.is_global_set() { arg.hide(true) } else { arg };
        describe(command.clone().mut_args(hidden), text);
    }
}
