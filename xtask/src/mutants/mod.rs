//! Guard mutants: each guard of a store is taken out once, and conformance has to fail.

mod changed;
mod edit;
mod embedded;
mod guards;
mod list;
mod options;
mod program;
mod scratch;
mod units;
mod verdict;

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, hash};

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use embedded::is_embedded;
use guards::rule_of;
use list::{List, Mutant};
pub(crate) use options::{Options, Since, Store};
use program::Program;
use scratch::Scratch;
use verdict::{Counts, Verdict};

/// Takes the guards of one store or of all out in turn. Fails if no case misses one, unless its
/// list says why; else returns how many there was no time for.
pub(crate) fn run(options: Options) -> Result<usize> {
    let workspace = Workspace::load()?;
    if options.units {
        return units::run(&workspace).map(|()| 0);
    }
    let mut deadline = None;
    let since = options.changed.as_ref();
    let changed = since.map(|since| changed::files(&workspace.root, since)).transpose()?;
    let (mut faults, mut left) = (Vec::new(), 0);
    for store in Store::ALL.into_iter().filter(|store| options.store.is_none_or(|s| s == *store)) {
        let list = List::load(&workspace.root, store)?;
        list.check(&workspace.root)?;
        guards::check(&workspace.root, &list)?;
        let wanted = |mutant: &&Mutant| {
            (options.only.is_empty() || options.only.iter().any(|part| mutant.mentions(part)))
                && changed.as_ref().is_none_or(|changed| changed.contains(&mutant.file))
        };
        let mut mutants: Vec<&Mutant> = list.mutant.iter().filter(wanted).collect();
        // What needs no build first: a tenth of the time each, where time is limited.
        mutants.sort_by_key(|mutant| !is_embedded(mutant.file.as_ref()));
        if mutants.is_empty() {
            println!("{}: none of its {} guards is asked for", store.name(), list.mutant.len());
            continue;
        }
        if is_over(deadline) {
            println!("{}: NOT RUN: {} guards, for want of time", store.name(), mutants.len());
            left += mutants.len();
            continue;
        }
        let survey = Survey::begin(&workspace, store, options.own_rule)?;
        // From here on: in an empty target directory the first build alone takes over a minute.
        deadline = deadline.or_else(|| options.within.map(|within| Instant::now() + within));
        left += survey.take_out(&mutants, deadline, &mut faults)?;
    }
    if faults.is_empty() { Ok(left) } else { Err(Error::failed(faults.join("\n"))) }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() > deadline)
}

/// The guards of one store, taken out in its copy of the tree.
struct Survey {
    scratch: Scratch,
    store: Store,
    own_rule: bool,
    /// With every guard in place.
    program: PathBuf,
    cases: Vec<String>,
}

impl Survey {
    /// Builds the store's program as it is, which has to pass: else every mutant looked caught.
    fn begin(workspace: &Workspace, store: Store, own_rule: bool) -> Result<Self> {
        let started = Instant::now();
        let scratch = Scratch::of(workspace)?;
        // A copy: mutants that are built take the place of what was built.
        let path = scratch.tree.with_file_name(store.name());
        copy(&scratch.build(store.name())?, &path)?;
        let program = Program::new(path.clone(), &scratch.tree, store);
        let cases = program.cases()?;
        let survey = Self { scratch, store, own_rule, program: path, cases };
        survey.pass_as_it_is(&program)?;
        let seconds = started.elapsed().as_secs_f64();
        println!("{}: {} cases pass, {seconds:.1} s", store.name(), survey.cases.len());
        Ok(survey)
    }

    /// The same program need not pass twice.
    fn pass_as_it_is(&self, program: &Program) -> Result<()> {
        let failed = |error| Error::failed(format!("{}: {error}", self.program.display()));
        let digest = digest(&fs::read(&self.program).map_err(failed)?).to_string();
        let passed = self.program.with_extension("passed");
        if fs::read_to_string(&passed).is_ok_and(|known| known == digest) {
            return Ok(());
        }
        let cases: Vec<&str> = self.cases.iter().map(String::as_str).collect();
        let outcome = program.run(&cases, true)?;
        if outcome.hung || outcome.broke || !outcome.failed.is_empty() {
            let why = outcome.why();
            let store = self.store.name();
            return Err(Error::failed(format!("{store}: with every guard in place {why}")));
        }
        fs::write(passed, digest).map_err(failed)
    }

    /// Adds what does not fit the list, guard by guard. How many there was no time for.
    fn take_out(
        &self,
        mutants: &[&Mutant],
        deadline: Option<Instant>,
        faults: &mut Vec<String>,
    ) -> Result<usize> {
        let started = Instant::now();
        let (mut counts, mut left) = (Counts::default(), 0);
        for (tried, mutant) in mutants.iter().enumerate() {
            if is_over(deadline) {
                left = mutants.len() - tried;
                println!("{}: NOT RUN: {left} guards, for want of time", self.store.name());
                break;
            }
            let begun = Instant::now();
            let verdict = self.judge(mutant)?;
            println!("{}", verdict::line(mutant, &verdict, begun.elapsed()));
            counts.add(mutant, &verdict);
            let store = self.store.name();
            let fault = verdict.fault(mutant);
            faults.extend(fault.map(|fault| format!("{store}: `{}` {fault}", mutant.name)));
        }
        let minutes = started.elapsed().as_secs_f64() / 60.0;
        println!("{}: {}; {minutes:.1} min\n", self.store.name(), counts.text());
        Ok(left)
    }

    fn judge(&self, mutant: &Mutant) -> Result<Verdict> {
        match self.program_of(mutant) {
            Ok(path) => {
                let program = Program::new(path, &self.scratch.tree, self.store);
                self.judge_program(mutant, &program)
            }
            // What does not build is a fault of the list, and told like one.
            Err(error) => Ok(Verdict::Nonsense(error.to_string())),
        }
    }

    /// The store's program without the guard. The copy of the tree is left as it was.
    fn program_of(&self, mutant: &Mutant) -> Result<PathBuf> {
        let (text, edited) = mutant.texts(&self.scratch.tree)?;
        if is_embedded(mutant.file.as_ref()) {
            let path = self.program.with_extension("mutant");
            embedded::replace(&self.program, &path, &text, &edited)?;
            return Ok(path);
        }
        self.scratch.write(&mutant.file, &edited)?;
        let built = self.scratch.build(self.store.name());
        self.scratch.write(&mutant.file, &text)?;
        built
    }

    /// The cases of the rule first: they are few, and mostly enough.
    fn judge_program(&self, mutant: &Mutant, program: &Program) -> Result<Verdict> {
        let (own, others) = self.split(&mutant.rule);
        if let Some(verdict) = Verdict::of_rule(&program.run(&own, true)?) {
            return Ok(verdict);
        }
        if self.own_rule {
            return Ok(Verdict::Survived);
        }
        Ok(Verdict::of_others(&program.run(&others, false)?))
    }

    /// The cases of a rule, and all others.
    fn split(&self, rule: &str) -> (Vec<&str>, Vec<&str>) {
        let is_own = |case: &&str| {
            let name = case.rsplit("::").next().unwrap_or_default();
            rule_of(name).is_some_and(|of| of == rule)
        };
        self.cases.iter().map(String::as_str).partition(is_own)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // A program that is still running cannot be written.
    let _ = fs::remove_file(to);
    let copied = fs::copy(from, to).map(|_| ());
    copied.map_err(|error| Error::failed(format!("{}: {error}", to.display())))
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = hash::DefaultHasher::new();
    hash::Hash::hash(bytes, &mut hasher);
    hash::Hasher::finish(&hasher)
}
