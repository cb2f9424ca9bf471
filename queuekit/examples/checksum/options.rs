//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;

/// The file is in the current directory, where the user can see it, also after a reboot.
pub(crate) const DEFAULT_FILE: &str = "checksum.db";
pub(crate) const DEFAULT_URL: &str = "sqlite://checksum.db";

/// Tokio hashes on at most this many blocking threads at once.
const WORKERS_MAX: usize = 512;

/// What the user asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Help,
    Run(Options),
}

/// How to run.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) url: String,
    pub(crate) workers: usize,
    pub(crate) print: bool,
    pub(crate) directory: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Self {
            url: DEFAULT_URL.into(),
            // Many more jobs than CPUs: some wait for the disk while others hash. The more jobs
            // wait for the store, the more it commits at once.
            workers: (32 * cpus).min(WORKERS_MAX),
            print: false,
            directory: "/usr/share/doc".into(),
        }
    }
}

impl Request {
    /// Reads the arguments, or returns a sentence about what is wrong with them.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut options = Options::default();
        let mut directories = Vec::new();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--help" | "-h") => return Ok(Self::Help),
                Some("--print") => options.print = true,
                Some("--url") => options.url = text("--url", args.next())?,
                Some("--workers") => options.workers = workers(args.next())?,
                Some("--") => directories.extend(args.by_ref()),
                Some(option) if option.starts_with('-') && option != "-" => {
                    return Err(format!("unknown option {option:?}"));
                }
                _ => directories.push(arg),
            }
        }
        match &directories[..] {
            [] => {}
            [directory] => options.directory = directory.into(),
            [_, second, ..] => return Err(format!("one DIR only, but there is also {second:?}")),
        }
        Ok(Self::Run(options))
    }
}

fn text(option: &str, value: Option<OsString>) -> Result<String, String> {
    let value = value.ok_or_else(|| format!("{option} needs a value"))?;
    value.into_string().map_err(|value| format!("{option} must be UTF-8; got {value:?}"))
}

fn workers(value: Option<OsString>) -> Result<usize, String> {
    let value = text("--workers", value)?;
    match value.parse() {
        Ok(workers) if (1..=WORKERS_MAX).contains(&workers) => Ok(workers),
        _ => Err(format!("--workers must be 1 to {WORKERS_MAX}; got {value:?}")),
    }
}

/// The usage in one line, for errors.
pub(crate) const USAGE: &str =
    "usage: checksum [--url URL] [--workers N] [--print] [--] [DIR]   (--help says more)";

/// The whole usage.
pub(crate) const HELP: &str = "\
Computes the SHA-256 of every regular file below a directory, one job per file.

usage: checksum [--url URL] [--workers N] [--print] [--] [DIR]

  DIR          the directory [/usr/share/doc]; symbolic links below it are not followed
  --url URL    the store that holds the jobs [sqlite://checksum.db, a file in the current
               directory]; with memory: nothing is left, and nothing can be resumed
  --workers N  files hashed at the same time, 1 to 512 [32 per CPU]
  --print      write `digest  path` lines to standard output, sorted by path and escaped like
               those of sha256sum, for `sha256sum -c`; the summary goes to standard error
  --help       this text

Stopped by Ctrl-C, kill -9 or loss of power, it goes on when it is started again with the same
store and DIR: files that were hashed are not read again, unless they were changed. After a run
that came to its end the next one reads all files anew. Several processes may share a run.

Exit code: 0 if every file has its digest, 1 if a file or the store failed, 2 if the command
line is wrong.";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Request, String> {
        Request::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn options_come_in_any_order_and_a_directory_may_begin_with_a_dash() {
        let wanted =
            Options { url: "memory:".into(), workers: 3, print: true, directory: "--help".into() };
        let args = ["--print", "--workers", "3", "--url", "memory:", "--", "--help"];
        assert_eq!(parse(&args), Ok(Request::Run(wanted)));
        assert_eq!(parse(&[]), Ok(Request::Run(Options::default())));
        assert_eq!(parse(&["docs", "--help"]), Ok(Request::Help));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (args, named) in [
            (&["--wrokers", "3"][..], "--wrokers"),
            (&["--workers"], "--workers needs a value"),
            (&["--workers", "0"], "got \"0\""),
            (&["--workers", "many"], "got \"many\""),
            (&["--url"], "--url needs a value"),
            (&["a", "b"], "\"b\""),
        ] {
            let error = parse(args).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
