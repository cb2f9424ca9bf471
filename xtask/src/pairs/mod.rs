//! Measures this version and an earlier one in turns, and fails if this one costs more.

mod base;
mod ratio;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command_line::CommandLine;
use crate::cpu;
use crate::error::{Error, Result};
use crate::peers::{self, Place, Store};
use crate::steps::Steps;
use crate::workspace::Workspace;

use ratio::Pairs;

/// How much more this version may cost.
const MOST: f64 = 1.03;

/// The least processor time of one measurement: the kernel counts it in steps of 10 ms, so a
/// shorter one would not show a difference of a few percent.
const LEAST: Duration = Duration::from_secs(2);

/// The most runs that are one measurement.
const MOST_RUNS: u32 = 50;

/// What is compared, and how often.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub base: String,
    pub store: Store,
    pub rounds: usize,
    pub only: Option<&'static str>,
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let Some((base, rest)) = args.split_first().filter(|(base, _)| !base.starts_with('-'))
        else {
            return Err(Error::Usage("pairs: which revision is compared with?".to_owned()));
        };
        let allowed = ["--store", "--rounds", "--only"];
        if let Some(option) = rest.iter().step_by(2).find(|option| !allowed.contains(option)) {
            return Err(Error::Usage(format!("pairs: unexpected `{option}`")));
        }
        let peers::Options { store, rounds, only, .. } = peers::Options::parse(rest)?;
        let rounds = if rest.contains(&"--rounds") { rounds } else { 9 };
        Ok(Self { base: (*base).to_owned(), store, rounds, only })
    }

    /// What takes processor time.
    fn measured(&self) -> impl Iterator<Item = &'static str> {
        let asked = |what: &&str| self.only.is_none_or(|only| only == *what);
        self.store.measured().iter().copied().filter(|what| *what != "idle").filter(asked)
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let base = base::check_out(&workspace, &options.base)?;
    let before = build(&base, &base.join("target"), options.store)?;
    let after = build(&workspace.root, &workspace.target_directory, options.store)?;
    let of_peers = peers::Options { store: options.store, ..peers::Options::default() };
    let place = Place::prepare(&of_peers, &workspace.target_directory)?;
    let measure = |program: &Path, what| cpu_of(&workspace.root, &place, program, what);
    let mut all = Vec::new();
    for what in options.measured() {
        all.push(Pairs::new(what, runs(measure(&before, what)?)));
    }
    for round in 1..=options.rounds {
        println!("round {round} of {}", options.rounds);
        for pairs in &mut all {
            let mut took = [Duration::ZERO; 2];
            for run in 0..pairs.runs {
                // Neither is always the one that meets a warm machine.
                let now_first = round.is_multiple_of(2) == run.is_multiple_of(2);
                for now in [now_first, !now_first] {
                    let program = if now { &after } else { &before };
                    took[usize::from(now)] += measure(program, pairs.what)?;
                }
            }
            println!("  {}: {:.2?} before, {:.2?} now", pairs.what, took[0], took[1]);
            pairs.add(took);
        }
    }
    println!("\n{}", ratio::table(&all));
    let worse: Vec<&str> =
        all.iter().filter(|pairs| pairs.median() > MOST).map(|pairs| pairs.what).collect();
    if worse.is_empty() {
        return Ok(());
    }
    let limit = (MOST - 1.0) * 100.0;
    Err(Error::failed(format!(
        "more than {limit:.0} % above {}: {}",
        options.base,
        worse.join(", ")
    )))
}

/// How many runs are one measurement, where a run takes this long.
fn runs(took: Duration) -> u32 {
    let runs = LEAST.as_millis().div_ceil(took.as_millis().max(1));
    u32::try_from(runs).unwrap_or(MOST_RUNS).clamp(1, MOST_RUNS)
}

/// Builds our program in a tree. Returns where it is.
fn build(root: &Path, target_directory: &Path, store: Store) -> Result<PathBuf> {
    let program = store.ours();
    let build = CommandLine::cargo("build --release --package queuekit-benches --bin").arg(program);
    let build = build.arg("--target-dir").arg(target_directory.to_string_lossy());
    Steps::new(root).run(program, &build)?;
    Ok(peers::program(target_directory, program))
}

/// The processor time of the program and of the server that it talks to, without what it takes to
/// start and to end the server.
fn cpu_of(root: &Path, place: &Place, program: &Path, what: &str) -> Result<Duration> {
    let fresh = place.fresh()?;
    let before = cpu::of_descendants()?;
    let program = CommandLine::new(program.to_string_lossy());
    peers::output(root, &program.args(fresh.args()).args(["--only", what]))?;
    Ok(cpu::of_descendants()?.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn a_revision_comes_first_and_the_rest_has_defaults() {
        let options = parse("HEAD~1").unwrap();
        assert_eq!((options.base.as_str(), options.rounds), ("HEAD~1", 9));
        let options = parse("v1.0 --only drain --rounds 3 --store redis").unwrap();
        assert_eq!((options.rounds, options.store), (3, Store::Redis));
        assert_eq!(options.measured().collect::<Vec<_>>(), ["drain"]);
        assert!(!parse("v1.0 --store redis").unwrap().measured().any(|what| what == "idle"));
    }

    #[test]
    fn a_short_run_is_repeated_until_its_time_can_be_told() {
        let known = [(0, 50), (39, 50), (200, 10), (300, 7), (1999, 2), (2000, 1), (9000, 1)];
        assert_eq!(known.map(|(took, _)| (took, runs(Duration::from_millis(took)))), known);
    }

    #[test]
    fn what_makes_no_sense_is_wrong_usage() {
        for line in ["", "--store sqlite", "HEAD --url x", "HEAD --rounds 0", "HEAD --only x"] {
            let answer = parse(line);
            assert!(matches!(answer, Err(Error::Usage(_))), "{line}: {answer:?}");
        }
    }
}
