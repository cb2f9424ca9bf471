//! Measures this version and an earlier one in turns, and fails if this one costs more.

mod base;
mod cpu;
mod ratio;

use std::path::{Path, PathBuf};

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::peers::{self, Place, Store};
use crate::steps::Steps;
use crate::workspace::Workspace;

use ratio::Pairs;

/// How much more this version may cost.
const MOST: f64 = 1.03;

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
    let mut all: Vec<Pairs> = options.measured().map(Pairs::new).collect();
    for round in 1..=options.rounds {
        println!("round {round} of {}", options.rounds);
        for pairs in &mut all {
            let measure = |program| cpu_of(&workspace.root, &place, program, pairs.what);
            // Neither is always the one that meets a warm machine.
            let (before, after) = if round % 2 == 0 {
                let after = measure(&after)?;
                (measure(&before)?, after)
            } else {
                (measure(&before)?, measure(&after)?)
            };
            println!("  {}: {before:.2} s before, {after:.2} s now", pairs.what);
            pairs.add(before, after);
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

/// Builds our program in a tree. Returns where it is.
fn build(root: &Path, target_directory: &Path, store: Store) -> Result<PathBuf> {
    let program = store.ours();
    let build = CommandLine::cargo("build --release --package queuekit-benches --bin").arg(program);
    let build = build.arg("--target-dir").arg(target_directory.to_string_lossy());
    Steps::new(root).run(program, &build)?;
    Ok(peers::program(target_directory, program))
}

/// The processor time of the program and of the server that it talks to, in seconds.
fn cpu_of(root: &Path, place: &Place, program: &Path, what: &str) -> Result<f64> {
    let before = cpu::of_descendants()?;
    let fresh = place.fresh()?;
    let program = CommandLine::new(program.to_string_lossy());
    peers::output(root, &program.args(fresh.args()).args(["--only", what]))?;
    drop(fresh);
    Ok((cpu::of_descendants()?.saturating_sub(before)).as_secs_f64())
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
    fn what_makes_no_sense_is_wrong_usage() {
        for line in ["", "--store sqlite", "HEAD --url x", "HEAD --rounds 0", "HEAD --only x"] {
            let answer = parse(line);
            assert!(matches!(answer, Err(Error::Usage(_))), "{line}: {answer:?}");
        }
    }
}
